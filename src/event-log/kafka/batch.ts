import type { LogEntry, Position } from '../event-log.js';
import { KafkaFault } from './faults.js';
import type { KafkaLink, Produced } from './link.js';

/** One entry of an append that is being delivered. */
export interface Parcel {
  readonly entry: LogEntry;
  readonly stored: (position: Position) => void;
  /** `maybeStored`: the entry may be in the log. */
  readonly failed: (maybeStored: boolean, cause: unknown) => void;
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
    /** When its first entry was appended. */
    readonly since: number,
  ) {}

  note({ errorCode, baseOffset }: Produced): void {
    if (errorCode === 0) return this.stored(Number(baseOffset));
    const refused = REFUSED.has(errorCode);
    this.failed(!refused, new KafkaFault(`${this.topic}/${this.partition}: Kafka error ${errorCode}`, true));
    if (refused && errorCode !== NOT_ENOUGH_REPLICAS) this.giveUp();
  }

  private stored(base: number): void {
    this.settled = true;
    // The records of a batch have consecutive offsets in their order.
    for (const [index, { stored }] of this.parcels.entries())
      stored({ partition: this.partition, offset: base + index });
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
    for (const { failed } of this.parcels) failed(this.maybeStored, this.cause);
  }
}

/** Sends each batch to the leader of its partition, one request a leader, and notes the outcome in it. Never rejects. */
export async function sendBatches(
  link: KafkaLink,
  batches: readonly PartitionBatch[],
  timeoutMs: number,
): Promise<void> {
  const byLeader = Map.groupBy(batches, ({ topic, partition }) => link.leaderOf(topic, partition));
  await Promise.all([...byLeader].map(([leader, own]) => sendTo(link, leader, own, timeoutMs)));
}

async function sendTo(link: KafkaLink, leader: string, batches: readonly PartitionBatch[], timeoutMs: number) {
  try {
    const produced = await link.produce(leader, batches, timeoutMs);
    for (const batch of batches) {
      const own = produced.find(({ topic, partition }) => topic === batch.topic && partition === batch.partition);
      batch.note(own ?? NOT_NAMED);
    }
  } catch (error) {
    for (const batch of batches) batch.failed(error instanceof KafkaFault && error.sent, error);
  }
}

const NOT_NAMED: Produced = { topic: '', partition: -1, errorCode: -1, baseOffset: -1 };

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
