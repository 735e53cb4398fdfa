/**
 * The log is the only truth of the service: an ordered, durable, append-only sequence of records a partition. Every
 * adapter passes `test/contract/event-log.contract.ts`.
 *
 * Nothing is ever changed or taken out of `audit` and `control`; what a record says is interpreted on reading.
 * `progress` is how processes tell each other what they have done: only a log that several share has it, and it keeps
 * the last hour.
 */
export type Topic = 'audit' | 'control' | 'audit.dead' | 'progress';

export interface LogEntry {
  readonly topic: Topic;
  /** Records of one key go to one partition, so they keep their order. Keys, names and values of headers are UTF-8. */
  readonly key: string;
  /** Small facts about the record that a reader needs before parsing it. `v`, the schema's version, is always there. */
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Uint8Array;
}

export interface Position {
  readonly partition: number;
  /** Whole number from 0, ascending within a partition; gaps are allowed. */
  readonly offset: number;
}

export interface LogRecord extends LogEntry, Position {
  /**
   * When the log took the record, in milliseconds: the same at every reading, so a rebuild gives the same times. It does
   * not decrease within a partition as long as the log's own clock does not; order by offset, never by time.
   */
  readonly time: number;
}

/** Next offset to read, by partition; an absent partition stands at 0, one that the topic does not have is passed over. */
export type Offsets = Readonly<Record<number, number>>;

export interface Batch {
  readonly partition: number;
  /** Never empty; ascending offsets of this partition. */
  readonly records: readonly LogRecord[];
  /** Where reading goes on after this batch. */
  readonly next: number;
}

export interface Consumer {
  /** Processes that name the same group share the partitions out among themselves; each partition has one owner. */
  readonly group: string;
  /**
   * Called whenever partitions are taken over; answers where to start in each. The log keeps no place of its own. A
   * rejection ends `consume` with that error.
   */
  assigned(partitions: readonly number[]): Promise<Offsets>;
  /**
   * Called with one batch of a partition at a time, in order; other partitions may go on meanwhile. The next batch of
   * the partition comes when this resolves. A rejection ends `consume` with that error.
   */
  handle(batch: Batch): Promise<void>;
}

export interface EventLog {
  /** Identifies this log and its history; what was derived from another log must be rebuilt. */
  readonly id: string;

  /**
   * Appends all entries, in order within a partition, and resolves with their positions (same order as the entries)
   * when every one is durable: fsync, or `acks=all`. Calls of one process keep their order within a partition too,
   * whether they are awaited or not.
   *
   * Rejects with a `ControlError`:
   * - `payload_too_large`: an entry alone (key, headers and value) is larger than the log takes. Nothing was appended.
   * - `log_unavailable`: the log is down, closed, out of space, or its bounded queue is full. Nothing was appended.
   * - `outcome_unknown`: any of the entries may have been appended; those that were are read like all others, soon.
   *
   * Never drops an entry that it acknowledged. May append an entry twice (at least once): readers remove duplicates
   * by identifier.
   */
  append(entries: readonly LogEntry[]): Promise<Position[]>;

  /**
   * Reads all partitions from `from`, then goes on with what is appended later, until `signal` aborts; then it ends
   * without an error. In order within a partition, at least once, and only what is durable. Every reader sees all.
   * The next batch is fetched when the consumer asks for it.
   *
   * Throws `PositionOutOfRange` when `from` is behind the oldest record or beyond the head: never a silent reset.
   * Throws `CorruptRecord` at a record whose bytes are not those that were appended, after everything before it; a log
   * that keeps records in batches gives none of its batch either.
   */
  read(topic: Topic, from: Offsets, signal: AbortSignal): AsyncIterable<Batch>;

  /** Like `read`, but shared by the processes of a group. Resolves when `signal` aborts and the last `handle` is done. */
  consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void>;

  /** The next offset of each partition. Includes every append that resolved before the call. */
  head(topic: Topic): Promise<Offsets>;

  /** What waits to be made durable at the moment. */
  readonly pending: { readonly entries: number; readonly bytes: number };

  /** Refuses further appends, resolves or rejects those under way, ends readers, and frees what the log holds. */
  close(): Promise<void>;
}

/** Under this token Nest injects the `EventLog`. */
export const EVENT_LOG = Symbol('EventLog');

export class PositionOutOfRange extends Error {
  override readonly name = 'PositionOutOfRange';
}

export class CorruptRecord extends Error {
  override readonly name = 'CorruptRecord';
}
