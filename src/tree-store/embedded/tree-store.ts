import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { Slices } from '../../platform/slices.js';
import { isEmpty, openUncopied, setAside, unusable } from '../../platform/sqlite.js';
import { WalCheckpoints } from '../../platform/wal-checkpoints.js';
import {
  type AppliedCut,
  type OrgHead,
  type Progress,
  type PublishedNote,
  type Tree,
  TreeDiverged,
  type TreeStore,
} from '../tree-store.js';

/** "ctlt" */
const APPLICATION = 0x63746c74;
const VERSION = '1';

/** 4 MiB of pages: a start after a crash reads all of it. */
const WAL_PAGES = 1_024;

const SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE heads (number INTEGER PRIMARY KEY, org TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, root BLOB NOT NULL,
    cut INTEGER NOT NULL, complete INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
  CREATE TABLE cells (tree INTEGER NOT NULL, level INTEGER NOT NULL, n INTEGER NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (tree, level, n)) STRICT;
  CREATE TABLE pages (topic TEXT NOT NULL, partition INTEGER NOT NULL, page INTEGER NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (topic, partition, page)) STRICT;
  CREATE TABLE notes (tree INTEGER PRIMARY KEY, note TEXT NOT NULL, cut INTEGER NOT NULL) STRICT;`;

export interface EmbeddedTreeStoreOptions {
  readonly file: string;
  /** Identifier of the log. A file of another log is set aside. */
  readonly log: string;
  /** Called with the reason when a file was set aside. */
  readonly onReplaced: (reason: string) => void;
}

/**
 * The trees in one database of SQLite, `tlog.db`. A cut is one transaction. After a loss of power the last cuts may be gone:
 * the log has them.
 */
export class EmbeddedTreeStore implements TreeStore {
  private readonly checkpoints: WalCheckpoints;
  private readonly statements: Readonly<Record<keyof typeof SQL, StatementSync>>;
  /** Settled when nothing is being written. */
  private writing: Promise<void> = Promise.resolve();

  static open({ file, log, onReplaced }: EmbeddedTreeStoreOptions): EmbeddedTreeStore {
    for (;;) {
      const db = openUncopied(file, APPLICATION);
      try {
        const reason = whyUnusable(db, log);
        if (reason === undefined) return new EmbeddedTreeStore(db, file, log);
        db.close();
        setAside(file);
        onReplaced(reason);
      } catch (error) {
        if (db.isOpen) db.close();
        throw unusable(file, error);
      }
    }
  }

  private constructor(
    private readonly db: DatabaseSync,
    private readonly file: string,
    private readonly log: string,
  ) {
    this.checkpoints = new WalCheckpoints(file, WAL_PAGES);
    const prepared = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)]);
    this.statements = Object.fromEntries(prepared);
  }

  async progress(): Promise<Progress | undefined> {
    const text = this.statements.meta.get('progress')?.value;
    if (typeof text !== 'string') return undefined;
    const { hash, ...progress } = JSON.parse(text);
    return { ...progress, log: this.log, hash: Buffer.from(hash, 'base64') };
  }

  apply(cut: AppliedCut): Promise<void> {
    return this.write(() => this.applied(cut));
  }

  private async applied(cut: AppliedCut): Promise<void> {
    const last = await this.progress();
    const isAgain = last?.n === cut.n && last.hash.equals(cut.hash);
    if (!isAgain && cut.n !== (last?.n ?? 0) + 1) {
      throw new TreeDiverged(`${this.file}: cut ${cut.n} does not follow cut ${last?.n ?? 0}`);
    }
    const slices = new Slices();
    for (const { tree, n, bytes } of cut.bundles) {
      this.grow(`entries ${n} of ${treeName(tree)}`, 'cell', [keyOf(tree), 0, n], bytes);
      await slices.pause();
    }
    for (const { tree, level, n, bytes } of cut.tiles) {
      this.grow(`tile ${level}/${n} of ${treeName(tree)}`, 'cell', [keyOf(tree), level, n], bytes);
      await slices.pause();
    }
    for (const { topic, partition, page, bytes } of cut.places) {
      this.grow(`places ${page} of ${topic}/${partition}`, 'page', [topic, partition, page], bytes);
      await slices.pause();
    }
    for (const head of cut.heads) {
      this.putHead(head);
      await slices.pause();
    }
    const { n, hash, next, offset, memo } = cut;
    const progress = { n, hash: hash.toString('base64'), next, offset, memo };
    this.statements.putMeta.run('progress', JSON.stringify(progress));
  }

  private grow(name: string, kind: 'cell' | 'page', key: (string | number)[], bytes: Uint8Array): void {
    const stored = this.statements[kind].get(...key)?.bytes;
    if (stored instanceof Uint8Array) {
      const isPrefix =
        stored.byteLength <= bytes.byteLength && Buffer.compare(stored, bytes.subarray(0, stored.byteLength)) === 0;
      if (!isPrefix) throw new TreeDiverged(`${this.file}: ${name} are not as they were`);
      if (stored.byteLength === bytes.byteLength) return;
    }
    this.statements[kind === 'cell' ? 'putCell' : 'putPage'].run(...key, bytes);
  }

  private putHead({ number, org, size, root, cut, complete, at }: OrgHead): void {
    const stored = this.statements.headAt.get(number);
    if (stored && (stored.org !== org || Number(stored.size) > size)) {
      throw new TreeDiverged(`${this.file}: organization ${number} is another, or of size ${stored.size}`);
    }
    this.statements.putHead.run(number, org, size, root, cut, complete, at);
  }

  async *heads(): AsyncGenerator<OrgHead> {
    for (let number = 0; ; number += HEADS_AT_ONCE) {
      const rows = this.statements.headsFrom.all(number, HEADS_AT_ONCE);
      for (const row of rows) yield headOf(row);
      if (rows.length < HEADS_AT_ONCE) return;
    }
  }

  async head(org: string): Promise<OrgHead | undefined> {
    const row = this.statements.head.get(org);
    return row && headOf(row);
  }

  bundle(tree: Tree, n: number): Promise<Buffer | undefined> {
    return this.tile(tree, 0, n);
  }

  async tile(tree: Tree, level: number, n: number): Promise<Buffer | undefined> {
    return bytesOf(this.statements.cell.get(keyOf(tree), level, n));
  }

  async page(topic: string, partition: number, page: number): Promise<Buffer | undefined> {
    return bytesOf(this.statements.page.get(topic, partition, page));
  }

  publish(cut: number, notes: ReadonlyMap<Tree, string>): Promise<void> {
    return this.write(async () => {
      const slices = new Slices();
      for (const [tree, note] of notes) {
        this.statements.putNote.run(keyOf(tree), note, cut);
        await slices.pause();
      }
    });
  }

  async published(tree: Tree): Promise<PublishedNote | undefined> {
    const row = this.statements.note.get(keyOf(tree));
    return row && { note: String(row.note), cut: Number(row.cut) };
  }

  async close(): Promise<void> {
    await this.writing;
    await this.checkpoints.end();
    if (this.db.isOpen) this.db.close();
  }

  /** One transaction, which lets the event loop go on between two steps. Readers may see a part of it: cells that grew. */
  private write(work: () => Promise<void>): Promise<void> {
    const run = async () => {
      await this.checkpoints.barrier;
      this.db.exec('BEGIN IMMEDIATE');
      try {
        await work();
        this.db.exec('COMMIT');
      } catch (error) {
        if (this.db.isTransaction) this.db.exec('ROLLBACK');
        throw error;
      }
      this.checkpoints.committed();
    };
    const written = this.writing.then(run);
    this.writing = written.catch(() => undefined);
    return written;
  }
}

const HEADS_AT_ONCE = 500;

const SQL = {
  meta: 'SELECT value FROM meta WHERE name = ?',
  putMeta: 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  cell: 'SELECT bytes FROM cells WHERE tree = ? AND level = ? AND n = ?',
  putCell:
    'INSERT INTO cells (tree, level, n, bytes) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes',
  page: 'SELECT bytes FROM pages WHERE topic = ? AND partition = ? AND page = ?',
  putPage:
    'INSERT INTO pages (topic, partition, page, bytes) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes',
  head: 'SELECT * FROM heads WHERE org = ?',
  headAt: 'SELECT * FROM heads WHERE number = ?',
  headsFrom: 'SELECT * FROM heads WHERE number >= ? ORDER BY number LIMIT ?',
  putHead: 'INSERT OR REPLACE INTO heads (number, org, size, root, cut, complete, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  note: 'SELECT note, cut FROM notes WHERE tree = ?',
  putNote: 'INSERT OR REPLACE INTO notes (tree, note, cut) VALUES (?, ?, ?)',
} as const;

/** Undefined if the file has the trees of this log; a new file gets its tables. */
function whyUnusable(db: DatabaseSync, log: string): string | undefined {
  if (isEmpty(db)) {
    db.exec(`BEGIN IMMEDIATE; PRAGMA application_id = ${APPLICATION}; ${SCHEMA}`);
    const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
    insert.run('version', VERSION);
    insert.run('log', log);
    db.exec('COMMIT');
    return undefined;
  }
  const of = (name: string) => db.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.value;
  if (of('version') !== VERSION) return `it has version ${of('version')}, not ${VERSION}`;
  return of('log') === log ? undefined : 'it was made from another log';
}

/** The service log comes first. */
function keyOf(tree: Tree): number {
  return tree === 'service' ? -1 : tree;
}

function treeName(tree: Tree): string {
  return tree === 'service' ? 'the service log' : `organization ${tree}`;
}

function headOf({ number, org, size, root, cut, complete, at }: Record<string, SQLOutputValue>): OrgHead {
  return {
    number: Number(number),
    org: String(org),
    size: Number(size),
    root: Buffer.from(root as Uint8Array),
    cut: Number(cut),
    complete: Number(complete),
    at: Number(at),
  };
}

function bytesOf(row: Record<string, SQLOutputValue> | undefined): Buffer | undefined {
  if (!(row?.bytes instanceof Uint8Array)) return undefined;
  const { buffer, byteOffset, byteLength } = row.bytes;
  return Buffer.from(buffer, byteOffset, byteLength);
}
