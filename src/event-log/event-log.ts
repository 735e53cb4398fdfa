import type { SearchedEvent } from '../model/audit-event.js';

/**
 * The log is the only truth of the service: an ordered, durable, append-only sequence of records a partition. Every
 * adapter passes `test/contract/event-log.contract.ts`.
 *
 * Nothing in `audit` and `control` is ever changed or removed; readers interpret old records. Only expired records at the
 * beginning of `audit` may be deleted, if the operator wants it (ADR 27).
 * `checkpoints` seals the others: it says which records the trees cover, in which order (ADR 29). Processes announce their
 * progress to each other in `progress`: only a shared log has it, and it keeps the last hour.
 */
export type Topic = 'audit' | 'control' | 'audit.dead' | 'progress' | 'checkpoints';

export interface LogEntry {
  readonly topic: Topic;
  /** Records of one key go to one partition, so they keep their order, until partitions are added. Keys, names and values of headers are UTF-8. */
  readonly key: string;
  /** Among how many of the first partitions the key chooses; absent: among all. */
  readonly among?: number | undefined;
  /** Facts that a reader needs before it parses the value. `v`, the version of the schema, is always present. */
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Uint8Array;
  /**
   * What readers would find in the value of a record of `audit`. The log does not store it: a record has it only in the
   * process that wrote it, and not for long.
   */
  readonly searched?: SearchedEvent;
}

export interface Position {
  readonly partition: number;
  /** Whole number from 0, ascending within a partition; gaps are allowed. */
  readonly offset: number;
}

export interface LogRecord extends LogEntry, Position {
  /**
   * When the log took the record, in milliseconds. It never changes, so a rebuild gets the same times. It does not decrease
   * within a partition as long as the log's own clock does not; order by offset, never by time.
   */
  readonly time: number;
  /** Why it cannot be decoded: it is a whole batch that somebody else appended. Its value has the batch's bytes. */
  readonly undecodable?: string;
}

/** Next offset to read, by partition. An absent partition is at 0; one that the topic does not have is ignored. */
export type Offsets = Readonly<Record<number, number>>;

export interface Batch {
  readonly partition: number;
  /** Never empty; ascending offsets of this partition. */
  readonly records: readonly LogRecord[];
  /** Where reading continues after this batch. */
  readonly next: number;
}

export interface Consumer {
  /** The processes of a group divide the partitions among themselves; each partition has one owner. */
  readonly group: string;
  /**
   * Called whenever partitions are assigned; returns where to start in each. The log stores no offsets of its own. A
   * rejection ends `consume` with that error.
   */
  assigned(partitions: readonly number[]): Promise<Offsets>;
  /**
   * Called with one batch of a partition at a time, in order; other partitions may continue meanwhile. The next batch of
   * the partition follows when this resolves. A rejection ends `consume` with that error.
   */
  handle(batch: Batch): Promise<void>;
}

export interface EventLog {
  /** Identifies this log and its history; a read model of another log must be rebuilt. */
  readonly id: string;

  /**
   * Appends all entries, in order within a partition, and resolves with their positions (same order as the entries)
   * when every one is durable: fsync, or `acks=all`. Calls of one process keep their order within a partition too,
   * whether they are awaited or not.
   *
   * Rejects with a `ControlError`:
   * - `payload_too_large`: an entry alone (key, headers and value) is larger than the log takes. Nothing was appended.
   * - `log_unavailable`: the log is down, closed, out of space, or its bounded queue is full. Nothing was appended.
   * - `outcome_unknown`: any of the entries may have been appended; readers soon see those that were.
   *
   * Never drops an acknowledged entry. May append an entry twice (at least once): readers remove duplicates by
   * identifier.
   */
  append(entries: readonly LogEntry[]): Promise<Position[]>;

  /**
   * Reads all partitions from `from`, then continues with later appends, until `signal` aborts; then it ends without an
   * error. In order within a partition, at least once, and only durable records. Every reader sees all of them. The next
   * batch is fetched when the consumer asks for it.
   *
   * Throws `PositionOutOfRange` when `from` is behind the oldest record or beyond the head: never a silent reset. Where
   * expired records are deleted, reading begins at `beginning` at the earliest.
   * Throws `CorruptRecord` at a record whose bytes were altered, after everything before it; a log that stores records in
   * batches returns nothing of its batch either.
   */
  read(topic: Topic, from: Offsets, signal: AbortSignal): AsyncIterable<Batch>;

  /** Like `read`, but shared by the processes of a group. Resolves when `signal` aborts and the last `handle` is done. */
  consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void>;

  /** The next offset of each partition. Includes every append that resolved before the call. */
  head(topic: Topic): Promise<Offsets>;

  /**
   * The first offset that each partition may have: 0, also if it is absent, unless expired records are deleted from the
   * beginning of the topic. There are no records before.
   */
  beginning(topic: Topic): Promise<Offsets>;

  /** The appends that are not durable yet. */
  readonly pending: { readonly entries: number; readonly bytes: number };

  /** Refuses further appends, settles those under way, ends readers, and releases all resources. */
  close(): Promise<void>;
}

/** Values of single records, for a log that has them at hand. */
export interface RecordValues {
  /**
   * The value at this position, checked against its checksum. Throws `CorruptRecord`; `PositionOutOfRange` at and beyond
   * the head; and a `ControlError` `log_unavailable` while the log cannot be read.
   */
  value(topic: Topic, partition: number, offset: number): Uint8Array;
}

/** Under this token Nest injects the `EventLog`. */
export const EVENT_LOG = Symbol('EventLog');

export class PositionOutOfRange extends Error {
  override readonly name = 'PositionOutOfRange';
}

export class CorruptRecord extends Error {
  override readonly name = 'CorruptRecord';
}

/** A record that can never be read: it is not what its topic contains, or a newer program wrote it. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
}

/** The partition of a key (FNV-1a): always the same, in every process and on every store. */
export function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash % partitions;
}

/** A log in one file can be copied. */
export interface Backup {
  /**
   * Writes a copy of the whole log to a new file, while appends and reads continue. It contains every append that resolved
   * before the call, and no part of an append. The copy is synced to disk when this resolves; a rejection may leave a part
   * of it there. Rejects with a `ControlError`: `log_unavailable` if the log is closed or the outcome of its last commit is
   * unknown, `conflict` if the disk has no space for a copy.
   */
  snapshot(to: string): Promise<Snapshot>;
}

/** In the data folder, while a backup is made and downloaded. A process that was killed may leave it. */
export const BACKUP_FILE = 'log.db.backup';

/** Under this token Nest injects the `Backup`. */
export const BACKUP = Symbol('Backup');

export interface Snapshot {
  /** The log's identifier. */
  readonly log: string;
  /** The next offset of each partition, by `topic/partition`. */
  readonly heads: Readonly<Record<string, number>>;
}

/** A log that can forget its oldest records. */
export interface Forgetting {
  /** Deletes the records of `audit` before these offsets, for ever. */
  deleteBefore(ends: Offsets): Promise<void>;
}
