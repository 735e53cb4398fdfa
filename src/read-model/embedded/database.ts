import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Offsets, Topic } from '../../event-log/event-log.js';
import { COMPANIONS, isEmpty, openUncopied, sqliteFault, syncFolder } from '../../platform/sqlite.js';
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
  return openUncopied(file, APPLICATION);
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

/** The file in which the next generation is filled. */
export function nextFile(file: string): string {
  return `${file}.next`;
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

const EMPTY = 'it is empty';
const DAMAGED = 'it is damaged';

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
    if (head && reason !== DAMAGED && reason !== EMPTY) await refuseLost(db, { file, logId, head });
    if (reason === undefined) return use(db);
    db.close();
    return reason;
  } catch (error) {
    if (db?.isOpen) db.close();
    const fault = sqliteFault((error as Error).cause ?? error);
    if (fault === 'corrupt' || fault === 'notADatabase' || fault === 'other') return DAMAGED;
    throw error;
  }
}

function unfit(db: DatabaseSync, logId: string): string | undefined {
  if (isEmpty(db)) return EMPTY;
  if (!isSound(db)) return DAMAGED;
  const meta = metaOf(db);
  if (meta.version !== FORMAT_VERSION) return 'another version of the program made it';
  if (!Number.isSafeInteger(meta.generation)) return DAMAGED;
  return meta.logId === logId ? undefined : 'it was made from another log';
}

/** A larger file is not read through at the start: what is damaged in it shows when it is read. */
const CHECKED_BYTES = 256 * 1024 * 1024;

function isSound(db: DatabaseSync): boolean {
  const bytes =
    Number(db.prepare('PRAGMA page_count').get()?.page_count) * Number(db.prepare('PRAGMA page_size').get()?.page_size);
  return bytes > CHECKED_BYTES || db.prepare('PRAGMA quick_check(1)').get()?.quick_check === 'ok';
}

/**
 * The log is always written first. If the read model has seen records that the log does not have, the log lost records that
 * it had acknowledged, and perhaps nothing else shows it: to continue would lose them silently. A read model of another log
 * can only tell that this one has no record at all: it was made anew in the place of one that is gone.
 */
async function refuseLost(
  db: DatabaseSync,
  { file, logId, head }: { file: string; logId: string; head: (topic: Topic) => Promise<Offsets> },
): Promise<void> {
  const seen = Object.entries(progressIn(db)).flatMap(([topic, reached]) =>
    Object.entries(reached).map(([partition, next]) => ({ topic: topic as Topic, partition: Number(partition), next })),
  );
  const ends = await Promise.all(seen.map(async ({ topic, partition }) => (await head(topic))[partition] ?? 0));
  const at = seen.findIndex(({ next }, index) => next > (ends[index] ?? 0));
  const found = seen[at];
  if (!found) return;
  const remedy = 'restore a backup of the log, or move that file away to go on without them';
  if (metaOf(db).logId === logId) {
    const place = `${found.topic}/${found.partition} ends at ${ends[at]}`;
    const reason = `${place}, and ${file} has seen it up to ${found.next}`;
    throw new StoreUnusable(`the log lost acknowledged records: ${reason}; ${remedy}`);
  }
  if (ends.some((end) => end > 0)) return;
  throw new StoreUnusable(`the log is empty, and ${file} was made from another one that had records; ${remedy}`);
}
