import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { Writer } from '../../src/event-log/kafka/bytes.js';
import { TopicFeed } from '../../src/event-log/kafka/feed.js';
import type { KafkaLink } from '../../src/event-log/kafka/link.js';
import { BATCH_HEADER, writeBatch } from '../../src/event-log/kafka/records.js';
import type { Fetch, Fetched } from '../../src/event-log/kafka/requests.js';

const PARTITIONS = Array.from({ length: 24 }, (_, partition) => partition);
const RECORD_BYTES = 64 * 1024;
const FEED_BYTES = 8 * RECORD_BYTES;

const ENTRY = { topic: 'audit', key: 'k', headers: {}, value: Buffer.alloc(RECORD_BYTES) } as const;

function batchAt(offset: number): Buffer {
  const out = new Writer(RECORD_BYTES + 2 * BATCH_HEADER);
  writeBatch(out, [ENTRY]);
  // Behind the length that the protocol puts before it.
  const bytes = Buffer.from(out.written.subarray(4));
  bytes.writeBigInt64BE(BigInt(offset));
  return bytes;
}

/** A broker that has more records than anybody can hold, and responds to a fetch within its limit with one for each partition. */
class Broker {
  sent = 0;
  readonly partitionBytes = new Set<number>();
  private isClosed = false;

  readonly link = {
    leaderOf: () => '1',
    offsets: async (_topic: string, partitions: readonly number[], which: 'oldest' | 'head') =>
      new Map(partitions.map((partition) => [partition, which === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER])),
    fetch: (_node: string, fetch: Fetch) => this.fetch(fetch),
    close: () => {
      this.isClosed = true;
    },
  } as unknown as KafkaLink;

  private async fetch({ partitions, partitionBytes }: Fetch): Promise<Fetched[]> {
    await turn();
    if (this.isClosed) throw new Error('closed');
    this.partitionBytes.add(partitionBytes);
    // As a broker whose response is full after a few partitions.
    const first = partitions.slice(0, 4);
    this.sent += first.length;
    return first.map(({ partition, next }) => ({ partition, errorCode: 0, records: batchAt(next) }));
  }
}

async function turns(): Promise<void> {
  for (let count = 0; count < 200; count += 1) await turn();
}

test('a feed that nobody reads holds no more than its bytes and one fetch', async () => {
  const broker = new Broker();
  const stop = new AbortController();
  const options = {
    topic: 'audit',
    kafka: { name: 'audit', id: 'id', partitions: PARTITIONS.length },
    connect: async () => broker.link,
    grown: () => stop.signal,
    beginsLate: false,
    feedBytes: FEED_BYTES,
    logger: pino({ level: 'silent' }),
  } as const;
  const feed = new TopicFeed(options, PARTITIONS, {});
  const run = feed.run(stop.signal);
  await turns();
  const held = broker.sent;
  expect(held).toBeGreaterThanOrEqual(8);
  expect(held).toBeLessThanOrEqual(8 + 4);
  expect([...broker.partitionBytes]).toEqual([RECORD_BYTES]);

  for (let taken = 0; taken < held; taken += 1) expect((await feed.take(stop.signal))?.records).toHaveLength(1);
  await turns();
  expect(broker.sent).toBeGreaterThan(held);
  expect(broker.sent).toBeLessThanOrEqual(2 * held + 4);
  stop.abort();
  await run;
});
