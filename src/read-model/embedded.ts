import { existsSync, renameSync, rmSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Offsets, Topic } from '../event-log/event-log.js';
import { isEmpty, openExclusive, sqliteFault } from '../sqlite.js';
import { APPLICATION, countRows, createSchema, FORMAT_VERSION, type KindTable, kindTable } from './embedded-schema.js';
import { lastRows, searchRows } from './embedded-search.js';
import { KINDS, type KindName } from './kinds.js';
import type {
  Document,
  LastPage,
  LastQuery,
  Outcome,
  Page,
  Progress,
  ReadModel,
  SearchQuery,
  Write,
} from './read-model.js';

export interface EmbeddedReadModelOptions {
  readonly file: string;
  /** The log that the documents come from. A file made from another log is replaced. */
  readonly logId: string;
  /** Where the log ends. A file that is ahead of it was made from a history that is gone: replaced, too. */
  readonly head?: (topic: Topic) => Promise<Offsets>;
  /** Told why a file is replaced. */
  readonly onReplaced?: (reason: string) => void;
}

const FIRST_GENERATION = 1;

/**
 * The read model in one SQLite file. Writes and progress share a transaction; it is not synced at each commit, since
 * what a crash takes from it is read from the log again.
 */
export class EmbeddedReadModel implements ReadModel {
  private readonly tables: Readonly<Record<KindName, KindTable>>;
  private readonly advance: StatementSync;

  static async open(options: EmbeddedReadModelOptions): Promise<EmbeddedReadModel> {
    const { file, logId, onReplaced } = options;
    const found = existsSync(file) ? await usable(options) : 'it is not there';
    if (typeof found !== 'string') return found;
    if (existsSync(file)) {
      onReplaced?.(found);
      setAside(file);
    }
    const db = openExclusive(file, APPLICATION, 'NORMAL');
    createSchema(db, logId);
    return new EmbeddedReadModel(db);
  }

  constructor(private readonly db: DatabaseSync) {
    this.advance = db.prepare(
      `INSERT INTO progress (topic, partition, next) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET next = max(next, excluded.next)`,
    );
    this.tables = Object.fromEntries(
      Object.keys(KINDS).map((kind) => [kind, kindTable(db, kind as KindName)]),
    ) as Record<KindName, KindTable>;
  }

  async apply(topic: Topic, writes: readonly Write[], progress: Offsets): Promise<Outcome[]> {
    return this.transaction(() => {
      const outcomes = writes.map((write) => ({ code: this.tables[write.kind].apply(write), id: write.id }));
      for (const table of Object.values(this.tables)) table.flushCounts();
      // A partition that has documents is known by its progress, also before it has made any.
      for (const [from, partition] of partitionsOf(writes)) this.advance.run(from, partition, 0);
      for (const [partition, next] of Object.entries(progress)) this.advance.run(topic, Number(partition), next);
      return outcomes;
    });
  }

  async get(kind: KindName, org: string, id: string): Promise<Document | undefined> {
    return this.tables[kind].get(org, id);
  }

  async search(kind: KindName, query: SearchQuery): Promise<Page> {
    return searchRows(this.db, kind, query);
  }

  async last(kind: KindName, query: LastQuery): Promise<LastPage> {
    return lastRows(this.db, kind, query);
  }

  async count(kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
    return countRows(this.db, kind, org);
  }

  async progress(topic: Topic): Promise<Progress> {
    const generation = this.db.prepare('SELECT generation FROM generation WHERE topic = ?').get(topic);
    const rows = this.db.prepare('SELECT partition, next FROM progress WHERE topic = ?').all(topic);
    return {
      generation: Number(generation?.generation ?? FIRST_GENERATION),
      next: Object.fromEntries(rows.map((row) => [Number(row.partition), Number(row.next)])),
    };
  }

  async reset(topic: Topic): Promise<void> {
    this.transaction(() => {
      for (const table of Object.values(this.tables)) table.removeTopic(topic);
      this.db.prepare('DELETE FROM progress WHERE topic = ?').run(topic);
      const grow = 'INSERT INTO generation VALUES (?, ?) ON CONFLICT DO UPDATE SET generation = generation + 1';
      this.db.prepare(grow).run(topic, FIRST_GENERATION + 1);
    });
  }

  /** What is committed is found at once. */
  async refresh(): Promise<void> {}

  async close(): Promise<void> {
    if (this.db.isOpen) this.db.close();
  }

  /** Whether it shows what the log does not have. */
  async isAheadOf(head: (topic: Topic) => Promise<Offsets>): Promise<boolean> {
    for (const row of this.db.prepare('SELECT topic, partition, next FROM progress').all()) {
      const end = (await head(row.topic as Topic))[Number(row.partition)] ?? 0;
      if (Number(row.next) > end) return true;
    }
    return false;
  }

  private transaction<Result>(work: () => Result): Result {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.db.exec('COMMIT');
      return result;
    } catch (error) {
      for (const table of Object.values(this.tables)) table.forgetCounts();
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
      throw error;
    }
  }
}

function partitionsOf(writes: readonly Write[]): readonly [Topic, number][] {
  const partitions = new Map(writes.map(({ place }) => [`${place.topic}/${place.partition}`, place]));
  return [...partitions.values()].map(({ topic, partition }) => [topic, partition]);
}

/** The file as a read model, or why it has to be replaced. A lock or a full disk is for the operator to mend: thrown. */
async function usable({ file, logId, head }: EmbeddedReadModelOptions): Promise<EmbeddedReadModel | string> {
  let db: DatabaseSync | undefined;
  try {
    db = openExclusive(file, APPLICATION, 'NORMAL');
    const reason = unfit(db, logId);
    const model = reason === undefined ? new EmbeddedReadModel(db) : undefined;
    if (model && !(head && (await model.isAheadOf(head)))) return model;
    db.close();
    return reason ?? 'it is ahead of the log';
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
  const rows = db.prepare('SELECT name, value FROM meta').all();
  const meta = Object.fromEntries(rows.map(({ name, value }) => [String(name), value]));
  if (meta.version !== FORMAT_VERSION) return 'another version of the program made it';
  return meta.logId === logId ? undefined : 'it was made from another log';
}

/** Keeps the last file that was replaced: where a log was lost, it is the only evidence left. */
function setAside(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) {
    rmSync(`${file}.replaced${suffix}`, { force: true });
    if (existsSync(file + suffix)) renameSync(file + suffix, `${file}.replaced${suffix}`);
  }
}
