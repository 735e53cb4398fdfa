#!/usr/bin/env python3
"""Ships the files of JSON lines in a folder, oldest first, to a context of the Control Service, and deletes what is shipped.

It needs Python 3.8 and nothing else. From its environment: CONTROL_INGEST_URL, CONTROL_KEY, SPOOL_DIR.

A line counts as shipped once the service has recorded it. How far a file is shipped stands in a file beside it, so that
nothing is lost by a stop or a kill of either side. What is sent again has the same `id`, and is recorded once.
"""
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

BATCH_LINES, BATCH_BYTES = 1_000, 4_000_000
REQUEST_SECONDS, PAUSE_SECONDS, IDLE_SECONDS = 30, 2, 0.5
# rsyslog may still write to a file whose hour is over.
DONE_SECONDS = 3_600


def batch_of(file, offset):
    """Returns the next whole lines from the offset."""
    with file.open("rb") as lines:
        lines.seek(offset)
        batch, size = [], 0
        for line in lines:
            if not line.endswith(b"\n"):
                break
            batch.append(line)
            size += len(line)
            if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
                break
    return b"".join(batch)


def post(body):
    """Returns once the service has recorded the lines. It tries for ever, whatever the reason: the spool keeps them."""
    headers = {"Content-Type": "application/x-ndjson", "Authorization": "Bearer " + os.environ["CONTROL_KEY"]}
    request = urllib.request.Request(os.environ["CONTROL_INGEST_URL"], body, headers)
    while True:
        pause = PAUSE_SECONDS
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as response:
                response.read()
                return
        except urllib.error.HTTPError as error:
            reason = "%d %s" % (error.code, error.read(1_000).decode("utf-8", "replace"))
            after = error.headers.get("Retry-After") or ""
            pause = int(after) if after.isdigit() else pause
        except OSError as error:
            reason = str(error)
        print("not recorded, trying again in %s s: %s" % (pause, reason), file=sys.stderr, flush=True)
        time.sleep(pause)


def ship(file, is_last):
    """Ships what the file has, and returns how many bytes that was."""
    mark = file.with_suffix(".shipped")
    start = offset = int(mark.read_text()) if mark.exists() else 0
    while True:
        body = batch_of(file, offset)
        if not body:
            break
        post(body)
        offset += len(body)
        new = mark.with_suffix(".new")
        new.write_text(str(offset))
        new.replace(mark)
    if not is_last and offset == file.stat().st_size and time.time() - file.stat().st_mtime > DONE_SECONDS:
        file.unlink()
        mark.unlink()
    return offset - start


def main():
    spool = Path(os.environ["SPOOL_DIR"])
    while True:
        files = sorted(spool.glob("*.ndjson"))
        shipped = sum(ship(file, file == files[-1]) for file in files)
        if shipped == 0:
            time.sleep(IDLE_SECONDS)


main()
