import { Bytes } from './bytes.js';

/** What the cluster says of itself and of the topics that were asked for. */
export interface Metadata {
  readonly brokers: ReadonlyMap<number, { readonly host: string; readonly port: number }>;
  readonly controller: number;
  readonly topics: ReadonlyMap<string, TopicMetadata>;
}

export interface TopicMetadata {
  readonly errorCode: number;
  /** Given when the topic is made, and never again: a topic of the same name that is made later has another. */
  readonly id: string;
  readonly partitions: readonly PartitionMetadata[];
}

interface PartitionMetadata {
  /** -1 while it has none. */
  readonly leader: number;
  readonly replicas: number;
}

const KEY = 3;
/** The first version that names a topic's id: Kafka 2.8. kafkajs stops at 6. */
const VERSION = 10;

/** Never makes the topics that it asks for. */
export function metadataRequest(topics: readonly string[]) {
  return { apiKey: KEY, apiVersion: VERSION, apiName: 'Metadata', encode: async () => encoded(topics) };
}

/** Whether the broker is too old, from what it said of the versions it knows. */
export function lacksMetadata(versions: Readonly<Record<number, { readonly maxVersion: number }>> | null): boolean {
  return (versions?.[KEY]?.maxVersion ?? 0) < VERSION;
}

function encoded(topics: readonly string[]): { readonly buf: Buffer; readonly buffer: Buffer } {
  const named = topics.map((topic) => {
    const name = Buffer.from(topic);
    return [Buffer.alloc(16), unsignedVarint(name.length + 1), name, Buffer.of(0)];
  });
  // First the tags that end the header, which kafkajs writes as that of an older version; last the flags and tags.
  const parts = [Buffer.of(0), unsignedVarint(topics.length + 1), ...named.flat(), Buffer.of(0, 0, 0, 0)];
  const buffer = Buffer.concat(parts);
  return { buf: buffer, buffer };
}

function unsignedVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

export function decodeMetadata(raw: Buffer): Metadata & { readonly clientSideThrottleTime: number } {
  const bytes = new Bytes(raw);
  bytes.tags();
  const clientSideThrottleTime = bytes.int32();
  const brokers = bytes.compactList(() => {
    const node = bytes.int32();
    const address = { host: bytes.compactString() ?? '', port: bytes.int32() };
    bytes.compactString();
    bytes.tags();
    return [node, address] as const;
  });
  bytes.compactString();
  const controller = bytes.int32();
  const topics = bytes.compactList(() => topicOf(bytes));
  return { clientSideThrottleTime, brokers: new Map(brokers), controller, topics: new Map(topics) };
}

function topicOf(bytes: Bytes): readonly [string, TopicMetadata] {
  const errorCode = bytes.int16();
  const name = bytes.compactString() ?? '';
  const id = bytes.take(16).toString('hex');
  bytes.int8();
  const partitions = bytes.compactList(() => partitionOf(bytes));
  bytes.int32();
  bytes.tags();
  const sorted = partitions.toSorted((a, b) => a.partition - b.partition);
  return [name, { errorCode, id, partitions: sorted }];
}

function partitionOf(bytes: Bytes): PartitionMetadata & { readonly partition: number } {
  bytes.int16();
  const partition = bytes.int32();
  const leader = bytes.int32();
  bytes.int32();
  const replicas = bytes.compactList(() => bytes.int32()).length;
  bytes.compactList(() => bytes.int32());
  bytes.compactList(() => bytes.int32());
  bytes.tags();
  return { partition, leader, replicas };
}
