import { ControlError } from '../../contract/errors.js';
import type { Queued } from '../append-queue.js';
import type { LogEntry, Position } from '../event-log.js';
import { KafkaFault } from './faults.js';
import type { KafkaLink } from './link.js';
import type { Produced } from './requests.js';

/** An append, and what became of its entries so far. */
export class Shipment {
  /** When it was appended, in milliseconds. */
  readonly since = performance.now();
  private readonly positions: Position[] = [];
  /** How many entries are not settled. */
  private open: number;
  private maybeStored = false;
  private failure: { readonly cause: unknown } | undefined;

  constructor(
    readonly queued: Queued,
    private readonly release: (queued: Queued) => void,
  ) {
    this.open = queued.append.entries.length;
  }

  get isFailed(): boolean {
    return this.failure !== undefined;
  }

  stored(index: number, position: Position): void {
    this.positions[index] = position;
    this.maybeStored = true;
    this.settle();
  }

  /** `maybeStored`: the entry may be in the log. */
  failed(maybeStored: boolean, cause: unknown): void {
    this.maybeStored ||= maybeStored;
    this.failure ??= { cause };
    this.settle();
  }

  private settle(): void {
    this.open -= 1;
    if (this.open > 0) return;
    this.release(this.queued);
    const { resolve, reject } = this.queued.append;
    if (!this.failure) return resolve(this.positions);
    const [code, message] = this.maybeStored
      ? (['outcome_unknown', 'Kafka did not say in time whether it has the record'] as const)
      : (['log_unavailable', 'the log cannot be written'] as const);
    reject(new ControlError(code, message, {}, this.failure));
  }
}

/** One entry of an append. */
export interface Parcel {
  readonly shipment: Shipment;
  readonly index: number;
  readonly entry: LogEntry;
}

/** Entries that go to one partition as one batch of records: Kafka stores all of them or none. */
export class PartitionBatch {
  readonly parcels: Parcel[] = [];
  /** An upper bound of its size on the wire. */
  bytes = 0;
  settled = false;
  /** Set when a request with the batch may have reached a broker and was not surely refused. Never unset. */
  private maybeStored = false;
  /** Why the last attempt failed. */
  cause: Error | undefined;

  constructor(
    readonly topic: string,
    readonly partition: number,
  ) {}

  get entries(): LogEntry[] {
    return this.parcels.map(({ entry }) => entry);
  }

  /** Notes the outcome of a request. */
  note({ errorCode, baseOffset }: Produced): void {
    if (errorCode === 0) return this.stored(baseOffset);
    const refused = REFUSED.has(errorCode);
    this.failed(!refused, new KafkaFault(`${this.topic}/${this.partition}: Kafka error ${errorCode}`, true));
    if (refused && errorCode !== NOT_ENOUGH_REPLICAS) this.giveUp();
  }

  private stored(base: number): void {
    this.settled = true;
    const { partition } = this;
    // The records of a batch have consecutive offsets in their order.
    for (const [at, { shipment, index }] of this.parcels.entries())
      shipment.stored(index, { partition, offset: base + at });
  }

  /** An attempt failed; another may follow. */
  failed(maybeStored: boolean, cause: unknown): void {
    this.maybeStored ||= maybeStored;
    this.cause = cause as Error;
  }

  /** No attempt follows. */
  giveUp(): void {
    if (this.settled) return;
    this.settled = true;
    for (const { shipment } of this.parcels) shipment.failed(this.maybeStored, this.cause);
  }
}

/** Sends each batch to the leader of its partition, one request a leader, and notes the outcome in it. */
export async function sendBatches(
  link: KafkaLink,
  batches: readonly PartitionBatch[],
  timeoutMs: number,
): Promise<void> {
  const byLeader = Map.groupBy(batches, ({ topic, partition }) => link.leaderOf(topic, partition));
  const requests = [...byLeader].map(async ([leader, own]) => {
    try {
      const produced = await link.produce(leader, own, timeoutMs);
      for (const batch of own) {
        const isOwn = ({ topic, partition }: Produced) => topic === batch.topic && partition === batch.partition;
        batch.note(produced.find(isOwn) ?? UNNAMED);
      }
    } catch (error) {
      for (const batch of own) batch.failed(error instanceof KafkaFault && error.sent, error);
    }
  });
  await Promise.all(requests);
}

/** For a partition that the response does not name. */
const UNNAMED: Produced = { topic: '', partition: -1, errorCode: -1, baseOffset: -1 };

const NOT_ENOUGH_REPLICAS = 19;

/**
 * Errors that a broker returns only before it writes anything (kafka.apache.org/protocol). All others may come after: it
 * also says that it is no longer the leader when it loses the partition while it waits for the replicas.
 */
const REFUSED: ReadonlySet<number> = new Set([
  2, // CORRUPT_MESSAGE
  10, // MESSAGE_TOO_LARGE
  17, // INVALID_TOPIC_EXCEPTION
  18, // RECORD_LIST_TOO_LARGE
  NOT_ENOUGH_REPLICAS,
  21, // INVALID_REQUIRED_ACKS
  29, // TOPIC_AUTHORIZATION_FAILED
  31, // CLUSTER_AUTHORIZATION_FAILED
  32, // INVALID_TIMESTAMP
  42, // INVALID_REQUEST
  44, // POLICY_VIOLATION
  87, // INVALID_RECORD
]);
