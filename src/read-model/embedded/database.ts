import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Offsets, Topic } from '../../event-log/event-log.js';
import { isEmpty, openExclusive, sqliteFault, syncFolder } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { partitionName } from '../document.js';
import { KIND_NAMES, KINDS_VERSION, type KindName, kindOf } from '../kinds.js';
import { classColumn, NUMBERS } from './condition.js';
import { column, formOf } from './row.js';
import { checksum } from './texts.js';

/** Changes when the tables here or the kinds change; a file of another version is replaced. */
const FORMAT_VERSION = `6.${KINDS_VERSION}`;

/** "ctrm" */
const APPLICATION = 0x6374726d;

interface Meta {
  readonly version: string;
  readonly logId: string;
  readonly generation: number;
}

export function openDatabase(file: string): DatabaseSync {
  return openExclusive(file, APPLICATION, 'NORMAL');
}

export function createDatabase(file: string, logId: string, generation: number): DatabaseSync {
  const db = openDatabase(file);
  try {
    createSchema(db, logId, generation);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function createSchema(db: DatabaseSync, logId: string, generation: number): void {
  db.exec('BEGIN IMMEDIATE');
  db.exec(`PRAGMA application_id = ${APPLICATION}`);
  db.exec('CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT');
  const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  for (const [name, value] of Object.entries({ logId, version: FORMAT_VERSION, generation: `${generation}` })) {
    insert.run(name, value);
  }
  db.exec(`CREATE TABLE progress (topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID, STRICT`);
  db.exec(`CREATE TABLE tally (kind TEXT NOT NULL, org TEXT NOT NULL, value TEXT NOT NULL, count INTEGER NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (kind, org, value)) WITHOUT ROWID, STRICT`);
  db.exec('CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, crc INTEGER NOT NULL) STRICT');
  const text = db.prepare('INSERT INTO texts (id, text, crc) VALUES (?, ?, ?)');
  for (const [value, number] of NUMBERS) text.run(number, value, checksum(number, value));
  for (const kind of KIND_NAMES) createKind(db, kind);
  db.exec('COMMIT');
}

function createKind(db: DatabaseSync, name: KindName): void {
  const kind = kindOf(name);
  const types = { plain: 'TEXT', text: 'INTEGER', identifier: 'ANY' } as const;
  const fields = Object.entries(kind.fields).map(
    ([field, type]) => `${column(field)} ${type === 'time' ? 'INTEGER' : types[formOf(name, field)]},`,
  );
  db.exec(`CREATE TABLE "${name}" (org INTEGER NOT NULL, id ANY NOT NULL, shard INTEGER NOT NULL, "offset" INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, time INTEGER NOT NULL, hash TEXT, deleted INTEGER NOT NULL DEFAULT 0, ${fields.join(' ')}
    source TEXT, crc INTEGER NOT NULL, UNIQUE (org, id)) STRICT`);
  const index = (suffix: string, columns: readonly string[], where = '') =>
    db.exec(`CREATE INDEX "${name}_${suffix}" ON "${name}" (${columns.join(', ')}) ${where}`);
  index('sort', ['org', column(kind.sort), 'id']);
  for (const field of kind.lists) {
    index(field, ['org', column(field), column(kind.sort), 'id'], `WHERE ${column(field)} IS NOT NULL`);
  }
  index('received', ['org', 'shard', '"offset"', 'ordinal']);
  if (kind.expiresBy) index('expiry', ['org', classColumn(name), 'time']);
}

export function metaOf(db: DatabaseSync): Meta {
  const rows = db.prepare('SELECT name, value FROM meta').all();
  const meta = new Map(rows.map(({ name, value }) => [String(name), String(value)]));
  const generation = Number(meta.get('generation'));
  return { version: meta.get('version') ?? '', logId: meta.get('logId') ?? '', generation };
}

export function progressIn(db: DatabaseSync): Readonly<Partial<Record<Topic, Offsets>>> {
  const topics: Partial<Record<Topic, Record<number, number>>> = {};
  for (const row of db.prepare('SELECT topic, partition, next FROM progress ORDER BY topic, partition').all()) {
    const topic = String(row.topic) as Topic;
    topics[topic] = { ...topics[topic], [Number(row.partition)]: Number(row.next) };
  }
  return topics;
}

/** Every partition that has documents, as rows name it. */
export function shardsOf(db: DatabaseSync): string[] {
  return Object.entries(progressIn(db)).flatMap(([topic, offsets]) =>
    Object.keys(offsets).map((partition) => partitionName({ topic: topic as Topic, partition: Number(partition) })),
  );
}

/** What SQLite keeps beside a database, and applies to whatever database it finds there. */
const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

/** The file in which the next generation is filled. */
export function nextFile(file: string): string {
  return `${file}.next`;
}

export function removeDatabase(file: string): void {
  for (const suffix of ['', ...COMPANIONS]) rmSync(file + suffix, { force: true });
}

/** Keeps the last file that was replaced: if a log was lost, it is the only evidence left. */
export function setAside(file: string): void {
  for (const suffix of ['', ...COMPANIONS]) {
    rmSync(`${file}.replaced${suffix}`, { force: true });
    if (existsSync(file + suffix)) renameSync(file + suffix, `${file}.replaced${suffix}`);
  }
}

/**
 * Replaces one closed database, whose companions have been checkpointed into the file, by another. After a crash at any
 * step one of them is there, whole: the old one's companions are deleted and synced before the new one takes its name, and
 * the new one has none.
 */
export function replaceDatabase(file: string, next: string): void {
  for (const suffix of COMPANIONS) {
    rmSync(next + suffix, { force: true });
    rmSync(file + suffix, { force: true });
  }
  syncFolder(dirname(file));
  renameSync(next, file);
  syncFolder(dirname(file));
}

const OTHER_LOG = 'it was made from another log';

/**
 * What `use` makes of the database, or why the file must be replaced. Throws for what the operator must fix, such as a lock
 * or a full disk, and `StoreUnusable` if the log was lost, or ends before the records that the read model has seen.
 */
export async function openUsable<Used>(
  { file, logId, head }: { file: string; logId: string; head?: (topic: Topic) => Promise<Offsets> },
  use: (db: DatabaseSync) => Used,
): Promise<Used | string> {
  if (!existsSync(file)) return 'it does not exist';
  let db: DatabaseSync | undefined;
  try {
    db = openDatabase(file);
    const reason = unfit(db, logId);
    if (reason === undefined && head) await refuseLostRecords(db, file, head);
    if (reason === OTHER_LOG && head) await refuseLostLog(db, file, head);
    if (reason === undefined) return use(db);
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
  if (!isSound(db)) return 'it is damaged';
  const meta = metaOf(db);
  if (meta.version !== FORMAT_VERSION) return 'another version of the program made it';
  if (!Number.isSafeInteger(meta.generation)) return 'it is damaged';
  return meta.logId === logId ? undefined : OTHER_LOG;
}

/** A larger file is not read through at the start: what is damaged in it shows when it is read. */
const CHECKED_BYTES = 256 * 1024 * 1024;

function isSound(db: DatabaseSync): boolean {
  const bytes =
    Number(db.prepare('PRAGMA page_count').get()?.page_count) * Number(db.prepare('PRAGMA page_size').get()?.page_size);
  return bytes > CHECKED_BYTES || db.prepare('PRAGMA quick_check(1)').get()?.quick_check === 'ok';
}

/**
 * The log is always written first. If the read model has seen records that the log does not have, the log lost records
 * that it had acknowledged, and perhaps nothing else shows it: to continue would lose them silently.
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

/** A log without a record, beside a read model of another that had some, was made anew in the place of one that is gone. */
async function refuseLostLog(db: DatabaseSync, file: string, head: (topic: Topic) => Promise<Offsets>): Promise<void> {
  const isSome = (offsets: Offsets) => Object.values(offsets).some((next) => next > 0);
  const progress = Object.entries(progressIn(db));
  const ends = await Promise.all(progress.map(([topic]) => head(topic as Topic)));
  if (!progress.some(([, reached]) => isSome(reached)) || ends.some(isSome)) return;
  throw new StoreUnusable(
    `the log is empty, and ${file} was made from another one that had records; restore a backup of the log, or move that file away to begin anew`,
  );
}
