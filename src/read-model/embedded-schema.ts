import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Topic } from '../event-log/event-log.js';
import { KINDS, KINDS_VERSION, type Kind, type KindName } from './kinds.js';
import type { Document, DocumentContent, FieldValue, OutcomeCode, Write } from './read-model.js';

/** Changes when the tables here change or the kinds do; a file of another version is made anew. */
export const FORMAT_VERSION = `3.${KINDS_VERSION}`;

/** "ctrm" */
export const APPLICATION = 0x6374726d;

/** Every column of a document besides its fields and the checksum over all of them. */
const COLUMNS = ['org', 'id', 'shard', 'offset', 'ordinal', 'time', 'hash', 'deleted', 'source'] as const;

export function kindOf(name: KindName): Kind {
  return KINDS[name];
}

function shardOf(place: { readonly topic: Topic; readonly partition: number }): string {
  return `${place.topic}/${place.partition}`;
}

/**
 * All names in the SQL of this file come from `KINDS`, never from a caller. Columns of fields are prefixed, so that a
 * field may have any name.
 */
export function column(field: string): string {
  return `"f_${field}"`;
}

export function createSchema(db: DatabaseSync, logId: string): void {
  db.exec('BEGIN IMMEDIATE');
  db.exec(`PRAGMA application_id = ${APPLICATION}`);
  db.exec('CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT');
  const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  insert.run('logId', logId);
  insert.run('version', FORMAT_VERSION);
  db.exec(`CREATE TABLE progress (topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID, STRICT`);
  db.exec('CREATE TABLE generation (topic TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID, STRICT');
  db.exec(`CREATE TABLE tally (kind TEXT NOT NULL, org TEXT NOT NULL, value TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (kind, org, value)) WITHOUT ROWID, STRICT`);
  for (const kind of Object.keys(KINDS) as KindName[]) createKind(db, kind);
  db.exec('COMMIT');
}

function createKind(db: DatabaseSync, name: KindName): void {
  const kind = kindOf(name);
  const fields = Object.entries(kind.fields).map(
    ([field, type]) => `${column(field)} ${type === 'time' ? 'INTEGER' : 'TEXT'},`,
  );
  db.exec(`CREATE TABLE ${name} (org TEXT NOT NULL, id TEXT NOT NULL, shard TEXT NOT NULL, "offset" INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, time INTEGER NOT NULL, hash TEXT, deleted INTEGER NOT NULL DEFAULT 0, ${fields.join(' ')}
    source TEXT NOT NULL, crc INTEGER NOT NULL, UNIQUE (org, id)) STRICT`);
  const index = (suffix: string, columns: readonly string[]) =>
    db.exec(`CREATE INDEX ${name}_${suffix} ON ${name} (${columns.join(', ')})`);
  index('sort', ['org', column(kind.sort), 'id']);
  for (const field of kind.lists) index(field, ['org', column(field), column(kind.sort), 'id']);
  if (kind.received) index('received', ['org', 'shard', '"offset"', 'ordinal']);
}

export function countRows(db: DatabaseSync, kind: KindName, org: string): ReadonlyMap<string, number> {
  const rows = db.prepare('SELECT value, count FROM tally WHERE kind = ? AND org = ? AND count > 0 ORDER BY value');
  return new Map(rows.all(kind, org).map((row) => [String(row.value), Number(row.count)]));
}

/**
 * Throws for a row that is not as it was written, or that is not the organization's: a damaged index may lead to any row,
 * and it is better not served than altered, or served to another.
 */
export function documentOf(kind: KindName, org: string, row: Record<string, unknown>): Document {
  checkRow(kind, org, row);
  const shard = String(row.shard);
  const slash = shard.lastIndexOf('/');
  const fields: Record<string, FieldValue> = {};
  for (const field of Object.keys(kindOf(kind).fields)) {
    const value = row[`f_${field}`];
    if (value !== null && value !== undefined) fields[field] = value as FieldValue;
  }
  return {
    id: String(row.id),
    place: {
      topic: shard.slice(0, slash) as Topic,
      partition: Number(shard.slice(slash + 1)),
      offset: Number(row.offset),
      ordinal: Number(row.ordinal),
      time: Number(row.time),
    },
    fields,
    source: String(row.source),
  };
}

function checkRow(kind: KindName, org: string, row: Record<string, unknown>): void {
  const columns = [...COLUMNS, ...Object.keys(kindOf(kind).fields).map((field) => `f_${field}`)];
  if (row.org === org && row.crc === checksum(columns.map((name) => row[name]))) return;
  throw new Error(`the read model is damaged at a document of ${kind}: stop, delete its file, and start again`);
}

const SOURCE = COLUMNS.indexOf('source');

/** Over all columns of a row, in their order; the longest as it is, not quoted once more. */
function checksum(values: readonly unknown[]): number {
  return crc32(String(values[SOURCE]), crc32(JSON.stringify(values.toSpliced(SOURCE, 1))));
}

export interface KindTable {
  apply(write: Write): OutcomeCode;
  get(org: string, id: string): Document | undefined;
  removeTopic(topic: Topic): void;
  /** Counts change once a transaction, not once a document. */
  flushCounts(): void;
  forgetCounts(): void;
}

export function kindTable(db: DatabaseSync, name: KindName): KindTable {
  const kind = kindOf(name);
  const fields = Object.keys(kind.fields);
  const columns = [...COLUMNS.map((name) => `"${name}"`), ...fields.map(column), 'crc'];
  const insert = `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  const create = db.prepare(`${insert} ON CONFLICT DO NOTHING`);
  const newer = `(excluded."offset", excluded.ordinal) > (${name}."offset", ${name}.ordinal)`;
  const put = db.prepare(
    `${insert} ON CONFLICT DO UPDATE SET ${columns.map((one) => `${one} = excluded.${one}`).join(', ')} WHERE ${newer}`,
  );
  const select = db.prepare(`SELECT * FROM ${name} WHERE org = ? AND id = ?`);
  const counts = countsOf(db, name, kind);

  const values = (write: Write): SQLInputValue[] => {
    const content: DocumentContent = write.op === 'delete' ? { fields: {}, source: '' } : write;
    const { place } = write;
    const hash = write.op === 'create' ? (write.hash ?? null) : null;
    const deleted = write.op === 'delete' ? 1 : 0;
    const known = fields.map((field) => content.fields[field] ?? null);
    for (const field of Object.keys(content.fields)) {
      if (!Object.hasOwn(kind.fields, field)) throw new Error(`${name} has no field ${field}`);
    }
    const values = [
      write.org,
      write.id,
      shardOf(place),
      place.offset,
      place.ordinal,
      place.time,
      hash,
      deleted,
      content.source,
      ...known,
    ];
    return [...values, checksum(values)];
  };

  const applyCreate = (write: Write & { op: 'create' }): OutcomeCode => {
    if (create.run(...values(write)).changes > 0) {
      counts.add(write.org, write.fields[kind.countBy ?? '']);
      return 'applied';
    }
    const row = select.get(write.org, write.id);
    if (samePlace(row, write)) return 'applied';
    return (row?.hash ?? undefined) === write.hash ? 'duplicate' : 'conflict';
  };

  return {
    apply(write) {
      if (write.op === 'create') return applyCreate(write);
      if (put.run(...values(write)).changes > 0) return 'applied';
      return samePlace(select.get(write.org, write.id), write) ? 'applied' : 'stale';
    },
    get(org, id) {
      const row = select.get(org, id);
      if (!row) return undefined;
      const document = documentOf(name, org, row);
      return row.deleted ? undefined : document;
    },
    removeTopic(topic) {
      db.prepare(`DELETE FROM ${name} WHERE shard >= ? AND shard < ?`).run(`${topic}/`, `${topic}0`);
      counts.recount();
    },
    flushCounts: counts.flush,
    forgetCounts: counts.forget,
  };
}

function samePlace(row: Record<string, unknown> | undefined, write: Write): boolean {
  const { place } = write;
  return row?.shard === shardOf(place) && row.offset === place.offset && row.ordinal === place.ordinal;
}

interface Counts {
  add(org: string, value: FieldValue | undefined): void;
  flush(): void;
  forget(): void;
  recount(): void;
}

/** Only documents that are created once and never deleted are counted, so a count only ever grows between resets. */
function countsOf(db: DatabaseSync, name: KindName, kind: Kind): Counts {
  const upsert: StatementSync = db.prepare(
    'INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  );
  const added = new Map<string, { org: string; value: string; count: number }>();
  return {
    add(org, value) {
      if (typeof value !== 'string') return;
      const key = JSON.stringify([org, value]);
      const entry = added.get(key);
      if (entry) entry.count += 1;
      else added.set(key, { org, value, count: 1 });
    },
    flush() {
      for (const { org, value, count } of added.values()) upsert.run(name, org, value, count);
      added.clear();
    },
    forget: () => added.clear(),
    recount() {
      if (!kind.countBy) return;
      const field = column(kind.countBy);
      db.prepare('DELETE FROM tally WHERE kind = ?').run(name);
      db.prepare(
        `INSERT INTO tally SELECT ?, org, ${field}, count(*) FROM ${name} WHERE ${field} IS NOT NULL GROUP BY org, ${field}`,
      ).run(name);
    },
  };
}
