import type { DatabaseSync } from 'node:sqlite';
import type { Offsets, Topic } from '../../event-log/event-log.js';
import { KIND_NAMES, KINDS_VERSION, type KindName } from '../kinds.js';
import { column, kindOf } from './row.js';

/** Changes when the tables here change or the kinds do; a file of another version is made anew. */
export const FORMAT_VERSION = `4.${KINDS_VERSION}`;

/** "ctrm" */
export const APPLICATION = 0x6374726d;

export interface Meta {
  readonly version: string;
  readonly logId: string;
  readonly generation: number;
}

export function createSchema(db: DatabaseSync, logId: string, generation: number): void {
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
  db.exec(`CREATE TABLE swept (kind TEXT NOT NULL, org TEXT NOT NULL, shard TEXT NOT NULL, value TEXT NOT NULL,
    "offset" INTEGER NOT NULL, ordinal INTEGER NOT NULL, PRIMARY KEY (kind, org, shard, value)) WITHOUT ROWID, STRICT`);
  for (const kind of KIND_NAMES) createKind(db, kind);
  db.exec('COMMIT');
}

function createKind(db: DatabaseSync, name: KindName): void {
  const kind = kindOf(name);
  const fields = Object.entries(kind.fields).map(
    ([field, type]) => `${column(field)} ${type === 'time' ? 'INTEGER' : 'TEXT'},`,
  );
  db.exec(`CREATE TABLE "${name}" (org TEXT NOT NULL, id TEXT NOT NULL, shard TEXT NOT NULL, "offset" INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, time INTEGER NOT NULL, hash TEXT, deleted INTEGER NOT NULL DEFAULT 0, ${fields.join(' ')}
    source TEXT NOT NULL, crc INTEGER NOT NULL, UNIQUE (org, id)) STRICT`);
  const index = (suffix: string, columns: readonly string[]) =>
    db.exec(`CREATE INDEX "${name}_${suffix}" ON "${name}" (${columns.join(', ')})`);
  index('sort', ['org', column(kind.sort), 'id']);
  for (const field of kind.lists) index(field, ['org', column(field), column(kind.sort), 'id']);
  index('received', ['org', 'shard', '"offset"', 'ordinal']);
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
    const offsets = topics[topic] ?? {};
    offsets[Number(row.partition)] = Number(row.next);
    topics[topic] = offsets;
  }
  return topics;
}

/** Every partition that has documents, as rows name it. */
export function shardsOf(db: DatabaseSync): string[] {
  return Object.entries(progressIn(db)).flatMap(([topic, offsets]) =>
    Object.keys(offsets).map((partition) => `${topic}/${partition}`),
  );
}
