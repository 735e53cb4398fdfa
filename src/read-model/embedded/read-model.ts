import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Offsets, RecordValues, Topic } from '../../event-log/event-log.js';
import { removeDatabase, setAside } from '../../platform/sqlite.js';
import { Turns } from '../../platform/turns.js';
import { GenerationLost, GenerationSealed, type NextGeneration, type ReadModel } from '../read-model.js';
import { KEEP_ALL, type Retention } from '../retention.js';
import { createDatabase, nextFile, openDatabase, openUsable, replaceDatabase } from './database.js';
import { EmbeddedGeneration } from './generation.js';

export interface EmbeddedReadModelOptions {
  readonly file: string;
  /** The log that the documents come from. A file made from another log is replaced. */
  readonly logId: string;
  /** That log: documents that are its records are not stored again. */
  readonly records: RecordValues;
  /** Without it nothing expires. */
  readonly retention?: Retention;
  /** Where the log ends. If the file has seen more, the log lost records, and the start fails. */
  readonly head?: (topic: Topic) => Promise<Offsets>;
  /** Shares the event loop among searches. */
  readonly turns?: Turns;
  /** Called with the reason if the file is replaced. */
  readonly onReplaced?: (reason: string) => void;
}

const FIRST_GENERATION = 1;

/**
 * The read model in one SQLite file, and the next generation in another. Writes and progress share a transaction. Commits
 * are seldom, and not synced: what a crash loses is read from the log again.
 */
export class EmbeddedReadModel implements ReadModel {
  readonly refreshMs = { waited: 0, idle: 0 };
  private next: EmbeddedGeneration | undefined;
  /** By the process's own clock; while it is in the future, nothing is written to the live generation. */
  private sealedUntil = 0;
  private isClosed = false;

  static async open(options: EmbeddedReadModelOptions): Promise<EmbeddedReadModel> {
    const { file, onReplaced } = options;
    const found = await openUsable(options, (db) => generationIn(db, options));
    if (typeof found === 'string' && existsSync(file)) {
      onReplaced?.(found);
      setAside(file);
    }
    const live = typeof found === 'string' ? created(file, FIRST_GENERATION, options) : found;
    // The caller holds the lock of the log, so no other process owns the leftover.
    removeDatabase(nextFile(file));
    return new EmbeddedReadModel(options, live);
  }

  private constructor(
    private readonly options: EmbeddedReadModelOptions,
    private current: EmbeddedGeneration | undefined,
  ) {}

  get: ReadModel['get'] = (...args) => this.onLive((live) => live.get(...args));
  search: ReadModel['search'] = (...args) => this.onLive((live) => live.search(...args));
  last: ReadModel['last'] = (...args) => this.onLive((live) => live.last(...args));
  count: ReadModel['count'] = (...args) => this.onLive((live) => live.count(...args));
  stats: ReadModel['stats'] = (...args) => this.onLive((live) => live.stats(...args));
  progress: ReadModel['progress'] = (...args) => this.onLive((live) => live.progress(...args));
  refresh: ReadModel['refresh'] = () => this.onLive((live) => live.refresh());
  sweep: ReadModel['sweep'] = (...args) => this.onLive((live) => live.sweep(...args));
  scan: ReadModel['scan'] = (...args) => this.onLive((live) => live.scan(...args));
  strays: ReadModel['strays'] = (...args) => this.onLive((live) => live.strays(...args));
  overwrite: ReadModel['overwrite'] = (...args) => this.onLive((live) => live.overwrite(...args));
  remove: ReadModel['remove'] = (...args) => this.onLive((live) => live.remove(...args));

  apply: ReadModel['apply'] = async (...args) => {
    if (this.isSealed) throw new GenerationSealed('another generation is about to replace the live one');
    return this.live.apply(...args);
  };

  async begin(): Promise<NextGeneration> {
    await this.dropNext();
    const { number } = this.live;
    const next = created(nextFile(this.options.file), number + 1, this.options);
    this.next = next;
    return Object.assign(next, {
      seal: async (leaseMs: number) => this.seal(next, leaseMs),
      promote: async () => this.promote(next),
      discard: async () => {
        if (this.next === next) await this.dropNext();
      },
    });
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.dropNext();
    await this.current?.checkpoints.end();
    this.current?.close();
  }

  private seal(next: EmbeddedGeneration, leaseMs: number): Readonly<Partial<Record<Topic, Offsets>>> {
    if (this.next !== next) throw new GenerationLost('the generation no longer exists');
    const reached = this.live.reached();
    // From here on a crash leaves the one or the other, whole.
    this.live.commit();
    next.commit();
    this.sealedUntil = performance.now() + leaseMs;
    return reached;
  }

  private async promote(next: EmbeddedGeneration): Promise<void> {
    const both = [next, this.live].map(({ checkpoints }) => checkpoints);
    do await Promise.all(both.map((each) => each.end()));
    while (both.some(({ isEnded }) => !isEnded));
    if (this.next !== next) throw new GenerationLost('the generation no longer exists');
    if (!this.isSealed) throw new Error('the live generation is not sealed, or not any more');
    const { file } = this.options;
    const { live } = this;
    next.checkpoint();
    live.checkpoint();
    this.next = undefined;
    this.current = undefined;
    this.sealedUntil = 0;
    next.close();
    live.close();
    replaceDatabase(file, nextFile(file));
    this.current = this.reopened();
  }

  private get isSealed(): boolean {
    return this.sealedUntil > 0 && performance.now() < this.sealedUntil;
  }

  private get live(): EmbeddedGeneration {
    if (this.isClosed) throw new Error('the read model is closed');
    // If a promotion failed half-way, the file is still whole: either the old one or the new.
    this.current ??= this.reopened();
    return this.current;
  }

  private reopened(): EmbeddedGeneration {
    return generationIn(openDatabase(this.options.file), this.options);
  }

  /** Repeats the call if a promotion came between. */
  private async onLive<Result>(call: (live: EmbeddedGeneration) => Promise<Result>): Promise<Result> {
    const { live } = this;
    try {
      return await call(live);
    } catch (error) {
      if (error instanceof GenerationLost && !this.isClosed && this.live !== live) return this.onLive(call);
      throw error;
    }
  }

  private async dropNext(): Promise<void> {
    const { next } = this;
    this.next = undefined;
    this.sealedUntil = 0;
    await next?.checkpoints.end();
    next?.close();
    removeDatabase(nextFile(this.options.file));
  }
}

/**
 * How much of the file is memory-mapped: SQLite's maximum of 2 GiB. The log is not mapped, because reading a bad page of a
 * mapping ends the process; the read model can be rebuilt.
 */
const MAPPED_BYTES = 2 ** 31;

function generationIn(
  db: DatabaseSync,
  { retention = KEEP_ALL, turns = new Turns(), records }: EmbeddedReadModelOptions,
): EmbeddedGeneration {
  try {
    db.exec(`PRAGMA mmap_size = ${MAPPED_BYTES}; PRAGMA temp_store = MEMORY`);
    return new EmbeddedGeneration(db, { retention, turns, records });
  } catch (error) {
    db.close();
    throw error;
  }
}

function created(file: string, number: number, options: EmbeddedReadModelOptions): EmbeddedGeneration {
  return generationIn(createDatabase(file, options.logId, number), options);
}
