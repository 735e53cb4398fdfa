import { crc32 } from 'node:zlib';
import type { LogEntry, LogRecord } from '../event-log.js';

/**
 * `log.records`, the file of the records, byte by byte. Numbers are little-endian; every CRC is a CRC-32 (zlib).
 *
 *     header  "ctlglog2", u32 bytes of the JSON, u32 CRC of the JSON, JSON: `Header`
 *     record  u32  CRC of the rest of the record, continued from the CRC of the log's identifier
 *             u32  bytes of the whole record
 *             u8   1 on the last record of a commit, else 0
 *             u8   number of the partition: its index among all partitions in the order of the layout
 *             u48  offset within the partition
 *             u48  time, in milliseconds
 *             u32  bytes of the key
 *             u32  bytes of the headers
 *             key, headers as JSON, value
 *
 * Records follow each other without a gap, in the order of their commits. A commit is whole, or it is not there: nothing is
 * acknowledged before its last record is synced, and the next commit is not written before that.
 */
export interface Header {
  /** Identifies the log. */
  readonly id: string;
  readonly layout: Layout;
  /** The first offset of each partition that has records in another file before this one, by `topic/partition`. */
  readonly first: Readonly<Record<string, number>>;
}

/** Each topic with how many partitions it has. */
export type Layout = readonly (readonly [topic: string, partitions: number])[];

const MAGIC = Buffer.from('ctlglog2');
const FIXED = 16;
const HEAD = 30;

/** The last bytes of a backup: a record of this partition, whose value is its `Trailer`. */
export const TRAILER = 255;

export interface Trailer {
  /** The next offset of each partition, by `topic/partition`. */
  readonly heads: Readonly<Record<string, number>>;
}

export function encodeHeader(header: Header): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const fixed = Buffer.alloc(FIXED);
  MAGIC.copy(fixed);
  fixed.writeUInt32LE(json.byteLength, 8);
  fixed.writeUInt32LE(crc32(json), 12);
  return Buffer.concat([fixed, json]);
}

function isHeader(bytes: Buffer): boolean {
  return bytes.byteLength >= FIXED && bytes.subarray(0, MAGIC.byteLength).equals(MAGIC);
}

/** The header at the start of the bytes and its size; undefined if it is damaged or longer than the bytes. */
export function decodeHeader(bytes: Buffer): { header: Header; size: number } | undefined {
  if (!isHeader(bytes)) return undefined;
  const size = FIXED + bytes.readUInt32LE(8);
  const json = bytes.subarray(FIXED, size);
  if (size > bytes.byteLength || crc32(json) !== bytes.readUInt32LE(12)) return undefined;
  return { header: JSON.parse(json.toString()), size };
}

/** Continues into every record's checksum, so that a record of another log is not taken for one of this. */
export function seedOf(id: string): number {
  return crc32(id);
}

/** Records of one partition about to be written. */
export interface NewRecords {
  readonly number: number;
  readonly records: readonly NewRecord[];
}

type NewRecord = Pick<LogRecord, 'offset' | 'time' | 'key' | 'headers' | 'value'>;

/** Where a record is in the file. */
export interface Place {
  readonly position: number;
  readonly size: number;
}

export interface Commit {
  readonly bytes: Buffer;
  /** Of each record, from the start of `bytes`. */
  readonly places: readonly Place[];
}

/** The bytes of one commit, in `scratch` if they fit there. */
export function encodeCommit(parts: readonly NewRecords[], seed: number, scratch?: Buffer): Commit {
  const all = parts.flatMap(({ number, records }) => records.map((record) => ({ number, record })));
  const headers = all.map(({ record }) => JSON.stringify(record.headers));
  const most = all.reduce((sum, { record }, at) => sum + mostBytes(record, headers[at] ?? ''), 0);
  const into = scratch && scratch.byteLength >= most ? scratch : Buffer.allocUnsafe(most);
  const places: Place[] = [];
  let end = 0;
  for (const [at, { number, record }] of all.entries()) {
    const position = end;
    end = encodeRecord(into, position, record, headers[at] ?? '');
    into.writeUInt8(at === all.length - 1 ? 1 : 0, position + 8);
    into.writeUInt8(number, position + 9);
    into.writeUInt32LE(crc32(into.subarray(position + 4, end), seed), position);
    places.push({ position, size: end - position });
  }
  return { bytes: into.subarray(0, end), places };
}

/** UTF-8 has at most three bytes for each UTF-16 unit. */
function mostBytes({ key, value }: NewRecord, headers: string): number {
  return HEAD + 3 * (key.length + headers.length) + value.byteLength;
}

/** Writes all but the checksum, the mark of a commit's end, and the partition; returns where the record ends. */
function encodeRecord(into: Buffer, at: number, record: NewRecord, headers: string): number {
  const keyBytes = into.write(record.key, at + HEAD);
  const headersBytes = into.write(headers, at + HEAD + keyBytes);
  const valueAt = at + HEAD + keyBytes + headersBytes;
  into.set(record.value, valueAt);
  const end = valueAt + record.value.byteLength;
  into.writeUInt32LE(end - at, at + 4);
  into.writeUIntLE(record.offset, at + 10, 6);
  into.writeUIntLE(record.time, at + 16, 6);
  into.writeUInt32LE(keyBytes, at + 22);
  into.writeUInt32LE(headersBytes, at + 26);
  return end;
}

/** A sound record in a buffer. */
export interface Frame extends Place {
  readonly bytes: Buffer;
  readonly partition: number;
  readonly offset: number;
  /** Whether its commit ends with it. */
  readonly isLast: boolean;
}

/** The sound record at this position of the bytes; undefined if there is none, or not all of it. */
export function frameAt(bytes: Buffer, position: number, seed: number): Frame | undefined {
  if (position + HEAD > bytes.byteLength) return undefined;
  const size = bytes.readUInt32LE(position + 4);
  const last = bytes.readUInt8(position + 8);
  if (last > 1 || size < HEAD || position + size > bytes.byteLength) return undefined;
  if (crc32(bytes.subarray(position + 4, position + size), seed) !== bytes.readUInt32LE(position)) return undefined;
  const partition = bytes.readUInt8(position + 9);
  return { bytes, position, size, partition, offset: bytes.readUIntLE(position + 10, 6), isLast: last === 1 };
}

/** The size that the bytes at this position claim for their record; undefined if they end before it. */
export function claimedSize(bytes: Buffer, position: number): number | undefined {
  return position + HEAD > bytes.byteLength ? undefined : bytes.readUInt32LE(position + 4);
}

/** The record at this place; undefined if another one is there, or none that is sound. */
export function expectedFrame(
  bytes: Buffer,
  { position, size }: Place,
  expected: Pick<Frame, 'partition' | 'offset'>,
  seed: number,
): Frame | undefined {
  const frame = frameAt(bytes, position, seed);
  const isExpected = frame?.partition === expected.partition && frame.offset === expected.offset && frame.size === size;
  return isExpected ? frame : undefined;
}

export function frameTime({ bytes, position }: Frame): number {
  return bytes.readUIntLE(position + 16, 6);
}

export function frameValue({ bytes, position, size }: Frame): Buffer {
  const texts = bytes.readUInt32LE(position + 22) + bytes.readUInt32LE(position + 26);
  return bytes.subarray(position + HEAD + texts, position + size);
}

export function frameTexts({ bytes, position }: Frame): Pick<LogEntry, 'key' | 'headers'> {
  const headersAt = position + HEAD + bytes.readUInt32LE(position + 22);
  const headersEnd = headersAt + bytes.readUInt32LE(position + 26);
  const key = bytes.toString('utf8', position + HEAD, headersAt);
  return { key, headers: JSON.parse(bytes.toString('utf8', headersAt, headersEnd)) };
}
