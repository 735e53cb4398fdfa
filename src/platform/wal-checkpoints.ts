import { once } from 'node:events';
import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

const PAGE_BYTES = 4_096;

/**
 * The thread: it has a connection of its own. A `NOOP` counts the pages of the write-ahead log, or copies them on SQLite
 * before 3.51. `PASSIVE` waits for nobody, and leaves the log to be begun anew by the writer: if another connection did
 * that, a write after a read that is under way would fail.
 */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const db = new DatabaseSync(workerData);
  parentPort.on('message', (least) => {
    if (least === undefined) return parentPort.close(db.close());
    const { log } = db.prepare('PRAGMA wal_checkpoint(NOOP)').get();
    if (log >= least) db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    parentPort.postMessage(log >= least);
  });`;

/**
 * Copies the write-ahead log of a database into its file, outside the event loop. Most of it is copied while writes go on.
 * Writes wait only while the rest is: SQLite begins the log anew when a write finds that all of it was copied.
 */
export class WalCheckpoints {
  private thread: Worker | undefined;
  private working: Promise<void> | undefined;
  /** Whether most of the log was copied since it was begun. */
  private isMostlyCopied = false;
  /** Until it resolves, nothing is to be written. */
  barrier: Promise<void> | undefined;

  constructor(
    private readonly file: string,
    /** How long the log becomes: the longer it is, the more changes of one page reach the file as one. */
    private readonly mostPages: number,
  ) {}

  /** After each commit. What a checkpoint cannot copy stays in the log, and the one after the next commit tries again. */
  committed(): void {
    if (this.working || (!this.thread && this.logBytes < this.mostPages * PAGE_BYTES)) return;
    if (this.isMostlyCopied) {
      this.isMostlyCopied = false;
      this.barrier = this.copy(0).then(() => {
        this.barrier = undefined;
      });
    } else {
      void this.copy(this.mostPages).then((isCopied) => {
        this.isMostlyCopied = isCopied;
      });
    }
  }

  /** Copies what is committed if the log is long, and ends the thread: afterwards the database can be closed. */
  async end(): Promise<void> {
    await this.working;
    if (!this.thread && this.logBytes < this.mostPages * PAGE_BYTES) return;
    await this.copy(0);
    const { thread } = this;
    this.thread = undefined;
    if (!thread) return;
    thread.ref();
    thread.postMessage(undefined);
    await once(thread, 'exit').catch(() => undefined);
  }

  /** Whether there is no thread, so that the database can be closed. */
  get isEnded(): boolean {
    return !this.thread;
  }

  /** The log's file does not get shorter when the log is begun anew. */
  private get logBytes(): number {
    return statSync(`${this.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Copies a log of at least so many pages. Returns whether it was that long, and nothing failed. */
  private copy(least: number): Promise<boolean> {
    this.thread ??= this.started();
    const { thread } = this;
    const answer = once(thread, 'message');
    // A process that ends waits for it.
    thread.ref();
    thread.postMessage(least);
    const copied = answer.then(
      ([isLong]) => isLong === true,
      () => {
        this.thread = undefined;
        return false;
      },
    );
    this.working = copied.then(() => {
      thread.unref();
      this.working = undefined;
    });
    return copied;
  }

  private started(): Worker {
    return new Worker(THREAD, {
      eval: true,
      workerData: this.file,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
  }
}
