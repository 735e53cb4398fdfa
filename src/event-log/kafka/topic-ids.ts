import { Bytes } from './bytes.js';

const KEY = 3;
/** The first version with topic ids: Kafka 2.8. kafkajs stops at 6. */
const VERSION = 10;

/** Whether a broker knows the request, by the versions that it names. */
export function knowsTopicIds(versions: Readonly<Record<number, { readonly maxVersion: number }>> | null): boolean {
  return (versions?.[KEY]?.maxVersion ?? 0) >= VERSION;
}

/** Asks for the metadata of topics, and does not create them. */
export function topicIdsRequest(topics: readonly string[]) {
  return { apiKey: KEY, apiVersion: VERSION, apiName: 'Metadata', encode: async () => encoded(topics) };
}

function encoded(topics: readonly string[]): { readonly buf: Buffer; readonly buffer: Buffer } {
  const named = topics.map((topic) => {
    const name = Buffer.from(topic);
    // Kafka limits names to 249 bytes: their length takes at most two.
    const size = name.length + 1;
    return Buffer.concat([
      Buffer.alloc(16),
      Buffer.from(size < 0x80 ? [size] : [size | 0x80, size >> 7]),
      name,
      NO_TAGS,
    ]);
  });
  // The first byte ends the header, which kafkajs writes in an older version; the last ones are flags and tags.
  const buffer = Buffer.concat([NO_TAGS, Buffer.of(topics.length + 1), ...named, Buffer.of(0, 0, 0, 0)]);
  return { buf: buffer, buffer };
}

const NO_TAGS = Buffer.of(0);

/** The id of each topic by its name. Kafka gives it when it creates a topic: one created later has another. */
export function decodeTopicIds(raw: Buffer): ReadonlyMap<string, string> {
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
  const ids = bytes.compactList(() => {
    const name = bytes.skip(2).compactString() ?? '';
    const id = bytes.take(16).toString('hex');
    bytes.skip(1);
    bytes.compactList(() => {
      bytes.skip(14);
      // Replicas, those in sync, and those that are offline.
      for (let list = 0; list < 3; list += 1) bytes.compactList(() => bytes.skip(4));
      bytes.tags();
    });
    bytes.skip(4).tags();
    return [name, id] as const;
  });
  return new Map(ids);
}
