import { CorruptRecord, type LogRecord, type Topic } from '../event-log.js';
import { Bytes } from './bytes.js';

/** What a fetch gave of one partition. */
export interface Fetched {
  readonly partition: number;
  readonly errorCode: number;
  readonly records: Buffer;
}

/** The answer to a Fetch request of version 11; its records are left as they are. */
export function decodeFetch(raw: Buffer): { readonly clientSideThrottleTime: number; readonly fetched: Fetched[] } {
  const bytes = new Bytes(raw);
  const clientSideThrottleTime = bytes.int32();
  bytes.skip(6);
  const topics = bytes.list(() => {
    bytes.string();
    return bytes.list(() => fetchedOf(bytes));
  });
  return { clientSideThrottleTime, fetched: topics.flat() };
}

function fetchedOf(bytes: Bytes): Fetched {
  const partition = bytes.int32();
  const errorCode = bytes.int16();
  bytes.skip(24);
  bytes.list(() => bytes.skip(16));
  bytes.skip(4);
  const records = bytes.take(Math.max(0, bytes.int32()));
  return { partition, errorCode, records };
}

export interface Decoded {
  readonly records: LogRecord[];
  /** Where reading goes on. */
  readonly next: number;
  /** What stands at `next` cannot be trusted. */
  readonly fault?: CorruptRecord;
}

const HEADER = 61;
/** Far more than any batch has: a length beyond it is damage, not a batch that the answer had no room for. */
const LONGEST = 16 * 1024 * 1024;
const CRC_STARTS_AT = 21;
const COMPRESSED = 0x07;
const LOG_APPEND_TIME = 0x08;
const CONTROL = 0x20;

/**
 * The records from offset `from` on. Kafka stores and serves whole batches, so a batch may begin before `from`, and the
 * last one may be cut off. Every batch is checked against the CRC that it was written with: neither the broker, when it
 * reads a batch from its disk, nor kafkajs does.
 */
export function decodeRecords(topic: Topic, partition: number, from: number, buffer: Buffer): Decoded {
  const records: LogRecord[] = [];
  let next = from;
  let at = 0;
  while (buffer.length - at >= HEADER) {
    const size = 12 + buffer.readInt32BE(at + 8);
    if (size > buffer.length - at && size <= LONGEST) break;
    const batch = buffer.subarray(at, at + Math.max(0, size));
    const base = new Bytes(buffer, at).int64();
    try {
      if (size < HEADER || batch.length < size) throw new RangeError('its length cannot be');
      if (crc32c(batch, CRC_STARTS_AT) !== batch.readUInt32BE(17)) throw new RangeError('its checksum is another');
      // A topic that is neither compacted nor cut in its middle has no gaps.
      if (base > next) throw new RangeError(`the records from ${next} on are missing`);
      for (const record of recordsOf(topic, partition, base, batch)) if (record.offset >= from) records.push(record);
    } catch (error) {
      const reason = (error as Error).message;
      const fault = new CorruptRecord(`${topic}/${partition}: the batch at ${next}: ${reason}`, { cause: error });
      return { records, next, fault };
    }
    at += size;
    next = Math.max(next, base + batch.readInt32BE(23) + 1);
  }
  return { records, next };
}

function* recordsOf(topic: Topic, partition: number, base: number, batch: Buffer): Generator<LogRecord> {
  const attributes = batch.readInt16BE(CRC_STARTS_AT);
  if (attributes & CONTROL) return;
  // The topics are checked not to compress, and this service does not.
  if (attributes & COMPRESSED) throw new RangeError('the batch is compressed');
  const first = new Bytes(batch, 27).int64();
  const appended = attributes & LOG_APPEND_TIME ? new Bytes(batch, 35).int64() : undefined;
  const count = batch.readInt32BE(57);
  const bytes = new Bytes(batch, HEADER);
  let headers: Record<string, string> | undefined;
  let same = batch.subarray(0, 0);
  for (let index = 0; index < count; index += 1) {
    bytes.varint();
    bytes.int8();
    const time = appended ?? first + bytes.varint();
    if (appended !== undefined) bytes.varint();
    const offset = base + bytes.varint();
    const key = bytes.varintText() ?? '';
    const value = bytes.varintBytes() ?? Buffer.alloc(0);
    // Mostly those of the record before: then they are made once for both.
    if (!headers || !bytes.passed(same)) {
      const start = bytes.position;
      headers = headersOf(bytes);
      same = batch.subarray(start, bytes.position);
    }
    yield { topic, partition, offset, time, key, headers, value };
  }
}

function headersOf(bytes: Bytes): Record<string, string> {
  const headers: [string, string][] = [];
  for (let count = bytes.varint(); count > 0; count -= 1) {
    headers.push([bytes.varintText() ?? '', bytes.varintText() ?? '']);
  }
  return Object.fromEntries(headers);
}

/** Eight tables in one: what a byte does to the checksum, and what it does when 1 to 7 others follow it. */
const TABLES = new Int32Array(8 * 256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});
for (let at = 256; at < TABLES.length; at += 1) {
  const before = TABLES[at - 256] ?? 0;
  TABLES[at] = (TABLES[before & 0xff] ?? 0) ^ (before >>> 8);
}

const effect = (byte: number, followers: number): number => TABLES[followers * 256 + (byte & 0xff)] ?? 0;

/** CRC-32C (Castagnoli), which Node's zlib does not have. Eight bytes at a time: three times as fast as one by one. */
export function crc32c(buffer: Buffer, from = 0): number {
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  let crc = -1;
  let at = from;
  for (; at + 8 <= buffer.length; at += 8) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    crc =
      effect(low, 7) ^
      effect(low >>> 8, 6) ^
      effect(low >>> 16, 5) ^
      effect(low >>> 24, 4) ^
      effect(high, 3) ^
      effect(high >>> 8, 2) ^
      effect(high >>> 16, 1) ^
      effect(high >>> 24, 0);
  }
  for (; at < buffer.length; at += 1) crc = effect(crc ^ (buffer[at] ?? 0), 0) ^ (crc >>> 8);
  return (crc ^ -1) >>> 0;
}
