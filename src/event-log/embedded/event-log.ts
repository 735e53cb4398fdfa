import type { DatabaseSync } from 'node:sqlite';
import { ControlError } from '../../contract/errors.js';
import { type Clock, systemClock } from '../../platform/clock.js';
import { Checkpoints, openExclusive, sqliteFault, unusable } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { together, turnOfTheLoop } from '../../platform/waiting.js';
import { type Append, AppendQueue } from '../append-queue.js';
import {
  type Backup,
  type Batch,
  type Consumer,
  type EventLog,
  type LogEntry,
  type Offsets,
  type Position,
  PositionOutOfRange,
  partitionOf,
  type RecordValues,
  type Snapshot,
  type Topic,
} from '../event-log.js';
import { snapshotOf } from './backup.js';
import { checkEnds, FORMAT, prepareFile, TOPICS, writeEnds } from './format.js';
import { type PartitionTable, partitionTable } from './partition.js';

export interface EmbeddedEventLogOptions {
  readonly file: string;
  /** Fixed when the file is made; `control` has exactly one. Default 1 each. */
  readonly partitions?: Partial<Record<Topic, number>>;
  readonly clock?: Clock;
  /** How much may wait for one commit. */
  readonly maxPending?: { readonly entries: number; readonly bytes: number };
  readonly maxRecordBytes?: number;
}

/** More would hold the event loop for longer than 10 ms. */
const COMMITTED_AT_ONCE = { entries: 2_000, bytes: 2 * 1024 * 1024 };

/** The delay between attempts to open a file after a commit of unknown outcome. */
const REOPEN_MS = 500;

/**
 * The log in one SQLite file: WAL, `synchronous=FULL`, so a commit has reached the disk when it returns. The appends of
 * one turn of the event loop share one transaction, and so one fsync, up to 2 MiB of them.
 */
export class EmbeddedEventLog implements EventLog, RecordValues, Backup {
  readonly id: string;
  private readonly tables = new Map<Topic, PartitionTable[]>();
  private readonly clock: Clock;
  private readonly queue: AppendQueue;
  private readonly waiting = new Set<() => void>();
  private readonly checkpoints = new Checkpoints();
  private closed = false;
  /** After a commit of unknown outcome, the file is reopened before any other use. */
  private inDoubt = false;

  static async open(options: EmbeddedEventLogOptions): Promise<EmbeddedEventLog> {
    const db = openExclusive(options.file, FORMAT.application, 'FULL');
    try {
      return new EmbeddedEventLog(options, db);
    } catch (error) {
      db.close();
      throw unusable(options.file, error);
    }
  }

  private constructor(
    private readonly options: EmbeddedEventLogOptions,
    private db: DatabaseSync,
  ) {
    this.clock = options.clock ?? systemClock;
    const { maxPending = { entries: 20_000, bytes: 64 * 1024 * 1024 }, maxRecordBytes = 900 * 1024 } = options;
    this.queue = new AppendQueue({ ...maxPending, recordBytes: maxRecordBytes });
    this.id = prepareFile(db, options.file, options.partitions);
    this.openTables();
    checkEnds(db, options.file, this.ends());
    this.noteEnds();
  }

  get pending(): EventLog['pending'] {
    return this.queue.pending;
  }

  append(entries: readonly LogEntry[]): Promise<Position[]> {
    if (entries.length === 0) return Promise.resolve([]);
    if (this.closed) return Promise.reject(new ControlError('log_unavailable', 'the log is closed'));
    return new Promise((resolve, reject) => {
      const first = this.queue.pending.entries === 0;
      const refusal = this.queue.add({ entries, resolve, reject });
      if (refusal) reject(refusal);
      else if (first) setImmediate(() => this.commit());
    });
  }

  private commit(): void {
    const appends = this.queue.takeUpTo(COMMITTED_AT_ONCE);
    if (appends.length === 0) return;
    if (this.queue.pending.entries > 0) setImmediate(() => this.commit());
    let positions: Position[][];
    try {
      positions = this.write(appends);
    } catch (error) {
      for (const append of appends) append.reject(error);
      if (this.inDoubt) setImmediate(() => this.resolveDoubt());
      return;
    }
    for (const [index, append] of appends.entries()) append.resolve(positions[index] ?? []);
    this.wakeReaders();
  }

  /** One transaction for all appends. Throws the error for the callers; then the tables match the file. */
  private write(appends: readonly Append[]): Position[][] {
    const marks = this.allTables().map((table) => ({ table, mark: table.mark() }));
    let stage: 'before' | 'commit' = 'before';
    try {
      if (this.inDoubt) this.reopen();
      this.db.exec('BEGIN IMMEDIATE');
      const time = this.clock.now();
      const positions = appends.map(({ entries }) => entries.map((entry) => this.tableFor(entry).insert(entry, time)));
      stage = 'commit';
      this.db.exec('COMMIT');
      this.checkpoints.wrote(this.db, bytesOf(appends));
      return positions;
    } catch (error) {
      for (const { table, mark } of marks) table.rewind(mark);
      const fault = sqliteFault(error);
      // A commit that ran out of space wrote no commit frame. After any other fault only the file shows the outcome.
      const unknown = stage === 'commit' && fault !== 'full' && fault !== 'busy';
      this.inDoubt ||= unknown || !this.rolledBack();
      if (unknown) throw new ControlError('outcome_unknown', 'the disk failed during a commit', {}, { cause: error });
      const reason = fault === 'full' ? 'the log has no space left' : 'the log cannot be written';
      throw new ControlError('log_unavailable', reason, {}, { cause: error });
    }
  }

  private rolledBack(): boolean {
    try {
      if (this.db.isOpen && this.db.isTransaction) this.db.exec('ROLLBACK');
      return this.db.isOpen;
    } catch {
      // Reopening the file rolls it back.
      return false;
    }
  }

  /** Reopens the file, so that readers see the outcome of the commit without waiting for the next append. */
  private resolveDoubt(): void {
    if (!this.inDoubt || this.closed) return;
    try {
      this.reopen();
    } catch {
      // Appends meanwhile try it as well, and reject with the reason.
      setTimeout(() => this.resolveDoubt(), REOPEN_MS).unref();
    }
  }

  private reopen(): void {
    if (this.db.isOpen) this.db.close();
    this.db = openExclusive(this.options.file, FORMAT.application, 'FULL');
    if (prepareFile(this.db, this.options.file, this.options.partitions) !== this.id) {
      throw new StoreUnusable(`${this.options.file}: was replaced while the service was running`);
    }
    this.openTables();
    this.inDoubt = false;
    this.wakeReaders();
  }

  private openTables(): void {
    for (const topic of TOPICS) {
      const count = this.options.partitions?.[topic] ?? 1;
      this.tables.set(
        topic,
        Array.from({ length: count }, (_, partition) => partitionTable(this.db, this.options.file, topic, partition)),
      );
    }
  }

  private noteEnds(): void {
    try {
      if (!this.inDoubt) writeEnds(this.db, this.ends());
    } catch {
      // The ends noted before are older, and still valid; the next append reports the fault of the disk.
    }
  }

  private ends(): Record<string, number> {
    const entries = [...this.tables].flatMap(([topic, tables]) =>
      tables.map(({ next }, partition) => [`${topic}/${partition}`, next] as const),
    );
    return Object.fromEntries(entries);
  }

  private allTables(): PartitionTable[] {
    return [...this.tables.values()].flat();
  }

  private tablesOf(topic: Topic): readonly PartitionTable[] {
    const tables = this.tables.get(topic);
    if (!tables) throw new Error(`the log has no topic ${topic}`);
    return tables;
  }

  private tableFor(entry: LogEntry): PartitionTable {
    const tables = this.tablesOf(entry.topic);
    const table = tables[tables.length === 1 ? 0 : partitionOf(entry.key, tables.length)];
    if (!table) throw new Error(`the log has no partition for ${entry.topic}`);
    return table;
  }

  read(topic: Topic, from: Offsets, signal: AbortSignal): AsyncIterable<Batch> {
    const partitions = this.tablesOf(topic).map((_, partition) => partition);
    return this.batches(topic, partitions, from, signal);
  }

  async consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const partitions = this.tablesOf(topic).map((_, partition) => partition);
    const from = await consumer.assigned(partitions);
    const loop = async (partition: number, either: AbortSignal) => {
      for await (const batch of this.batches(topic, [partition], from, either)) await consumer.handle(batch);
    };
    await together(
      signal,
      partitions.map((partition) => (either) => loop(partition, either)),
    );
  }

  private async *batches(
    topic: Topic,
    partitions: readonly number[],
    from: Offsets,
    signal: AbortSignal,
  ): AsyncGenerator<Batch> {
    const next = new Map(partitions.map((partition) => [partition, from[partition] ?? 0]));
    const head = await this.head(topic);
    for (const [partition, offset] of next) {
      if (offset > (head[partition] ?? 0) || offset < 0) {
        throw new PositionOutOfRange(
          `${topic}/${partition} ends at ${head[partition] ?? 0}; cannot read from ${offset}`,
        );
      }
    }
    while (!signal.aborted && !this.closed) {
      let idle = true;
      for (const [partition, offset] of next) {
        const batch = this.inDoubt ? undefined : this.tablesOf(topic)[partition]?.batch(offset);
        if (!batch) continue;
        idle = false;
        next.set(partition, batch.next);
        yield batch;
        if (signal.aborted || this.closed) return;
      }
      // Reads are synchronous, so a reader far behind would block everything else.
      await (idle ? this.appended(signal) : turnOfTheLoop());
    }
  }

  private appended(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  private wakeReaders(): void {
    for (const wake of [...this.waiting]) wake();
  }

  value(topic: Topic, partition: number, offset: number): Uint8Array {
    const table = this.tablesOf(topic)[partition];
    if (!table) throw new PositionOutOfRange(`the log has no ${topic}/${partition}`);
    if (this.db.isOpen) return table.value(offset);
    throw new ControlError('log_unavailable', 'the log cannot be read at the moment; retry');
  }

  async head(topic: Topic): Promise<Offsets> {
    return Object.fromEntries(this.tablesOf(topic).map((table, partition) => [partition, table.next]));
  }

  async snapshot(to: string): Promise<Snapshot> {
    if (this.closed || this.inDoubt)
      throw new ControlError('log_unavailable', 'the log cannot be copied at the moment; retry');
    return snapshotOf(this.db, to);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    while (this.queue.pending.entries > 0) this.commit();
    this.wakeReaders();
    if (!this.db.isOpen) return;
    this.noteEnds();
    this.db.close();
  }
}

function bytesOf(appends: readonly Append[]): number {
  return appends.reduce((sum, { entries }) => entries.reduce((all, { value }) => all + value.byteLength, sum), 0);
}
