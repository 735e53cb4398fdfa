import type { LogEntry } from '../event-log.js';
import { Bytes, Writer } from './bytes.js';
import { BATCH_HEADER, writeBatch } from './records.js';

/** A request as kafkajs sends it. */
export interface Request {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly apiName: string;
  encode(): Promise<{ readonly buf: Buffer; readonly buffer: Buffer }>;
}

function request(apiName: string, apiKey: number, apiVersion: number, encoded: () => Buffer): Request {
  const encode = async () => {
    const buffer = encoded();
    return { buf: buffer, buffer };
  };
  return { apiKey, apiVersion, apiName, encode };
}

/** Entries for one partition, which become one batch. */
export interface Outgoing {
  readonly topic: string;
  readonly partition: number;
  readonly entries: readonly LogEntry[];
  /** At least the size of its records. */
  readonly bytes: number;
}

const NONE = -1;
const ALL_IN_SYNC_REPLICAS = -1;

/** kafkajs's encoder copies each field, record and batch into another buffer: 16 us a record where this takes 2. */
export function produceRequest(batches: readonly Outgoing[], timeoutMs: number): Request {
  return request('Produce', 0, 7, () => {
    const size = batches.reduce((sum, { topic, bytes }) => sum + 3 * topic.length + bytes + 2 * BATCH_HEADER, 100);
    const out = new Writer(size);
    const byTopic = Map.groupBy(batches, ({ topic }) => topic);
    out.int(2, NONE).int(2, ALL_IN_SYNC_REPLICAS).int(4, timeoutMs).int(4, byTopic.size);
    for (const [topic, own] of byTopic) {
      out.string(topic).int(4, own.length);
      for (const { partition, entries } of own) writeBatch(out.int(4, partition), entries);
    }
    return out.written;
  });
}

/** The outcome for one partition. */
export interface Produced {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  /** Of the first record. */
  readonly baseOffset: number;
}

export function decodeProduced(raw: Buffer): Produced[] {
  const bytes = new Bytes(raw);
  const topics = bytes.list(() => {
    const topic = bytes.take(bytes.int16()).toString();
    return bytes.list(() => {
      const produced = { topic, partition: bytes.int32(), errorCode: bytes.int16(), baseOffset: bytes.int64() };
      bytes.skip(16);
      return produced;
    });
  });
  return topics.flat();
}

/** What to fetch of a topic. */
export interface Fetch {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly next: number }[];
  /** How long the broker waits for a record; it responds as soon as there is one. */
  readonly waitMs: number;
  /** Of one partition, and of all. */
  readonly partitionBytes: number;
  readonly maxBytes: number;
}

const READ_UNCOMMITTED = 0;

export function fetchRequest({ topic, partitions, waitMs, partitionBytes, maxBytes }: Fetch): Request {
  return request('Fetch', 1, 11, () => {
    const out = new Writer(100 + 3 * topic.length + 32 * partitions.length);
    const leastBytes = 1;
    out.int(4, NONE).int(4, waitMs).int(4, leastBytes).int(4, maxBytes).int(1, READ_UNCOMMITTED);
    // No fetch session.
    out.int(4, 0).int(4, NONE).int(4, 1).string(topic).int(4, partitions.length);
    for (const { partition, next } of partitions)
      out.int(4, partition).int(4, NONE).int(8, next).int(8, NONE).int(4, partitionBytes);
    // No topics to forget, and no rack.
    return out.int(4, 0).string('').written;
  });
}

/** The response to a Fetch request for one partition. */
export interface Fetched {
  readonly partition: number;
  readonly errorCode: number;
  readonly records: Buffer;
}

/** The records are not decoded. */
export function decodeFetch(raw: Buffer): Fetched[] {
  const bytes = new Bytes(raw).skip(10);
  return bytes.list(() => bytes.skip(bytes.int16()).list(() => fetchedOf(bytes))).flat();
}

function fetchedOf(bytes: Bytes): Fetched {
  const partition = bytes.int32();
  const errorCode = bytes.int16();
  bytes.skip(24).list(() => bytes.skip(16));
  const records = bytes.skip(4).take(Math.max(0, bytes.int32()));
  return { partition, errorCode, records };
}

const METADATA = 3;
/** The first version with topic ids: Kafka 2.8. kafkajs stops at 6. */
const WITH_IDS = 10;

/** Whether a broker knows the request, by the versions that it names. */
export function knowsTopicIds(versions: Readonly<Record<number, { readonly maxVersion: number }>> | null): boolean {
  return (versions?.[METADATA]?.maxVersion ?? 0) >= WITH_IDS;
}

/** Asks for the metadata of topics, and does not create them. */
export function topicsRequest(topics: readonly string[]): Request {
  return request('Metadata', METADATA, WITH_IDS, () => {
    const out = new Writer(topics.reduce((sum, topic) => sum + 3 * topic.length + 20, 100));
    // The first byte ends the header, which kafkajs writes in an older version. Lengths are one more than they are.
    out.int(1, 0).unsignedVarint(topics.length + 1);
    for (const topic of topics) {
      const noId = Buffer.alloc(16);
      out
        .copy(noId)
        .unsignedVarint(Buffer.byteLength(topic) + 1)
        .text(topic)
        .int(1, 0);
    }
    // Three flags, and no more fields.
    return out.int(4, 0).written;
  });
}

/** Kafka gives a topic its id when it creates it: one created later has another. */
export interface TopicFacts {
  readonly id: string;
  /** Those that have a leader. */
  readonly partitions: number;
}

/** By the topics' names. */
export function decodeTopics(raw: Buffer): ReadonlyMap<string, TopicFacts> {
  const bytes = new Bytes(raw);
  bytes.tags();
  bytes.skip(4);
  bytes.compactList(() => {
    bytes.skip(4).compactString();
    bytes.skip(4).compactString();
    bytes.tags();
  });
  bytes.compactString();
  bytes.skip(4);
  const topics = bytes.compactList(() => {
    const name = bytes.skip(2).compactString() ?? '';
    const id = bytes.take(16).toString('hex');
    bytes.skip(1);
    const leaders = bytes.compactList(() => {
      const leader = bytes.skip(6).int32();
      bytes.skip(4);
      // Replicas, those in sync, and those that are offline.
      for (let list = 0; list < 3; list += 1) bytes.compactList(() => bytes.skip(4));
      bytes.tags();
      return leader;
    });
    bytes.skip(4).tags();
    return [name, { id, partitions: leaders.filter((leader) => leader >= 0).length }] as const;
  });
  return new Map(topics);
}
