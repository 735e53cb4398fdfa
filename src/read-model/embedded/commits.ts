import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { disk } from '../../platform/disk.js';

/**
 * When what was written is committed: each commit writes every page that changed, and the same pages change again and
 * again. With more writes or bytes, the pages would not fit in SQLite's cache.
 */
const AT_MOST = { writes: 50_000, bytes: 8 * 1024 * 1024, ms: 15_000 };

/** What a commit takes on the disk, at most: each write changes a few pages, and all of them are in SQLite's cache. */
const ROOM = { least: 1024 * 1024, eachWrite: 32 * 1024, most: 192 * 1024 * 1024 };

/** What a batch adds to the transaction. */
export interface Weight {
  readonly writes: number;
  readonly bytes: number;
}

/**
 * Batches of writes that share a transaction of the one connection: each is applied whole or not at all, and reads see it at
 * once. A crash, or a commit that fails, loses what was written since the last commit.
 */
export class SeldomCommits {
  private uncommitted: Weight = { writes: 0, bytes: 0 };
  private timer: NodeJS.Timeout | undefined;
  /** After a failure each batch is committed, so that little has to be written again. */
  private isFailing = false;

  constructor(
    private readonly db: DatabaseSync,
    private readonly ended: {
      /** A batch is about to be completed. */
      completing(): void;
      /** A batch was undone. */
      undone(): void;
      committed(): void;
      /** Everything since the last commit is undone. */
      lost(reason: unknown): void;
    },
  ) {}

  /** Writes one batch. After an error nothing of it is written. */
  write<Result>(work: () => Result, { writes, bytes }: Weight): Result {
    if (!this.db.isTransaction) this.db.exec('BEGIN IMMEDIATE');
    let result: Result;
    try {
      this.db.exec('SAVEPOINT batch');
      result = work();
      this.ended.completing();
      this.db.exec('RELEASE batch');
    } catch (error) {
      this.undo(error);
      throw error;
    }
    const before = this.uncommitted;
    this.uncommitted = { writes: before.writes + writes, bytes: before.bytes + bytes };
    this.commitLater();
    return result;
  }

  private commitLater(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.hasRoom()) this.tryCommit();
      else this.commitLater();
    }, AT_MOST.ms).unref();
  }

  commitIfDue(): void {
    const { writes, bytes } = this.uncommitted;
    const isDue = this.isFailing || writes >= AT_MOST.writes || bytes >= AT_MOST.bytes;
    if (isDue && this.hasRoom()) this.commit();
  }

  /**
   * A commit that fails undoes what reads show. While the disk is full it is put off, and reads go on: the log takes no more
   * events then, so what is not committed does not grow.
   */
  private hasRoom(): boolean {
    const { writes, bytes } = this.uncommitted;
    const room = ROOM.least + Math.min(writes * ROOM.eachWrite + 2 * bytes, ROOM.most);
    return disk.free(dirname(this.db.location() ?? '.')) >= room;
  }

  /** Throws if it fails; then everything since the last commit is undone. */
  commit(): void {
    this.end();
    if (!this.db.isOpen || !this.db.isTransaction) return;
    try {
      this.db.exec('COMMIT');
      this.isFailing = false;
      this.ended.committed();
    } catch (error) {
      this.rollBack(error);
      throw error;
    }
  }

  /** If it fails, `lost` is told the reason. */
  tryCommit(): void {
    try {
      this.commit();
    } catch {
      // What was undone is applied again.
    }
  }

  private undo(error: unknown): void {
    try {
      if (!this.db.isTransaction) throw error;
      this.db.exec('ROLLBACK TO batch; RELEASE batch');
      this.ended.undone();
    } catch {
      this.rollBack(error);
    }
  }

  /** SQLite itself may have rolled back already. */
  private rollBack(reason: unknown): void {
    this.end();
    if (this.db.isOpen && this.db.isTransaction) this.db.exec('ROLLBACK');
    this.isFailing = true;
    this.ended.lost(reason);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.uncommitted = { writes: 0, bytes: 0 };
  }
}
