import { setTimeout as delay, setImmediate as loopTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Batch, CorruptRecord, type Offsets, PositionOutOfRange, type Topic } from '../event-log.js';
import type { KafkaLink } from './client.js';
import { CODE } from './codes.js';
import { KafkaFault } from './faults.js';
import { type Connect, leaderOf } from './links.js';
import { boundsOf } from './offsets.js';
import { decodeFetch, decodeRecords, type Fetched } from './records.js';
import type { KafkaTopic } from './topics.js';

export interface FeedOptions {
  readonly topic: Topic;
  readonly kafka: KafkaTopic;
  readonly connect: Connect;
  readonly logger: Logger;
}

const RETRY_MS = { first: 100, most: 5_000 };

/** The broker answers as soon as there is a record; so long it may wait for one. */
const WAIT_MS = 500;

/** The same while it is not asked for some partitions, whose batches are in hand: they may want more at any moment. */
const BUSY_WAIT_MS = 20;

/** Of one partition at a time, and of all that a feed holds: the more partitions, the less of each. */
const PARTITION_BYTES = { least: 64 * 1024, most: 1024 * 1024 };
const FEED_BYTES = 48 * 1024 * 1024;
const FETCH_BYTES = 2 * 1024 * 1024;
/** Most fetches hold fewer, and are one batch. */
const BATCH_RECORDS = 1_000;
const READ_UNCOMMITTED = 0;

/** One partition: where to fetch next, and what was fetched and waits to be taken. */
interface Slot {
  readonly partition: number;
  next: number;
  batches: Batch[];
  fault?: CorruptRecord;
}

/**
 * Fetches some partitions of a topic straight from their leaders, without a group, one fetch ahead of what is taken.
 * Whatever Kafka does, it goes on where it was: a place that Kafka does not have any more ends it, and is never changed.
 * It connects to all leaders or to none: while one cannot be reached, the partitions of the others wait too.
 */
export class TopicFeed {
  private readonly slots: Slot[];
  private readonly watchers = new Set<() => void>();
  private ended: { readonly failure?: unknown } | undefined;
  private turn = 0;

  constructor(
    private readonly options: FeedOptions,
    partitions: readonly number[],
    from: Offsets,
  ) {
    this.slots = partitions.map((partition) => ({ partition, next: from[partition] ?? 0, batches: [] }));
  }

  /**
   * Fetches until the signal aborts. After that, and after a failure, `take` gives nothing more. Faults of the
   * connection and of the cluster are waited out. Never rejects: `take` tells what went wrong.
   */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.end({}), { once: true });
    let wait = RETRY_MS.first;
    while (!signal.aborted && !this.ended) {
      try {
        await this.connected(signal, () => {
          wait = RETRY_MS.first;
        });
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof PositionOutOfRange) return this.end({ failure: error });
        const { topic, logger } = this.options;
        logger.warn({ reason: (error as Error).message, topic, wait }, 'the topic cannot be read; trying again');
        await delay(wait, undefined, { signal }).catch(() => undefined);
        wait = Math.min(wait * 2, RETRY_MS.most);
      }
    }
    this.end({});
  }

  private async connected(signal: AbortSignal, works: () => void): Promise<void> {
    const { kafka, connect } = this.options;
    const link = await connect(signal);
    const close = () => link.close();
    signal.addEventListener('abort', close);
    try {
      if (signal.aborted) return;
      await this.checkBounds(link);
      const byLeader = Map.groupBy(this.slots, ({ partition }) => leaderOf(link, kafka.name, partition));
      await Promise.all([...byLeader].map(([leader, slots]) => this.fetchFrom(link, leader, slots, signal, works)));
    } finally {
      signal.removeEventListener('abort', close);
      // Ends the other fetches too, when one fails.
      link.close();
    }
  }

  /** Anew with each connection, because a log may be cut at both ends while nobody looks. */
  private async checkBounds(link: KafkaLink): Promise<void> {
    const partitions = this.slots.map(({ partition }) => partition);
    const bounds = await boundsOf(link, this.options.kafka.name, partitions);
    for (const { partition, next } of this.slots) {
      const { oldest, head } = bounds.get(partition) ?? { oldest: 0, head: 0 };
      if (next >= oldest && next <= head) continue;
      const place = `${this.options.kafka.name}/${partition}`;
      throw new PositionOutOfRange(`${place} has records from ${oldest} to ${head}; cannot read from ${next}`);
    }
  }

  private async fetchFrom(
    link: KafkaLink,
    leader: number,
    slots: readonly Slot[],
    signal: AbortSignal,
    works: () => void,
  ): Promise<void> {
    while (!signal.aborted && !this.ended) {
      const wanted = slots.filter(({ batches, fault }) => batches.length === 0 && !fault);
      if (wanted.length === 0) {
        await this.changed();
        continue;
      }
      const waitMs = wanted.length < slots.length ? BUSY_WAIT_MS : WAIT_MS;
      for (const fetched of await this.fetch(link, leader, wanted, waitMs)) {
        this.accept(fetched);
        // What the taker of one partition has to send goes out before the next one is handed over.
        if (fetched.records.length > 0) await loopTurn();
      }
      works();
    }
  }

  private async fetch(link: KafkaLink, leader: number, wanted: readonly Slot[], waitMs: number): Promise<Fetched[]> {
    // The broker fills its answer in the order it is asked: each partition is the first one in turn.
    this.turn = (this.turn + 1) % wanted.length;
    const ordered = [...wanted.slice(this.turn), ...wanted.slice(0, this.turn)];
    const maxBytes = Math.min(
      PARTITION_BYTES.most,
      Math.max(PARTITION_BYTES.least, Math.floor(FEED_BYTES / this.slots.length)),
    );
    const partitions = ordered.map(({ partition, next }) => ({ partition, fetchOffset: next, maxBytes }));
    const args = {
      maxWaitTime: waitMs,
      minBytes: 1,
      maxBytes: FETCH_BYTES,
      isolationLevel: READ_UNCOMMITTED,
      topics: [{ topic: this.options.kafka.name, partitions }],
      rackId: '',
    };
    return (await link.request(leader, 'Fetch', args, decodeFetch)).fetched;
  }

  private accept({ partition, errorCode, records: bytes }: Fetched): void {
    const slot = this.slots.find((one) => one.partition === partition);
    if (!slot) return;
    const { topic, kafka } = this.options;
    // Out of range: what the bounds are now decides, with the next connection. Others: the leader is another.
    if (errorCode !== 0) throw new KafkaFault(`${kafka.name}/${partition}: ${reasonOf(errorCode)}`, true);
    const { records, next, fault } = decodeRecords(topic, partition, slot.next, bytes);
    for (let start = 0; start < records.length; start += BATCH_RECORDS) {
      const part = records.slice(start, start + BATCH_RECORDS);
      const after = records[start + BATCH_RECORDS];
      slot.batches.push({ partition, records: part, next: after ? after.offset : next });
    }
    slot.next = next;
    if (fault) slot.fault = fault;
    if (records.length > 0 || fault) this.wake();
  }

  /**
   * The next batch, of this partition or of any, each partition in order. Undefined when the signal aborted. Throws
   * `PositionOutOfRange`, and `CorruptRecord` after everything before it.
   */
  async take(signal: AbortSignal, partition?: number): Promise<Batch | undefined> {
    const slots = partition === undefined ? this.slots : this.slots.filter((slot) => slot.partition === partition);
    while (!signal.aborted) {
      const slot = slots.find(({ batches }) => batches.length > 0);
      const batch = slot?.batches.shift();
      if (slot && batch) {
        // Whoever was served is last in the line.
        this.slots.push(...this.slots.splice(this.slots.indexOf(slot), 1));
        this.wake();
        return batch;
      }
      const corrupt = slots.find(({ fault }) => fault);
      if (corrupt) throw corrupt.fault;
      if (this.ended?.failure) throw this.ended.failure;
      if (this.ended) return undefined;
      await this.changed();
    }
    return undefined;
  }

  private end(how: { readonly failure?: unknown }): void {
    this.ended ??= how;
    this.wake();
  }

  private changed(): Promise<void> {
    return new Promise((resolve) => {
      this.watchers.add(resolve);
    });
  }

  private wake(): void {
    const woken = [...this.watchers];
    this.watchers.clear();
    for (const watcher of woken) watcher();
  }
}

function reasonOf(errorCode: number): string {
  return errorCode === CODE.OFFSET_OUT_OF_RANGE ? 'the position is out of range' : `error ${errorCode}`;
}
