import type { LogEntry, Position } from '../event-log.js';
import type { KafkaLink } from './client.js';
import { CODE } from './codes.js';
import { KafkaFault } from './faults.js';
import { leaderOf } from './links.js';
import { decodeProduced, produceRequest } from './produce.js';

/** One entry on its way, and who is told what became of it. */
export interface Parcel {
  readonly entry: LogEntry;
  readonly stored: (position: Position) => void;
  /** `unknown`: it may be in the log. */
  readonly failed: (unknown: boolean, cause: unknown) => void;
}

/** Entries that go to one partition as one batch of records: Kafka takes all of them or none. */
export class PartitionBatch {
  readonly parcels: Parcel[] = [];
  /** At most so many on the wire. */
  bytes = 0;
  settled = false;
  /** Set as soon as a request with the batch may have reached a broker and was not surely refused. Never unset. */
  private maybeStored = false;
  /** Why the last attempt failed. */
  cause: Error | undefined;

  constructor(
    readonly topic: string,
    readonly partition: number,
    /** When its first entry was appended. */
    readonly since: number,
  ) {}

  stored(base: number): void {
    this.settled = true;
    for (const [index, parcel] of this.parcels.entries()) {
      // The records of a batch have the offsets from its base on, in their order.
      parcel.stored({ partition: this.partition, offset: base + index });
    }
  }

  /** An attempt failed; another may follow. */
  doubt(maybeStored: boolean, cause: unknown): void {
    this.maybeStored ||= maybeStored;
    this.cause = cause as Error;
  }

  /** No attempt follows. */
  giveUp(): void {
    if (this.settled) return;
    this.settled = true;
    for (const parcel of this.parcels) parcel.failed(this.maybeStored, this.cause);
  }
}

/** Sends each batch to the leader of its partition and notes what came of it. Never rejects. */
export async function sendBatches(
  link: KafkaLink,
  batches: readonly PartitionBatch[],
  timeoutMs: number,
): Promise<void> {
  const byLeader = new Map<number, PartitionBatch[]>();
  for (const batch of batches) {
    try {
      const leader = leaderOf(link, batch.topic, batch.partition);
      const others = byLeader.get(leader);
      if (others) others.push(batch);
      else byLeader.set(leader, [batch]);
    } catch (error) {
      batch.doubt(false, error);
    }
  }
  await Promise.all([...byLeader].map(([leader, own]) => sendTo(link, leader, own, timeoutMs)));
}

async function sendTo(
  link: KafkaLink,
  leader: number,
  batches: readonly PartitionBatch[],
  timeout: number,
): Promise<void> {
  try {
    const { produced } = await link.send(leader, produceRequest(batches, timeout), decodeProduced);
    for (const batch of batches) {
      const { topic, partition } = batch;
      const answer = produced.find((one) => one.topic === topic && one.partition === partition);
      note(batch, answer?.errorCode ?? UNKNOWN, answer?.baseOffset ?? NaN);
    }
  } catch (error) {
    for (const batch of batches) batch.doubt(error instanceof KafkaFault && error.sent, error);
  }
}

function note(batch: PartitionBatch, errorCode: number, base: number): void {
  if (errorCode === 0) return batch.stored(base);
  const refused = REFUSED.has(errorCode);
  const cause = new KafkaFault(`${batch.topic}/${batch.partition}: error ${errorCode}`, true);
  batch.doubt(!refused, cause);
  if (refused && errorCode !== CODE.TOO_FEW_IN_SYNC) batch.giveUp();
}

const UNKNOWN = -1;

/**
 * What a broker answers only before it has written anything. All other errors may come after: that it is no longer the
 * leader, for one, is also what it says when it loses the partition while it waits for the replicas.
 */
const REFUSED: ReadonlySet<number> = new Set([
  CODE.CORRUPT_MESSAGE,
  CODE.TOO_LARGE,
  CODE.INVALID_TOPIC,
  CODE.BATCH_TOO_LARGE,
  CODE.TOO_FEW_IN_SYNC,
  CODE.INVALID_ACKS,
  CODE.TOPIC_DENIED,
  CODE.CLUSTER_DENIED,
  CODE.INVALID_TIMESTAMP,
  CODE.INVALID_REQUEST,
  CODE.POLICY_VIOLATION,
  CODE.INVALID_RECORD,
]);
