import { fdatasync, ftruncateSync, statfsSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

/** How the stores use their disk: in one object, so that a test can stand between them and it. */
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
  /** How many bytes can be written in the file system of the folder. */
  free(folder: string): number {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  },
};
