import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type Offsets, type Topic } from '../../event-log/event-log.js';
import { isEmpty, openExclusive, sqliteFault } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { Turns } from '../../platform/turns.js';
import type { Document, Outcome, StoredDocument, Write } from '../document.js';
import type { KindName } from '../kinds.js';
import {
  GenerationLost,
  GenerationSealed,
  KEEP_ALL,
  type NextGeneration,
  type Progress,
  type ReadModel,
  type Retention,
  type ScanRange,
  type StrayPage,
  type StrayRange,
} from '../read-model.js';
import type { LastPage, LastQuery, Page, SearchQuery } from '../search.js';
import { nextFile, removeDatabase, setAside, takePlace } from './files.js';
import { EmbeddedGeneration } from './generation.js';
import { APPLICATION, createSchema, FORMAT_VERSION, metaOf, progressIn } from './schema.js';

export interface EmbeddedReadModelOptions {
  readonly file: string;
  /** The log that the documents come from. A file made from another log is replaced. */
  readonly logId: string;
  /** What has expired; without it nothing does. */
  readonly retention?: Retention;
  /** Where the log ends. A file that has seen more than that stops the start: the log lost records. */
  readonly head?: (topic: Topic) => Promise<Offsets>;
  /** Whose turn it is to search; without it this read model has the event loop to itself. */
  readonly turns?: Turns;
  /** Told why a file is replaced. */
  readonly onReplaced?: (reason: string) => void;
}

const FIRST_GENERATION = 1;

/**
 * The read model in one SQLite file, and the generation that is to take its place in another. Writes and progress share a
 * transaction; it is not synced at each commit, since what a crash takes from it is read from the log again.
 */
export class EmbeddedReadModel implements ReadModel {
  readonly refreshMs = { waited: 0, idle: 0 };
  private next: EmbeddedGeneration | undefined;
  /** By the process's own clock; while it is in the future, nothing is written to the live generation. */
  private sealedUntil = 0;
  private isClosed = false;

  static async open(options: EmbeddedReadModelOptions): Promise<EmbeddedReadModel> {
    const { file, onReplaced } = options;
    const found = existsSync(file) ? await usable(options) : 'it is not there';
    if (typeof found === 'string' && existsSync(file)) {
      onReplaced?.(found);
      setAside(file);
    }
    const live = typeof found === 'string' ? created(file, FIRST_GENERATION, options) : found;
    // Only now that the file is this process's own is a leftover nobody else's.
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
    if (this.next !== next) throw new GenerationLost('the generation is not there any more');
    const reached = this.live.reached();
    this.sealedUntil = performance.now() + leaseMs;
    return reached;
  }

  private promote(next: EmbeddedGeneration): void {
    if (this.next !== next) throw new GenerationLost('the generation is not there any more');
    if (!this.isSealed) throw new Error('the live generation is not sealed, or not any more');
    const { file } = this.options;
    const { live } = this;
    next.settle();
    live.settle();
    this.next = undefined;
    this.current = undefined;
    this.sealedUntil = 0;
    next.close();
    live.close();
    takePlace(nextFile(file), file);
    this.current = this.reopened();
  }

  private get isSealed(): boolean {
    return this.sealedUntil > 0 && performance.now() < this.sealedUntil;
  }

  private get live(): EmbeddedGeneration {
    if (this.isClosed) throw new Error('the read model is closed');
    // Where a promotion failed half-way, the file is whole nevertheless: the old one or the new.
    this.current ??= this.reopened();
    return this.current;
  }

  private reopened(): EmbeddedGeneration {
    return generationIn(openExclusive(this.options.file, APPLICATION, 'NORMAL'), this.options);
  }

  /** Asks anew where a promotion came between. */
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
 * So much of the file is read where the system has it, without a copy: SQLite maps 2 GiB at most. Not the log's, for a
 * page that the disk cannot read ends the process then. What is here can be made anew.
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
  const db = openExclusive(file, APPLICATION, 'NORMAL');
  try {
    createSchema(db, options.logId, number);
    return generationIn(db, options);
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

/** The generation in the file, or why it has to be replaced. A lock or a full disk is for the operator to mend: thrown. */
async function usable(options: EmbeddedReadModelOptions): Promise<EmbeddedGeneration | string> {
  const { file, logId, head } = options;
  let db: DatabaseSync | undefined;
  try {
    db = openExclusive(file, APPLICATION, 'NORMAL');
    const reason = unfit(db, logId);
    if (reason === undefined && head) await refuseLostRecords(db, file, head);
    if (reason === undefined) return generationIn(db, options);
    db.close();
    return reason;
  } catch (error) {
    if (db?.isOpen) db.close();
    const fault = sqliteFault((error as Error).cause ?? error);
    if (fault === 'corrupt' || fault === 'notADatabase' || fault === 'other') return 'it is damaged';
    throw error;
  }
}

function unfit(db: DatabaseSync, logId: string): string | undefined {
  if (isEmpty(db)) return 'it is empty';
  if (db.prepare('PRAGMA quick_check(1)').get()?.quick_check !== 'ok') return 'it is damaged';
  const meta = metaOf(db);
  if (meta.version !== FORMAT_VERSION) return 'another version of the program made it';
  if (!Number.isSafeInteger(meta.generation)) return 'it is damaged';
  return meta.logId === logId ? undefined : 'it was made from another log';
}

/**
 * The log is always written first. Where the read model has seen records that the log does not have, the log lost what it
 * had acknowledged, and nothing else may tell: to go on would be to lose it silently. Throws `StoreUnusable`.
 */
async function refuseLostRecords(
  db: DatabaseSync,
  file: string,
  head: (topic: Topic) => Promise<Offsets>,
): Promise<void> {
  for (const [topic, reached] of Object.entries(progressIn(db))) {
    const ends = await head(topic as Topic);
    for (const [partition, next] of Object.entries(reached)) {
      const end = ends[Number(partition)] ?? 0;
      if (next <= end) continue;
      throw new StoreUnusable(
        `the log lost acknowledged records: ${topic}/${partition} ends at ${end}, and ${file} has seen it up to ${next}; restore a backup of the log, or move that file away to go on without them`,
      );
    }
  }
}
