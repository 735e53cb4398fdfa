import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { isEmpty } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { CorruptRecord, type Topic } from '../event-log.js';
import { encodeHeader, type Header, type Layout } from './frame.js';
import { numbered } from './layout.js';
import { OldRecords, tableName } from './old-records.js';
import { createRecordsFile, RecordsFile } from './records-file.js';

/**
 * `log.db` says what the log is: its identifier, its partitions, and where `log.records` ended when that was last noted. It
 * is held exclusively while a service runs, so two never write one log. In the first format, it holds the records too.
 */
export const FORMAT = {
  version: '2',
  first: '1',
  /** "ctlg" */
  application: 0x63746c67,
} as const;

export function recordsFileOf(file: string): string {
  return beside(file, 'records');
}

export function placesFileOf(file: string, topic: Topic, partition: number): string {
  return beside(file, `${tableName(topic, partition)}.places`);
}

/** `log.db` names `log.records` and `log.audit_0.places`. */
function beside(file: string, ending: string): string {
  return join(dirname(file), `${basename(file, '.db')}.${ending}`);
}

/** How far the log got, noted in `log.db` from time to time: whoever finds less has found a loss. */
export interface Noted {
  /** Of `log.records`. */
  readonly bytes: number;
  /** The next offset of each partition, by `topic/partition`. */
  readonly heads: Readonly<Record<string, number>>;
}

export function note(db: DatabaseSync, noted: Noted): void {
  const text = JSON.stringify(noted);
  setMeta(db, 'noted', `${crc32(text)} ${text}`);
}

function setMeta(db: DatabaseSync, name: string, value: string): void {
  const insert = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value';
  db.prepare(insert).run(name, value);
}

function checksummed(file: string, value: string | undefined): string {
  const [sum, text = ''] = String(value).split(/ (.*)/s);
  if (sum === String(crc32(text))) return text;
  throw new CorruptRecord(`${file}: what it notes about the ends of its partitions was altered`);
}

export interface Prepared {
  readonly noted: Noted;
  readonly records: RecordsFile;
}

/** Opens the log, and makes it first if there is none. A log of the first format gets a `log.records` for what follows. */
export async function prepareLog(db: DatabaseSync, file: string, layout: Layout): Promise<Prepared> {
  if (isEmpty(db)) {
    const header = { id: randomUUID(), layout, first: {} };
    await createRecords(file, header);
    createLog(db, header, { bytes: encodeHeader(header).byteLength, heads: {} });
  }
  const meta = readMeta(db, file);
  requireLayout(file, meta, layout);
  if (meta.format === FORMAT.first) await upgrade(db, file, meta, layout);
  setMeta(db, 'layout', JSON.stringify(layout));
  const noted: Noted = JSON.parse(checksummed(file, readMeta(db, file).noted));
  const records = await RecordsFile.open(recordsFileOf(file));
  if (records.header.id === meta.id) return { noted, records };
  await records.close();
  throw new StoreUnusable(`${records.file}: belongs to another log than ${file}: restore both from one backup`);
}

export type Meta = Partial<Record<string, string>>;

export function readMeta(db: DatabaseSync, file: string): Meta {
  const rows = db.prepare('SELECT name, value FROM meta').all();
  const meta: Meta = Object.fromEntries(rows.map(({ name, value }) => [String(name), String(value)]));
  if (meta.format === FORMAT.version || meta.format === FORMAT.first) return meta;
  throw new StoreUnusable(
    `${file}: has format ${meta.format}, this program reads up to ${FORMAT.version}: start a newer version`,
  );
}

/** A log from before the last topics were added has none of them. */
export function requireLayout(file: string, meta: Meta, layout: Layout): void {
  const earlier = layout.map((_, at) => JSON.stringify(layout.slice(0, at + 1)));
  if (earlier.includes(meta.layout ?? '')) return;
  throw new StoreUnusable(`${file}: was made with the partitions ${meta.layout}, not ${JSON.stringify(layout)}`);
}

/** Makes `log.db` for the records that are in `log.records`. */
export function createLog(db: DatabaseSync, { id, layout }: Header, noted: Noted): void {
  db.exec('BEGIN IMMEDIATE');
  db.exec(`PRAGMA application_id = ${FORMAT.application}`);
  db.exec('CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT');
  for (const [name, value] of Object.entries({ id, format: FORMAT.version, layout: JSON.stringify(layout) })) {
    setMeta(db, name, value);
  }
  note(db, noted);
  db.exec('COMMIT');
}

/** The records stay in their tables; those to come follow in `log.records`. */
async function upgrade(db: DatabaseSync, file: string, meta: Meta, layout: Layout): Promise<void> {
  const heads = oldHeads(db, file, meta);
  checkOldEnds(file, meta, heads);
  const first = Object.fromEntries(Object.entries(heads).filter(([, next]) => next > 0));
  const header = { id: meta.id ?? '', layout, first };
  await createRecords(file, header);
  db.exec('BEGIN IMMEDIATE');
  setMeta(db, 'format', FORMAT.version);
  note(db, { bytes: encodeHeader(header).byteLength, heads });
  db.exec('COMMIT');
}

/** Refuses to replace a file that has records: `log.db` has been lost, or is an older one. */
async function createRecords(file: string, header: Header): Promise<void> {
  const records = recordsFileOf(file);
  const size = existsSync(records) ? statSync(records).size : 0;
  if (size > 0) {
    const found = await RecordsFile.open(records);
    await found.close();
    if (size > found.start) {
      throw new StoreUnusable(`${records}: has records that ${file} does not know of: restore both from one backup`);
    }
  }
  await createRecordsFile(records, header);
}

export function oldHeads(db: DatabaseSync, file: string, meta: Meta): Record<string, number> {
  const heads = numbered(JSON.parse(meta.layout ?? '[]')).map(
    (one) => [one.name, new OldRecords(db, file, one).next] as const,
  );
  return Object.fromEntries(heads);
}

/**
 * Refuses a file of the first format whose partitions end earlier than it notes: a table that ends earlier has lost its last
 * records, which leaves no gap between records.
 */
export function checkOldEnds(file: string, meta: Meta, heads: Readonly<Record<string, number>>): void {
  if (meta.ends === undefined) return;
  const before = JSON.parse(checksummed(file, meta.ends)) as Record<string, number>;
  for (const [place, end] of Object.entries(heads)) {
    if (end >= (before[place] ?? 0)) continue;
    throw new CorruptRecord(`${file}: ${place}: record ${end} is missing, and all after it`);
  }
}
