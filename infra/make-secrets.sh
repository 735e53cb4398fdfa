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
# An Ed25519 key in PEM (RFC 8410). Apart: only processes with the role projector get it.
mkdir -p secrets/checkpoint
key=secrets/checkpoint/checkpoint.key
[ -s "$key" ] || {
  {
    echo '-----BEGIN PRIVATE KEY-----'
    { printf '\060\056\002\001\000\060\005\006\003\053\145\160\004\042\004\040'; head -c 32 /dev/urandom; } | base64
    echo '-----END PRIVATE KEY-----'
  } >"$key"
  chmod 0444 "$key"
}
