import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { disk } from '../../platform/disk.js';
import { syncFolder } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { CorruptRecord } from '../event-log.js';
import {
  claimedSize,
  decodeHeader,
  encodeHeader,
  type Frame,
  frameAt,
  type Header,
  type Place,
  seedOf,
} from './frame.js';

/** More than any header has. */
const HEADER_BYTES = 64 * 1024;

/** How much a scan reads at once; a longer record is read whole. */
const SCAN_BYTES = 4 * 1024 * 1024;
const HEAD_BYTES = 64;

/** More than the log's queue holds. */
const LARGEST_COMMIT = 128 * 1024 * 1024;

/** Writes a file that has only the header, synced. */
export async function createRecordsFile(file: string, header: Header): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(encodeHeader(header));
    await handle.sync();
  } finally {
    await handle.close();
  }
  syncFolder(dirname(file));
}

/** `log.records`: the bytes up to `end` are synced and never change. One append at a time. */
export class RecordsFile {
  readonly seed: number;
  /** Behind the last commit. */
  end: number;
  /** Whether a part of a failed append may be behind `end`. */
  isUnclean = false;

  private constructor(
    readonly file: string,
    private readonly handle: FileHandle,
    readonly header: Header,
    /** Where the records begin. */
    readonly start: number,
  ) {
    this.seed = seedOf(header.id);
    this.end = start;
  }

  /** Throws `StoreUnusable` if the file is missing or damaged at its start. */
  static async open(file: string, flags: 'r+' | 'r' = 'r+'): Promise<RecordsFile> {
    const handle = await open(file, flags).catch((error: NodeJS.ErrnoException) => {
      const remedy = error.code === 'ENOENT' ? 'is missing: restore the log from a backup' : error.message;
      throw new StoreUnusable(`${file}: ${remedy}`, { cause: error });
    });
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const found = decodeHeader(buffer.subarray(0, bytesRead));
    if (found) return new RecordsFile(file, handle, found.header, found.size);
    await handle.close();
    throw new StoreUnusable(`${file}: is damaged at its start: restore the log from a backup; it was left untouched`);
  }

  async size(): Promise<number> {
    return (await this.handle.stat()).size;
  }

  /**
   * Writes the bytes behind `end` and syncs them; returns where they begin. `end` moves only by `accept`. If this fails,
   * `undo` must succeed before anything else is written.
   */
  async append(bytes: Uint8Array): Promise<number> {
    this.isUnclean = true;
    disk.write(this.handle.fd, bytes, this.end);
    await disk.sync(this.handle.fd);
    return this.end;
  }

  /** What was appended counts from now on. */
  accept(bytes: number): void {
    this.isUnclean = false;
    this.end += bytes;
  }

  /** Removes what is behind `end`. When this resolves, none of it comes back. */
  async undo(): Promise<void> {
    disk.truncate(this.handle.fd, this.end);
    await disk.sync(this.handle.fd);
    this.isUnclean = false;
  }

  /** Throws `CorruptRecord` if the log ends before. */
  read({ position, size }: Place): Buffer {
    if (position + size <= this.end) {
      const bytes = this.bytesAt(position, size);
      if (bytes.byteLength === size) return bytes;
    }
    throw new CorruptRecord(`${this.file}: has no ${size} bytes at ${position}`);
  }

  private bytesAt(position: number, size: number): Buffer {
    const bytes = Buffer.allocUnsafe(size);
    return bytes.subarray(0, readSync(this.handle.fd, bytes, 0, size, position));
  }

  /** The whole commits from `from` on, in a file of so many bytes, up to the first record that is not sound. */
  *commits(from: number, size: number): Generator<readonly Scanned[]> {
    let window: Buffer = Buffer.alloc(0);
    let [base, next] = [from, from];
    let commit: Scanned[] = [];
    while (next < size) {
      let frame = frameAt(window, next - base, this.seed);
      if (!frame) {
        const claimed = Math.min(
          claimedSize(this.bytesAt(next, Math.min(HEAD_BYTES, size - next)), 0) ?? 0,
          size - next,
        );
        window = this.bytesAt(next, Math.min(Math.max(SCAN_BYTES, claimed), size - next));
        base = next;
        frame = frameAt(window, 0, this.seed);
      }
      if (!frame) return;
      commit.push({ frame, place: { position: next, size: frame.size } });
      next += frame.size;
      if (!frame.isLast) continue;
      yield commit;
      commit = [];
    }
  }

  /**
   * Whether the bytes from `from` on, which hold no whole commit at their start, are more than what a crash leaves of the
   * last one: a commit follows that was only written because the damaged one was durable.
   */
  hasCommitBehind(from: number, size: number): boolean {
    if (size - from > LARGEST_COMMIT) return true;
    const bytes = this.bytesAt(from, size - from);
    for (let at = 1; at < bytes.byteLength; at += 1) {
      const frame = frameAt(bytes, at, this.seed);
      if (!frame) continue;
      if (frame.isLast && at + frame.size < bytes.byteLength) return true;
      at += frame.size - 1;
    }
    return false;
  }

  /** Takes the file as it is up to `end`, and removes the rest. */
  async endAt(end: number): Promise<void> {
    this.end = end;
    if ((await this.size()) > end) await this.undo();
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

/** A sound record, and where it is in the file. */
export interface Scanned {
  readonly frame: Frame;
  readonly place: Place;
}
