import { setTimeout as delay, setImmediate as loopTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Batch, CorruptRecord, type Offsets, PositionOutOfRange, type Topic } from '../event-log.js';
import { KafkaFault } from './faults.js';
import type { Connect, KafkaLink } from './link.js';
import { decodeRecords } from './records.js';
import type { Fetch, Fetched } from './requests.js';
import type { KafkaTopic } from './topics.js';

export interface FeedOptions {
  readonly topic: Topic;
  readonly kafka: KafkaTopic;
  readonly connect: Connect;
  /** Aborts when the topic has more partitions; then it returns another. */
  readonly grown: () => AbortSignal;
  /** Whether records at the beginning may have been deleted because they expired: reading goes on behind them. */
  readonly beginsLate: boolean;
  /** All that it holds: the more partitions, the less of each. */
  readonly feedBytes: number;
  readonly logger: Logger;
}

const RETRY_MS = { first: 100, most: 5_000 };

/** How long the broker waits for a record; it responds as soon as there is one. */
const WAIT_MS = 500;

/** The same while batches of other partitions are in hand: they may be asked for at any moment. */
const BUSY_WAIT_MS = 20;

const PARTITION_BYTES = { least: 64 * 1024, most: 1024 * 1024 };
const FETCH_BYTES = 2 * 1024 * 1024;
/** Most fetches hold fewer, and are one batch. */
const BATCH_RECORDS = 1_000;

/** One partition: the next offset to fetch, and the batches that wait to be taken. */
interface Slot {
  readonly partition: number;
  next: number;
  batches: Batch[];
  /** Of the batches. */
  bytes: number;
  fault?: CorruptRecord;
}

/**
 * Fetches some partitions of a topic from their leaders, without a group, one fetch ahead of what is taken. After a fault
 * it goes on at the same offset; if Kafka no longer has that, the feed ends. It connects to all leaders or to none: while
 * one cannot be reached, the partitions of the others wait too.
 */
export class TopicFeed {
  private readonly slots: Slot[];
  /** Resolves when a batch was fetched or taken, or the feed has ended. */
  private change = Promise.withResolvers<void>();
  private ended: { readonly failure?: unknown } | undefined;
  private turn = 0;
  /** Before the next attempt after a fault. */
  private waitMs = RETRY_MS.first;

  constructor(
    private readonly options: FeedOptions,
    partitions: readonly number[],
    from: Offsets,
  ) {
    this.slots = partitions.map((partition) => ({ partition, next: from[partition] ?? 0, batches: [], bytes: 0 }));
  }

  /**
   * Fetches until the signal aborts; then, and after a failure, `take` returns nothing more. Retries after faults of the
   * connection and of the cluster. Never rejects: `take` throws the failure.
   */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.end({}), { once: true });
    while (!signal.aborted && !this.ended) {
      try {
        await this.connected(signal);
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof PositionOutOfRange) return this.end({ failure: error });
        const { topic, logger } = this.options;
        const facts = { reason: (error as Error).message, topic, wait: this.waitMs };
        logger.warn(facts, 'the topic cannot be read; trying again');
        await delay(this.waitMs, undefined, { signal }).catch(() => undefined);
        this.waitMs = Math.min(this.waitMs * 2, RETRY_MS.most);
      }
    }
    this.end({});
  }

  private async connected(signal: AbortSignal): Promise<void> {
    const { kafka, connect } = this.options;
    const link = await connect(signal);
    const close = () => link.close();
    signal.addEventListener('abort', close);
    try {
      if (signal.aborted) return;
      await this.checkBounds(link);
      const byLeader = Map.groupBy(this.slots, ({ partition }) => link.leaderOf(kafka.name, partition));
      await Promise.all([...byLeader].map(([leader, slots]) => this.fetchFrom(link, leader, slots, signal)));
    } finally {
      signal.removeEventListener('abort', close);
      // Ends the other fetches too, when one fails.
      link.close();
    }
  }

  /** With each connection, because both ends of a log may be cut meanwhile. */
  private async checkBounds(link: KafkaLink): Promise<void> {
    const { beginsLate, kafka } = this.options;
    const { name } = kafka;
    const partitions = this.slots.map(({ partition }) => partition);
    const [oldest, heads] = await Promise.all([
      link.offsets(name, partitions, 'oldest'),
      link.offsets(name, partitions, 'head'),
    ]);
    for (const slot of this.slots) {
      const { partition } = slot;
      const [least = 0, most = 0] = [oldest.get(partition), heads.get(partition)];
      if (beginsLate) slot.next = Math.max(slot.next, least);
      const { next } = slot;
      if (next >= least && next <= most) continue;
      throw new PositionOutOfRange(
        `${name}/${partition} has records from ${least} to ${most}; cannot read from ${next}${next < least ? this.remedy : ''}`,
      );
    }
  }

  private get remedy(): string {
    if (this.options.topic !== 'audit') return '';
    return '. If the service deleted expired records, set CONTROL_KAFKA_DELETE_EXPIRED=true again; otherwise restore them';
  }

  private async fetchFrom(link: KafkaLink, leader: string, slots: readonly Slot[], signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.ended) {
      const wanted = this.isFull ? [] : slots.filter(({ batches, fault }) => batches.length === 0 && !fault);
      if (wanted.length === 0) {
        await this.change.promise;
        continue;
      }
      const waitMs = wanted.length < slots.length ? BUSY_WAIT_MS : WAIT_MS;
      for (const fetched of await link.fetch(leader, this.fetchOf(wanted, waitMs))) {
        this.accept(fetched);
        // The consumer of one partition sends its requests before the next partition is handed over.
        if (fetched.records.length > 0) await loopTurn();
      }
      this.waitMs = RETRY_MS.first;
    }
  }

  /** A broker returns at least one batch, however small the share of its partition is. */
  private get isFull(): boolean {
    return this.slots.reduce((sum, { bytes }) => sum + bytes, 0) >= this.options.feedBytes;
  }

  private fetchOf(wanted: readonly Slot[], waitMs: number): Fetch {
    // The broker fills its response in the order of the request: each partition is the first one in turn.
    this.turn = (this.turn + 1) % wanted.length;
    const partitions = [...wanted.slice(this.turn), ...wanted.slice(0, this.turn)];
    const share = Math.max(PARTITION_BYTES.least, Math.floor(this.options.feedBytes / this.slots.length));
    const partitionBytes = Math.min(PARTITION_BYTES.most, share);
    return { topic: this.options.kafka.name, partitions, waitMs, partitionBytes, maxBytes: FETCH_BYTES };
  }

  private accept({ partition, errorCode, records: bytes }: Fetched): void {
    const slot = this.slots.find((one) => one.partition === partition);
    if (!slot) return;
    const { topic, kafka } = this.options;
    // The leader has moved, or the offset is out of range: the next connection checks both.
    if (errorCode !== 0) throw new KafkaFault(`${kafka.name}/${partition}: Kafka error ${errorCode}`, true);
    const { records, next, fault } = decodeRecords(topic, partition, slot.next, bytes);
    for (let start = 0; start < records.length; start += BATCH_RECORDS) {
      const part = records.slice(start, start + BATCH_RECORDS);
      const after = records[start + BATCH_RECORDS];
      slot.batches.push({ partition, records: part, next: after ? after.offset : next });
    }
    if (records.length > 0) slot.bytes = bytes.length;
    slot.next = next;
    if (fault) slot.fault = fault;
    if (records.length > 0 || fault) this.wake();
  }

  /**
   * The next batch, of this partition or of any, each partition in order. Undefined when the signal has aborted. Throws
   * `PositionOutOfRange`, and `CorruptRecord` after everything before it.
   */
  async take(signal: AbortSignal, partition?: number): Promise<Batch | undefined> {
    const slots = partition === undefined ? this.slots : this.slots.filter((slot) => slot.partition === partition);
    while (!signal.aborted) {
      const slot = slots.find(({ batches }) => batches.length > 0);
      const batch = slot?.batches.shift();
      if (slot && batch) {
        if (slot.batches.length === 0) slot.bytes = 0;
        // The others are served before it next time.
        this.slots.push(...this.slots.splice(this.slots.indexOf(slot), 1));
        this.wake();
        return batch;
      }
      const corrupt = slots.find(({ fault }) => fault);
      if (corrupt) throw corrupt.fault;
      if (this.ended?.failure) throw this.ended.failure;
      if (this.ended) return undefined;
      await this.change.promise;
    }
    return undefined;
  }

  private end(how: { readonly failure?: unknown }): void {
    this.ended ??= how;
    this.wake();
  }

  private wake(): void {
    this.change.resolve();
    this.change = Promise.withResolvers();
  }
}
