import { setTimeout as delay } from 'node:timers/promises';
import { ControlError } from '../../contract/errors.js';
import { AppendQueue } from '../append-queue.js';
import { type EventLog, type LogEntry, type Position, partitionOf } from '../event-log.js';
import { type Parcel, PartitionBatch, Shipment, sendBatches } from './batch.js';
import type { Connect, KafkaLink } from './link.js';
import type { Settings } from './options.js';
import type { KafkaTopics } from './topics.js';

const RETRY_MS = { first: 50, most: 1_000 };

/** An append is tried for at least this long, however long it has waited in the queue. */
const LEAST_DELIVERY_MS = 1_000;

/** How long `close` waits for what is under way. */
const CLOSE_MS = 3_000;

/** All partitions of one flush together. */
const FLUSH_BYTES = 8 * 1024 * 1024;

/**
 * Sends appends in flushes, one at a time: the next one begins when every batch of the last one is settled. So the order
 * of appends holds within a partition, across retries too, without Kafka's idempotent producer, which in kafkajs loses
 * acknowledged records when a response is lost. A batch that may have been stored is sent again unchanged, so it may be
 * stored twice, and the copies of its records are in the same order.
 */
export class KafkaProducer {
  private readonly queue: AppendQueue;
  private link: KafkaLink | undefined;
  /** The entries that are not sent yet, in order. */
  private waiting: Parcel[] = [];
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private closed = false;
  /** Aborts what is under way. */
  private readonly abandon = new AbortController();

  constructor(
    private readonly settings: Settings,
    private readonly topics: KafkaTopics,
    private readonly connect: Connect,
  ) {
    this.queue = new AppendQueue({ ...settings.maxPending, recordBytes: settings.maxRecordBytes }, wireSize);
  }

  get pending(): EventLog['pending'] {
    return this.queue.pending;
  }

  append(entries: readonly LogEntry[]): Promise<Position[]> {
    if (entries.length === 0) return Promise.resolve([]);
    if (this.closed) return Promise.reject(new ControlError('log_unavailable', 'the log is closed'));
    return new Promise((resolve, reject) => {
      const refusal = this.queue.add({ entries, resolve, reject });
      const queued = this.queue.take();
      if (refusal || !queued) return reject(refusal);
      const shipment = new Shipment(queued, () => this.queue.release(queued));
      for (const [index, entry] of entries.entries()) this.waiting.push({ shipment, index, entry });
      this.schedule(this.settings.lingerMs);
    });
  }

  private schedule(waitMs: number): void {
    if (this.flushing) return;
    if (this.queue.pending.entries >= this.settings.batchRecords || this.closed || waitMs < 0) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), waitMs);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const ready = performance.now() + this.settings.lingerMs;
    this.flushing = this.deliver(this.compose()).then(() => {
      this.flushing = undefined;
      if (this.queue.pending.entries > 0) this.schedule(ready - performance.now());
    });
  }

  /** The next entries in order. What is left of an append that has failed is not sent. */
  private compose(): PartitionBatch[] {
    const { batchRecords, maxRecordBytes } = this.settings;
    const batches = new Map<string, PartitionBatch>();
    let at = 0;
    let [records, bytes] = [0, 0];
    for (; at < this.waiting.length && records < batchRecords && bytes < FLUSH_BYTES; at += 1) {
      const parcel = this.waiting[at] as Parcel;
      if (parcel.shipment.isFailed) {
        parcel.shipment.failed(false, undefined);
        continue;
      }
      const { topic, key, among } = parcel.entry;
      const { name, partitions } = this.topics[topic];
      const partition = partitionOf(key, among ?? partitions);
      const batch = batches.get(`${name}/${partition}`) ?? new PartitionBatch(name, partition);
      const size = wireSize(parcel.entry);
      if (batch.bytes > 0 && batch.bytes + size > maxRecordBytes) break;
      batches.set(`${name}/${partition}`, batch);
      batch.parcels.push(parcel);
      batch.bytes += size;
      records += 1;
      bytes += size;
    }
    this.waiting.splice(0, at);
    return [...batches.values()];
  }

  /** Retries until every batch is settled, or its time is up. */
  private async deliver(batches: readonly PartitionBatch[]): Promise<void> {
    // What was left belonged to appends that have failed.
    if (batches.length === 0) return;
    const { deliveryMs, logger } = this.settings;
    const oldest = Math.min(...batches.map(({ parcels: [first] }) => first?.shipment.since ?? 0));
    const deadline = Math.max(oldest + deliveryMs, performance.now() + LEAST_DELIVERY_MS);
    let open = batches;
    for (let wait = RETRY_MS.first; ; wait = Math.min(wait * 2, RETRY_MS.most)) {
      await this.attempt(open, deadline);
      open = open.filter((batch) => !batch.settled);
      if (open.length === 0 && wait > RETRY_MS.first) logger.info('Kafka takes appends again');
      if (open.length === 0) return;
      this.drop();
      const facts = { reason: open[0]?.cause?.message, batches: open.length };
      if (this.abandon.signal.aborted || performance.now() + wait >= deadline) {
        logger.error(facts, 'Kafka did not take appends in time');
        break;
      }
      logger.warn({ ...facts, wait }, 'Kafka does not take appends; trying again');
      await delay(wait, undefined, { signal: this.abandon.signal }).catch(() => undefined);
    }
    for (const batch of open) batch.giveUp();
  }

  /** Ends at the deadline at the latest; no request is pending then. */
  private async attempt(batches: readonly PartitionBatch[], deadline: number): Promise<void> {
    const late = new AbortController();
    const stop = () => {
      late.abort();
      this.drop();
    };
    const timer = setTimeout(stop, deadline - performance.now());
    this.abandon.signal.addEventListener('abort', stop);
    try {
      this.abandon.signal.throwIfAborted();
      const { name, partitions } = this.topics.audit;
      if (this.link && this.link.partitionsOf(name) < partitions) this.drop();
      this.link ??= await this.connect(late.signal);
      await sendBatches(this.link, batches, this.settings.requestMs);
    } catch (error) {
      for (const batch of batches) batch.failed(false, error);
    } finally {
      clearTimeout(timer);
      this.abandon.signal.removeEventListener('abort', stop);
    }
  }

  private drop(): void {
    this.link?.close();
    this.link = undefined;
  }

  /** Settles every append: those under way are given a moment, those not sent by then are refused. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.queue.pending.entries > 0) this.schedule(0);
    const late = setTimeout(() => this.abandon.abort(), CLOSE_MS);
    while (this.flushing) await this.flushing;
    clearTimeout(late);
    this.drop();
  }
}

/** An upper bound: key, headers and value with the lengths, times and counts around them. */
function wireSize({ key, headers, value }: LogEntry): number {
  let size = 40 + value.byteLength + Buffer.byteLength(key);
  for (const name in headers) size += 10 + Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? '');
  return size;
}
