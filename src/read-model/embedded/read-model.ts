import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type Offsets, type Topic } from '../../event-log/event-log.js';
import { Turns } from '../../platform/turns.js';
import type { Document, Outcome, StoredDocument, Write } from '../document.js';
import type { KindName } from '../kinds.js';
import {
  GenerationLost,
  GenerationSealed,
  type NextGeneration,
  type Progress,
  type ReadModel,
  type ScanRange,
  type StrayPage,
  type StrayRange,
} from '../read-model.js';
import { KEEP_ALL, type Retention } from '../retention.js';
import type { LastPage, LastQuery, Page, SearchQuery } from '../search.js';
import {
  createDatabase,
  nextFile,
  openDatabase,
  openUsable,
  removeDatabase,
  replaceDatabase,
  setAside,
} from './database.js';
import { EmbeddedGeneration } from './generation.js';

export interface EmbeddedReadModelOptions {
  readonly file: string;
  /** The log that the documents come from. A file made from another log is replaced. */
  readonly logId: string;
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
 * are not synced: what a crash loses is read from the log again.
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
    // The lock on the live file proves that no other process owns the leftover.
    removeDatabase(nextFile(file));
    return new EmbeddedReadModel(options, live);
  }

  private constructor(
    private readonly options: EmbeddedReadModelOptions,
    private current: EmbeddedGeneration | undefined,
  ) {}

  async get(kind: KindName, org: string, id: string): Promise<Document | undefined> {
    return this.live.get(kind, org, id);
  }

  async search(kind: KindName, query: SearchQuery): Promise<Page> {
    return this.ofLive((live) => live.search(kind, query));
  }

  async last(kind: KindName, query: LastQuery): Promise<LastPage> {
    return this.ofLive((live) => live.last(kind, query));
  }

  async count(kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
    return this.ofLive((live) => live.count(kind, org));
  }

  async apply(topic: Topic, writes: readonly Write[], progress: Offsets, from?: Offsets): Promise<Outcome[]> {
    if (this.isSealed) throw new GenerationSealed('another generation is about to take the place of the live one');
    return this.live.apply(topic, writes, progress, from);
  }

  async progress(topic: Topic): Promise<Progress> {
    return this.live.progress(topic);
  }

  async refresh(): Promise<number> {
    return this.live.refresh();
  }

  async sweep(signal: AbortSignal): Promise<number> {
    return this.live.sweep(signal);
  }

  async scan(kind: KindName, range: ScanRange): Promise<readonly StoredDocument[]> {
    return this.live.scan(kind, range);
  }

  async strays(kind: KindName, ends: Readonly<Partial<Record<Topic, Offsets>>>, range: StrayRange): Promise<StrayPage> {
    return this.ofLive((live) => live.strays(kind, ends, range));
  }

  async overwrite(write: Write): Promise<void> {
    return this.live.overwrite(write);
  }

  async remove(kind: KindName, document: StoredDocument): Promise<void> {
    return this.live.remove(kind, document);
  }

  async begin(): Promise<NextGeneration> {
    const { number } = this.live;
    this.dropNext();
    const next = created(nextFile(this.options.file), number + 1, this.options);
    this.next = next;
    return Object.assign(next, {
      seal: async (leaseMs: number) => this.seal(next, leaseMs),
      promote: async () => this.promote(next),
      discard: async () => {
        if (this.next === next) this.dropNext();
      },
    });
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.dropNext();
    this.current?.close();
  }

  private seal(next: EmbeddedGeneration, leaseMs: number): Readonly<Partial<Record<Topic, Offsets>>> {
    if (this.next !== next) throw new GenerationLost('the generation no longer exists');
    const reached = this.live.reached();
    this.sealedUntil = performance.now() + leaseMs;
    return reached;
  }

  private promote(next: EmbeddedGeneration): void {
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

  /** Repeats the read if a promotion came between. */
  private async ofLive<Answer>(ask: (live: EmbeddedGeneration) => Promise<Answer>): Promise<Answer> {
    const { live } = this;
    try {
      return await ask(live);
    } catch (error) {
      if (error instanceof GenerationLost && !this.isClosed && this.live !== live) return this.ofLive(ask);
      throw error;
    }
  }

  private dropNext(): void {
    this.next?.close();
    this.next = undefined;
    this.sealedUntil = 0;
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
  { retention = KEEP_ALL, turns = new Turns() }: EmbeddedReadModelOptions,
): EmbeddedGeneration {
  try {
    db.exec(`PRAGMA mmap_size = ${MAPPED_BYTES}`);
    return new EmbeddedGeneration(db, retention, turns);
  } catch (error) {
    db.close();
    throw error;
  }
}

function created(file: string, number: number, options: EmbeddedReadModelOptions): EmbeddedGeneration {
  return generationIn(createDatabase(file, options.logId, number), options);
}
