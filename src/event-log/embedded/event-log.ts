import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ControlError } from '../../contract/errors.js';
import { type Clock, systemClock } from '../../platform/clock.js';
import { openExclusive, unusable } from '../../platform/sqlite.js';
import { together, turnOfTheLoop } from '../../platform/waiting.js';
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
import { allPartitions, closeFiles, type LogFiles, notedOf, openFiles } from './files.js';
import { FORMAT, note } from './format.js';
import type { Layout } from './frame.js';
import { layoutOf, type Partitions } from './layout.js';
import type { Partition } from './partition.js';
import { refuseUnfinished, removeUnfinished } from './restore.js';
import { LogWriter } from './writer.js';

export interface EmbeddedEventLogOptions {
  readonly file: string;
  /** Fixed when the file is made; `control` has exactly one. Default 1 each. */
  readonly partitions?: Partitions;
  readonly clock?: Clock;
  /** How much may wait for one commit. */
  readonly maxPending?: { readonly entries: number; readonly bytes: number };
  readonly maxRecordBytes?: number;
}

/**
 * The log in one file that is only appended to, `log.records` (ADR 25). A commit is written and synced outside the event
 * loop; the newest records are read from memory, all others by their place in the file.
 */
export class EmbeddedEventLog implements EventLog, RecordValues, Backup {
  private readonly writer: LogWriter;
  private readonly waiting = new Set<() => void>();
  private closed = false;

  static async open(options: EmbeddedEventLogOptions): Promise<EmbeddedEventLog> {
    const { file, partitions = {} } = options;
    refuseUnfinished(file);
    const db = openExclusive(file, FORMAT.application);
    try {
      const layout = layoutOf(partitions);
      const files = await openFiles(db, file, layout);
      removeUnfinished(dirname(file));
      // What is noted from now on need not be durable: an older note is true, too.
      db.exec('PRAGMA synchronous = NORMAL');
      return new EmbeddedEventLog(options, db, layout, files);
    } catch (error) {
      db.close();
      throw unusable(file, error);
    }
  }

  private constructor(
    options: EmbeddedEventLogOptions,
    private readonly db: DatabaseSync,
    private readonly layout: Layout,
    private readonly files: LogFiles,
  ) {
    const { maxPending = { entries: 20_000, bytes: 64 * 1024 * 1024 }, maxRecordBytes = 900 * 1024 } = options;
    this.writer = new LogWriter({
      records: files.records,
      clock: options.clock ?? systemClock,
      openedAt: Math.max(...allPartitions(files).map(({ openedAt }) => openedAt)),
      bounds: { ...maxPending, recordBytes: maxRecordBytes },
      partitionFor: (entry) => this.partitionFor(entry),
      committed: () => this.wakeReaders(),
      note: () => this.note(),
    });
  }

  get id(): string {
    return this.files.records.header.id;
  }

  get pending(): EventLog['pending'] {
    return this.writer.pending;
  }

  append(entries: readonly LogEntry[]): Promise<Position[]> {
    if (entries.length === 0) return Promise.resolve([]);
    if (this.closed) return Promise.reject(new ControlError('log_unavailable', 'the log is closed'));
    return this.writer.append(entries);
  }

  private partitionFor({ topic, key }: LogEntry): Partition {
    const partitions = this.partitionsOf(topic);
    const partition = partitions[partitions.length === 1 ? 0 : partitionOf(key, partitions.length)];
    if (!partition) throw new Error(`the log has no partition for ${topic}`);
    return partition;
  }

  private partitionsOf(topic: Topic): readonly Partition[] {
    const partitions = this.files.topics.get(topic);
    if (!partitions) throw new Error(`the log has no topic ${topic}`);
    return partitions;
  }

  /** The places are synced before: a start relies on those below what is noted. */
  private async note(): Promise<void> {
    const noted = notedOf(this.files);
    for (const { parts } of allPartitions(this.files)) await parts.places.sync();
    note(this.db, noted);
  }

  read(topic: Topic, from: Offsets, signal: AbortSignal): AsyncIterable<Batch> {
    const partitions = this.partitionsOf(topic).map((_, partition) => partition);
    return this.batches(topic, partitions, from, signal);
  }

  async consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const partitions = this.partitionsOf(topic).map((_, partition) => partition);
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
        const batch = this.partitionsOf(topic)[partition]?.batch(offset);
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
    const found = this.partitionsOf(topic)[partition];
    if (!found) throw new PositionOutOfRange(`the log has no ${topic}/${partition}`);
    if (this.closed) throw new ControlError('log_unavailable', 'the log is closed');
    return found.value(offset);
  }

  async head(topic: Topic): Promise<Offsets> {
    return Object.fromEntries(this.partitionsOf(topic).map(({ next }, partition) => [partition, next]));
  }

  async beginning(): Promise<Offsets> {
    return {};
  }

  async snapshot(to: string): Promise<Snapshot> {
    if (this.closed) throw new ControlError('log_unavailable', 'the log is closed');
    return snapshotOf(this.files, this.layout, to, () => this.closed);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    try {
      await this.writer.settled();
      await this.note();
    } catch {
      // What was noted before is older, and still true.
    }
    this.wakeReaders();
    await closeFiles(this.files);
    this.db.close();
  }
}
