import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { disk } from '../../platform/disk.js';
import { makePrivate } from '../../platform/sqlite.js';
import { CorruptRecord } from '../event-log.js';
import type { Place } from './frame.js';

/** u48 position, u32 size, u16 check. */
const ENTRY = 12;

/**
 * Where the records of one partition are in `log.records`: an entry of 12 bytes a record, so that any of them is found with
 * one read. Derived: the next start makes a missing file anew. An entry is written after its commit is synced, so it is a
 * witness that the record was there.
 */
export class Places {
  private readonly fd: number;

  /** `seed` is that of the log, so that the places of another log are not taken for its own. */
  constructor(
    private readonly file: string,
    private readonly seed: number,
    /** The offset of the first entry. */
    private readonly first: number,
  ) {
    if (!existsSync(file)) makePrivate(file);
    this.fd = openSync(file, 'r+');
  }

  /** Offsets below this may have an entry. */
  get end(): number {
    return this.first + Math.floor(fstatSync(this.fd).size / ENTRY);
  }

  write(offset: number, places: readonly Place[]): void {
    const bytes = Buffer.allocUnsafe(places.length * ENTRY);
    for (const [at, { position, size }] of places.entries()) {
      bytes.writeUIntLE(position, at * ENTRY, 6);
      bytes.writeUInt32LE(size, at * ENTRY + 6);
      bytes.writeUInt16LE(this.checkOf(bytes, at * ENTRY, offset + at), at * ENTRY + 10);
    }
    disk.write(this.fd, bytes, (offset - this.first) * ENTRY);
  }

  /** The places of `count` records from `offset` on. Throws `CorruptRecord` if they were altered. */
  read(offset: number, count: number): Place[] {
    const places = this.known(offset, count);
    if (places.length === count) return places;
    throw new CorruptRecord(
      `${this.file}: the place of record ${offset + places.length} was altered: stop the service and delete this file; ` +
        'the next start makes it anew',
    );
  }

  /** As `read`, up to the first that is missing or was altered. */
  known(offset: number, count: number): Place[] {
    const bytes = Buffer.allocUnsafe(count * ENTRY);
    const found = readSync(this.fd, bytes, 0, bytes.byteLength, (offset - this.first) * ENTRY);
    const places: Place[] = [];
    for (let at = 0; at + ENTRY <= found; at += ENTRY) {
      if (bytes.readUInt16LE(at + 10) !== this.checkOf(bytes, at, offset + places.length)) break;
      places.push({ position: bytes.readUIntLE(at, 6), size: bytes.readUInt32LE(at + 6) });
    }
    return places;
  }

  /** Removes the entries from `offset` on. */
  cut(offset: number): void {
    disk.truncate(this.fd, (offset - this.first) * ENTRY);
  }

  sync(): Promise<void> {
    return disk.sync(this.fd);
  }

  close(): void {
    closeSync(this.fd);
  }

  private checkOf(bytes: Buffer, at: number, offset: number): number {
    return crc32(bytes.subarray(at, at + 10), (this.seed ^ offset) >>> 0) & 0xffff;
  }
}
