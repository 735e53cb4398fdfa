#!/bin/sh
# Makes the secrets that compose.yml mounts into the service, once: what is there is kept.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
for name in root.key service.secret; do
  # The containers run as another user, who must be able to read the file; the folder keeps everybody else out.
  [ -s "secrets/$name" ] || { od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$name"; chmod 0444 "secrets/$name"; }
done
