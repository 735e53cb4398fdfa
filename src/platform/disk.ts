import { fdatasync, ftruncateSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

/** How the log changes its file: in one object, so that a test can stand between the log and its disk. */
export const disk = {
  /** Writes all of the bytes. */
  write(fd: number, bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.byteLength; ) {
      done += writeSync(fd, bytes, done, bytes.byteLength - done, position + done);
    }
  },
  truncate(fd: number, size: number): void {
    ftruncateSync(fd, size);
  },
  /** Waits outside the event loop until what was written is durable. */
  sync: promisify(fdatasync),
};
