import { ControlError } from '../../contract/errors.js';
import type { Clock } from '../../platform/clock.js';
import { turnOfTheLoop } from '../../platform/waiting.js';
import { AppendQueue, type QueueBounds, type Queued } from '../append-queue.js';
import type { LogEntry, Position } from '../event-log.js';
import { encodeCommit } from './frame.js';
import type { Partition } from './partition.js';
import type { RecordsFile } from './records-file.js';

/** More would hold the event loop for longer than 10 ms. */
const COMMITTED_AT_ONCE = { entries: 2_000, bytes: 2 * 1024 * 1024 };

/** The end is noted so long after a commit: a start reads what was committed since, and finds out if less is there. */
const NOTED_MS = 1_000;

export interface Writing {
  readonly records: RecordsFile;
  readonly clock: Clock;
  /** The latest time of a record when the log was opened. */
  readonly openedAt: number;
  readonly bounds: QueueBounds;
  partitionFor(entry: LogEntry): Partition;
  /** A commit is durable, or has failed. */
  committed(): void;
  /** Notes where the log ends. */
  note(): Promise<void>;
}

/**
 * Appends to the log. The appends of one turn of the event loop are one commit, written and synced outside the event loop;
 * the next begins when it is durable, with all that was appended meanwhile.
 */
export class LogWriter {
  private readonly queue: AppendQueue;
  /** Reused by every commit that fits. */
  private readonly scratch = Buffer.allocUnsafeSlow(2 * COMMITTED_AT_ONCE.bytes);
  private committing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private noting: Promise<void> = Promise.resolve();
  /** The partitions of the last commit that was written, or was to be. */
  private written: ReadonlySet<Partition> = new Set();

  /** Of the last commit. Time never goes backward, in no partition, whatever the system's clock does: a cut says up to when it is complete. */
  private lastTime: number;

  constructor(private readonly writing: Writing) {
    this.lastTime = writing.openedAt;
    this.queue = new AppendQueue(writing.bounds);
  }

  get pending(): { readonly entries: number; readonly bytes: number } {
    return this.queue.pending;
  }

  append(entries: readonly LogEntry[]): Promise<Position[]> {
    return new Promise((resolve, reject) => {
      const refusal = this.queue.add({ entries, resolve, reject });
      if (refusal) reject(refusal);
      else this.committing ??= this.commitAll();
    });
  }

  /** Settles every append. */
  async settled(): Promise<void> {
    await this.committing;
    clearTimeout(this.timer);
    await this.noting;
    if (this.writing.records.isUnclean) await this.undo();
  }

  private async commitAll(): Promise<void> {
    while (this.queue.pending.entries > 0) {
      await turnOfTheLoop();
      const appends = this.queue.takeUpTo(COMMITTED_AT_ONCE);
      try {
        const positions = await this.commit(appends);
        for (const [index, { append }] of appends.entries()) append.resolve(positions[index] ?? []);
      } catch (error) {
        for (const { append } of appends) append.reject(error);
      }
      for (const queued of appends) this.queue.release(queued);
      this.writing.committed();
      this.noteSoon();
    }
    this.committing = undefined;
  }

  /** Returns the positions of each append. Throws the error for the callers; then nothing stays staged. */
  private async commit(appends: readonly Queued[]): Promise<Position[][]> {
    await this.undoFailed();
    const { clock, partitionFor } = this.writing;
    const now = Math.max(clock.now(), this.lastTime);
    this.lastTime = now;
    const touched = new Set<Partition>();
    const stage = (entry: LogEntry) => {
      const partition = partitionFor(entry);
      touched.add(partition);
      return partition.stage(entry, now);
    };
    try {
      const positions = appends.map(({ append }) => append.entries.map(stage));
      await this.write(touched);
      return positions;
    } catch (error) {
      for (const partition of touched) partition.discard();
      throw error;
    }
  }

  private async write(touched: ReadonlySet<Partition>): Promise<void> {
    const { records } = this.writing;
    const staged = [...touched].map((partition) => ({ number: partition.parts.number, records: partition.staged }));
    const { bytes, places } = encodeCommit(staged, records.seed, this.scratch);
    this.written = touched;
    try {
      const start = await records.append(bytes);
      let at = 0;
      for (const partition of touched) at += partition.enter(start, places.slice(at));
    } catch (error) {
      throw await this.refusal(error);
    }
    records.accept(bytes.byteLength);
    for (const partition of touched) partition.accept();
  }

  /** A part of an earlier commit must be gone before the next is written. */
  private async undoFailed(): Promise<void> {
    if (!this.writing.records.isUnclean) return;
    await this.undo().catch((cause: unknown) => {
      throw new ControlError('log_unavailable', 'the log cannot be written', {}, { cause });
    });
  }

  /** Removes what was written. If that fails too, the next start may find the commit. */
  private async refusal(cause: unknown): Promise<ControlError> {
    try {
      await this.undo();
    } catch {
      return new ControlError('outcome_unknown', 'the disk failed during a commit', {}, { cause });
    }
    const isFull = (cause as NodeJS.ErrnoException).code === 'ENOSPC';
    const reason = isFull ? 'the log has no space left' : 'the log cannot be written';
    return new ControlError('log_unavailable', reason, {}, { cause });
  }

  /** The places go first: a start takes one without its record for a loss, but a record without its place as it is. */
  private async undo(): Promise<void> {
    for (const partition of this.written) await partition.undo();
    await this.writing.records.undo();
  }

  private noteSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      // An older note is still true; the next append reports what is wrong with the disk.
      this.noting = this.noting.then(() => this.writing.note()).catch(() => undefined);
    }, NOTED_MS).unref();
  }
}
