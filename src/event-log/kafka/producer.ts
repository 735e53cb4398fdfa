import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ControlError } from '../../contract/errors.js';
import { type Append, AppendQueue, type Queued } from '../append-queue.js';
import type { EventLog, LogEntry, Position } from '../event-log.js';
import { partitionOf } from '../event-log.js';
import { type Parcel, PartitionBatch, sendBatches } from './flush.js';
import { type Connect, SharedLink } from './links.js';
import type { KafkaTopics } from './topics.js';

export interface ProducerOptions {
  readonly topics: KafkaTopics;
  readonly connect: Connect;
  readonly maxPending: { readonly entries: number; readonly bytes: number };
  readonly maxRecordBytes: number;
  /** How long the first append waits for company. */
  readonly lingerMs: number;
  /** How many records one flush takes at most. */
  readonly batchRecords: number;
  /** How many bytes of records go to one partition at most. */
  readonly batchBytes: number;
  /** How long an append is tried again. */
  readonly deliveryMs: number;
  readonly requestMs: number;
  readonly logger: Logger;
}

const RETRY_MS = { first: 50, most: 1_000 };

/** However long an append has waited in the queue, it is tried for so long. */
const LEAST_DELIVERY_MS = 1_000;

/** How long `close` waits for what is under way. */
const CLOSE_MS = 3_000;

/** All partitions of one flush together. */
const FLUSH_BYTES = 8 * 1024 * 1024;

/** An append while parts of it are on their way. */
interface Shipment {
  readonly queued: Queued;
  readonly append: Append;
  readonly since: number;
  readonly positions: Position[];
  /** The next entry to send. */
  next: number;
  /** Entries whose outcome is open. */
  open: number;
  anyStored: boolean;
  failure?: { readonly cause: unknown };
}

/**
 * Collects appends and sends them in flushes, exactly one at a time: the next one only when every batch of the last one
 * is settled. So the order of appends holds within a partition, across retries too, without Kafka's idempotent producer,
 * which in kafkajs loses acknowledged records when an answer is lost. A batch that may have been stored is sent again as
 * it is, so it may be stored twice, the copies of each record in the order of the first ones.
 */
export class KafkaProducer {
  private readonly queue: AppendQueue;
  private readonly link: SharedLink;
  private readonly since = new WeakMap<Append, number>();
  private shipment: Shipment | undefined;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private closed = false;
  private readonly abandon = new AbortController();

  constructor(private readonly options: ProducerOptions) {
    const { maxPending, maxRecordBytes } = options;
    this.queue = new AppendQueue({ ...maxPending, recordBytes: maxRecordBytes }, wireSize);
    this.link = new SharedLink(options.connect);
  }

  get pending(): EventLog['pending'] {
    return this.queue.pending;
  }

  append(entries: readonly LogEntry[]): Promise<Position[]> {
    if (entries.length === 0) return Promise.resolve([]);
    if (this.closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      const append: Append = { entries, resolve, reject };
      const refusal = this.queue.add(append);
      if (refusal) return reject(refusal);
      this.since.set(append, Date.now());
      this.schedule(this.options.lingerMs);
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

  /** What goes next, in order; an append may be longer than a flush. */
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
      const batch = batches.get(`${name}/${partition}`) ?? new PartitionBatch(name, partition, shipment.since);
      const size = wireSize(entry);
      if (batch.bytes > 0 && batch.bytes + size > this.options.batchBytes) break;
      batches.set(`${name}/${partition}`, batch);
      batch.parcels.push(this.parcel(shipment, entry, shipment.next));
      batch.bytes += size;
      shipment.next += 1;
      records += 1;
      bytes += size;
    }
    return [...batches.values()];
  }

  /** The append whose entries are next. What is left of one that has failed is not sent. */
  private current(): Shipment | undefined {
    const { shipment } = this;
    if (shipment && !shipment.failure && shipment.next < shipment.append.entries.length) return shipment;
    const queued = this.queue.take();
    this.shipment = queued && {
      queued,
      append: queued.append,
      since: this.since.get(queued.append) ?? 0,
      positions: [],
      next: 0,
      open: queued.append.entries.length,
      anyStored: false,
    };
    return this.shipment;
  }

  private parcel(shipment: Shipment, entry: LogEntry, index: number): Parcel {
    return {
      entry,
      stored: (position) => {
        shipment.positions[index] = position;
        shipment.anyStored = true;
        this.settle(shipment);
      },
      failed: (unknown, cause) => {
        shipment.anyStored ||= unknown;
        shipment.failure ??= { cause };
        this.settle(shipment);
      },
    };
  }

  private settle(shipment: Shipment): void {
    shipment.open -= 1;
    const { queued, append, failure } = shipment;
    const unsent = failure ? append.entries.length - shipment.next : 0;
    if (shipment.open > unsent) return;
    this.queue.release(queued);
    if (!failure) append.resolve(shipment.positions);
    else append.reject(shipment.anyStored ? unknownError(failure.cause) : downError(failure.cause));
  }

  /** Tries until every batch is settled, or its time is up. */
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
      this.link.drop();
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

  /** Ends at the deadline at the latest; no request is under way then. */
  private async attempt(batches: readonly PartitionBatch[], deadline: number): Promise<void> {
    // Dropping the connections rejects what waits for an answer.
    const stop = () => this.link.drop();
    const timer = setTimeout(stop, deadline - Date.now());
    const { signal } = this.abandon;
    signal.addEventListener('abort', stop);
    try {
      if (!signal.aborted) await sendBatches(await this.link.get(), batches, this.options.requestMs);
    } catch (error) {
      for (const batch of batches) batch.doubt(false, error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  /** Settles every append: what is under way gets a moment, what has not been sent then is refused. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.queue.pending.entries > 0) this.schedule(0);
    const late = setTimeout(() => this.abandon.abort(), CLOSE_MS);
    while (this.flushing) await this.flushing;
    clearTimeout(late);
    this.link.close();
  }
}

/** At most so many bytes on the wire: key, headers and value with the lengths, times and counts around them. */
function wireSize({ key, headers, value }: LogEntry): number {
  let size = 40 + value.byteLength + Buffer.byteLength(key);
  for (const name in headers) size += 10 + Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? '');
  return size;
}

function closedError(): ControlError {
  return new ControlError('log_unavailable', 'the log is closed');
}

function downError(cause: unknown): ControlError {
  return new ControlError('log_unavailable', 'the log cannot be written', {}, { cause });
}

function unknownError(cause: unknown): ControlError {
  return new ControlError('outcome_unknown', 'Kafka did not say in time whether it has the record', {}, { cause });
}
