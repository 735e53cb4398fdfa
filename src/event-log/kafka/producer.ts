import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ControlError } from '../../contract/errors.js';
import { type Append, AppendQueue, type Queued } from '../append-queue.js';
import type { EventLog, LogEntry, Position } from '../event-log.js';
import { partitionOf } from '../partition-of.js';
import { type Parcel, PartitionBatch, sendBatches } from './batch.js';
import type { Connect, KafkaLink } from './link.js';
import type { KafkaTopics } from './topics.js';

export interface ProducerOptions {
  readonly topics: KafkaTopics;
  readonly connect: Connect;
  readonly maxPending: { readonly entries: number; readonly bytes: number };
  /** Also of all records that go to one partition at once. */
  readonly maxRecordBytes: number;
  /** How long the first append waits for others. */
  readonly lingerMs: number;
  /** The most records in one flush. */
  readonly batchRecords: number;
  /** How long an append is retried. */
  readonly deliveryMs: number;
  readonly requestMs: number;
  readonly logger: Logger;
}

const RETRY_MS = { first: 50, most: 1_000 };

/** An append is tried for at least this long, however long it has waited in the queue. */
const LEAST_DELIVERY_MS = 1_000;

/** How long `close` waits for what is under way. */
const CLOSE_MS = 3_000;

/** All partitions of one flush together. */
const FLUSH_BYTES = 8 * 1024 * 1024;

/** An append, part of which is under way. */
interface Shipment {
  readonly queued: Queued;
  readonly append: Append;
  readonly positions: Position[];
  /** The index of the next entry to send. */
  next: number;
  /** How many entries are not settled. */
  open: number;
  maybeStored: boolean;
  failure?: { readonly cause: unknown };
}

/**
 * Sends appends in flushes, one at a time: the next one begins when every batch of the last one is settled. So the order
 * of appends holds within a partition, across retries too, without Kafka's idempotent producer, which in kafkajs loses
 * acknowledged records when a response is lost. A batch that may have been stored is sent again unchanged, so it may be
 * stored twice, and the copies of its records are in the same order.
 */
export class KafkaProducer {
  private readonly queue: AppendQueue;
  private link: KafkaLink | undefined;
  private shipment: Shipment | undefined;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private closed = false;
  /** Aborts what is under way. */
  private readonly abandon = new AbortController();

  constructor(private readonly options: ProducerOptions) {
    const { maxPending, maxRecordBytes } = options;
    this.queue = new AppendQueue({ ...maxPending, recordBytes: maxRecordBytes }, wireSize);
  }

  get pending(): EventLog['pending'] {
    return this.queue.pending;
  }

  append(entries: readonly LogEntry[]): Promise<Position[]> {
    if (entries.length === 0) return Promise.resolve([]);
    if (this.closed) return Promise.reject(new ControlError('log_unavailable', 'the log is closed'));
    return new Promise((resolve, reject) => {
      const refusal = this.queue.add({ entries, resolve, reject });
      if (refusal) reject(refusal);
      else this.schedule(this.options.lingerMs);
    });
  }

  private schedule(waitMs: number): void {
    if (this.flushing) return;
    if (this.queue.pending.entries >= this.options.batchRecords || this.closed || waitMs < 0) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), waitMs);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const ready = Date.now() + this.options.lingerMs;
    this.flushing = this.deliver(this.compose()).then(() => {
      this.flushing = undefined;
      if (this.queue.pending.entries > 0) this.schedule(ready - Date.now());
    });
  }

  /** The next entries in order; an append may be longer than a flush. */
  private compose(): PartitionBatch[] {
    const batches = new Map<string, PartitionBatch>();
    let records = 0;
    let bytes = 0;
    while (records < this.options.batchRecords && bytes < FLUSH_BYTES) {
      const shipment = this.current();
      const entry = shipment?.append.entries[shipment.next];
      if (!shipment || !entry) break;
      const { name, partitions } = this.options.topics[entry.topic];
      const partition = partitions === 1 ? 0 : partitionOf(entry.key, partitions);
      const batch = batches.get(`${name}/${partition}`) ?? new PartitionBatch(name, partition, shipment.queued.since);
      const size = wireSize(entry);
      if (batch.bytes > 0 && batch.bytes + size > this.options.maxRecordBytes) break;
      batches.set(`${name}/${partition}`, batch);
      batch.parcels.push(this.parcel(shipment, entry, shipment.next));
      batch.bytes += size;
      shipment.next += 1;
      records += 1;
      bytes += size;
    }
    return [...batches.values()];
  }

  /** The append with the next entries. The rest of one that has failed is not sent. */
  private current(): Shipment | undefined {
    const { shipment } = this;
    if (shipment && !shipment.failure && shipment.next < shipment.append.entries.length) return shipment;
    const queued = this.queue.take();
    if (!queued) return undefined;
    const { append } = queued;
    this.shipment = { queued, append, positions: [], next: 0, open: append.entries.length, maybeStored: false };
    return this.shipment;
  }

  private parcel(shipment: Shipment, entry: LogEntry, index: number): Parcel {
    return {
      entry,
      stored: (position) => {
        shipment.positions[index] = position;
        shipment.maybeStored = true;
        this.settle(shipment);
      },
      failed: (maybeStored, cause) => {
        shipment.maybeStored ||= maybeStored;
        shipment.failure ??= { cause };
        this.settle(shipment);
      },
    };
  }

  private settle(shipment: Shipment): void {
    shipment.open -= 1;
    const { queued, append, failure, positions, maybeStored } = shipment;
    const unsent = failure ? append.entries.length - shipment.next : 0;
    if (shipment.open > unsent) return;
    this.queue.release(queued);
    if (!failure) append.resolve(positions);
    else append.reject(maybeStored ? outcomeUnknown(failure) : unwritten(failure));
  }

  /** Retries until every batch is settled, or its time is up. */
  private async deliver(batches: readonly PartitionBatch[]): Promise<void> {
    const oldest = Math.min(...batches.map(({ since }) => since));
    const deadline = Math.max(oldest + this.options.deliveryMs, Date.now() + LEAST_DELIVERY_MS);
    const { logger } = this.options;
    let open = batches;
    for (let wait = RETRY_MS.first; ; wait = Math.min(wait * 2, RETRY_MS.most)) {
      await this.attempt(open, deadline);
      open = open.filter((batch) => !batch.settled);
      if (open.length === 0 && wait > RETRY_MS.first) logger.info('Kafka takes appends again');
      if (open.length === 0) return;
      this.drop();
      const facts = { reason: open[0]?.cause?.message, batches: open.length };
      if (this.abandon.signal.aborted || Date.now() + wait >= deadline) {
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
    const timer = setTimeout(stop, deadline - Date.now());
    this.abandon.signal.addEventListener('abort', stop);
    try {
      this.abandon.signal.throwIfAborted();
      this.link ??= await this.options.connect(late.signal);
      await sendBatches(this.link, batches, this.options.requestMs);
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

function unwritten(options: ErrorOptions): ControlError {
  return new ControlError('log_unavailable', 'the log cannot be written', {}, options);
}

function outcomeUnknown(options: ErrorOptions): ControlError {
  return new ControlError('outcome_unknown', 'Kafka did not say in time whether it has the record', {}, options);
}
