import type { LogEntry } from '../event-log.js';
import { Bytes } from './bytes.js';
import { crc32c } from './records.js';

/** Entries that go to one partition as one batch of records. */
export interface Outgoing {
  readonly topic: string;
  readonly partition: number;
  readonly parcels: readonly { readonly entry: LogEntry }[];
  /** At most so many are the bytes of all its records. */
  readonly bytes: number;
}

const KEY = 0;
/** The newest one whose fields have fixed lengths: from Kafka 2.1 on. */
const VERSION = 7;
const ALL_IN_SYNC_REPLICAS = -1;

const BATCH_HEADER = 61;
/** Where the length counts from, and where the checksum does. */
const AFTER_LENGTH = 12;
const AFTER_CRC = 21;
const MAGIC = 2;
/** No idempotent producer: neither its id, nor its epoch, nor a sequence. */
const NONE = -1;

/**
 * A Produce request, written into one piece of memory: kafkajs makes each record, batch and partition in a buffer of its
 * own and copies it into the next, which takes three times the CPU.
 */
export function produceRequest(batches: readonly Outgoing[], timeoutMs: number) {
  return { apiKey: KEY, apiVersion: VERSION, apiName: 'Produce', encode: async () => encoded(batches, timeoutMs) };
}

function encoded(batches: readonly Outgoing[], timeoutMs: number): { readonly buf: Buffer; readonly buffer: Buffer } {
  const most = batches.reduce((sum, { topic, bytes }) => sum + Buffer.byteLength(topic) + bytes + 2 * BATCH_HEADER, 0);
  const out = new Writer(Buffer.allocUnsafe(most + 2 * BATCH_HEADER));
  out.int16(NONE).int16(ALL_IN_SYNC_REPLICAS).int32(timeoutMs);
  const byTopic = Map.groupBy(batches, ({ topic }) => topic);
  out.int32(byTopic.size);
  for (const [topic, own] of byTopic) {
    out.int16(Buffer.byteLength(topic)).text(topic).int32(own.length);
    for (const batch of own) writeBatch(out.int32(batch.partition), batch);
  }
  return { buf: out.written(), buffer: out.written() };
}

function writeBatch(out: Writer, { parcels }: Outgoing): void {
  const lengthAt = out.at;
  const start = lengthAt + 4;
  const now = Date.now();
  // The lengths and the checksum are known at the end.
  out.int32(0).int64(0).int32(0).int32(0).int8(MAGIC).int32(0);
  out
    .int16(0)
    .int32(parcels.length - 1)
    .int64(now)
    .int64(now);
  out.int64(NONE).int16(NONE).int32(NONE).int32(parcels.length);
  for (const [index, { entry }] of parcels.entries()) writeRecord(out, index, entry);
  const size = out.at - start;
  out.bytes.writeInt32BE(size, lengthAt);
  out.bytes.writeInt32BE(size - AFTER_LENGTH, start + AFTER_LENGTH - 4);
  out.bytes.writeUInt32BE(crc32c(out.bytes.subarray(0, out.at), start + AFTER_CRC), start + AFTER_CRC - 4);
}

function writeRecord(out: Writer, offsetDelta: number, { key, headers, value }: LogEntry): void {
  const names = Object.keys(headers);
  const keyBytes = Buffer.byteLength(key);
  let size = 2 + sizeOf(offsetDelta) + sizeOf(keyBytes) + keyBytes + sizeOf(value.byteLength) + value.byteLength;
  size += sizeOf(names.length);
  for (const name of names) size += sizeWithLength(name) + sizeWithLength(headers[name] ?? '');
  // After its length its attributes and its time, which is the log's to set.
  out.varint(size).int8(0).varint(0).varint(offsetDelta);
  out.varint(keyBytes).text(key).varint(value.byteLength).copy(value).varint(names.length);
  for (const name of names) out.textWithLength(name).textWithLength(headers[name] ?? '');
}

function sizeWithLength(text: string): number {
  const bytes = Buffer.byteLength(text);
  return sizeOf(bytes) + bytes;
}

/** Of a number from 0 to 2^30 as a zigzag varint. */
function sizeOf(value: number): number {
  let size = 1;
  for (let rest = value * 2; rest >= 0x80; rest >>>= 7) size += 1;
  return size;
}

/** Writes as Kafka reads; it is given enough memory for all that comes. */
class Writer {
  at = 0;

  constructor(readonly bytes: Buffer) {}

  written(): Buffer {
    return this.bytes.subarray(0, this.at);
  }

  int8(value: number): this {
    this.at = this.bytes.writeInt8(value, this.at);
    return this;
  }

  int16(value: number): this {
    this.at = this.bytes.writeInt16BE(value, this.at);
    return this;
  }

  int32(value: number): this {
    this.at = this.bytes.writeInt32BE(value, this.at);
    return this;
  }

  int64(value: number): this {
    this.at = this.bytes.writeBigInt64BE(BigInt(value), this.at);
    return this;
  }

  /** Zigzag, of a number from 0 to 2^30. */
  varint(value: number): this {
    let rest = value * 2;
    for (; rest >= 0x80; rest >>>= 7) this.bytes[this.at++] = (rest & 0x7f) | 0x80;
    this.bytes[this.at++] = rest;
    return this;
  }

  text(text: string): this {
    this.at += this.bytes.write(text, this.at);
    return this;
  }

  textWithLength(text: string): this {
    return this.varint(Buffer.byteLength(text)).text(text);
  }

  copy(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.at);
    this.at += bytes.byteLength;
    return this;
  }
}

/** What a broker says of one partition. */
export interface Produced {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  /** Of the first record. */
  readonly baseOffset: number;
}

export function decodeProduced(raw: Buffer): {
  readonly produced: Produced[];
  readonly clientSideThrottleTime: number;
} {
  const bytes = new Bytes(raw);
  const topics = bytes.list(() => {
    const topic = bytes.string() ?? '';
    return bytes.list(() => {
      const [partition, errorCode, baseOffset] = [bytes.int32(), bytes.int16(), bytes.int64()];
      bytes.skip(16);
      return { topic, partition, errorCode, baseOffset };
    });
  });
  return { produced: topics.flat(), clientSideThrottleTime: bytes.int32() };
}
