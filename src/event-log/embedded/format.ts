import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { isEmpty } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { CorruptRecord, type Topic } from '../event-log.js';

type Partitions = Partial<Record<Topic, number>>;

export const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead'];

/** The first format of the log file. Every later version must read it: `test/fixtures` has such a file. */
export const FORMAT = {
  version: '1',
  /** "ctlg" */
  application: 0x63746c67,
  /** One table a partition: appends only ever go to its end. */
  createTable: (topic: Topic, partition: number): string =>
    `CREATE TABLE ${tableName(topic, partition)} (
      offset INTEGER PRIMARY KEY, time INTEGER NOT NULL, key TEXT NOT NULL, headers TEXT NOT NULL,
      value BLOB NOT NULL, crc INTEGER NOT NULL) STRICT`,
} as const;

/**
 * Where the partitions ended when the file was last opened or closed. A table that ends earlier has lost its last records,
 * which leaves no gap between records.
 */
function readEnds(db: DatabaseSync, file: string): Readonly<Record<string, number>> {
  const value = db.prepare("SELECT value FROM meta WHERE name = 'ends'").get()?.value;
  if (value === undefined) return {};
  const [sum, ends = ''] = String(value).split(/ (.*)/s);
  if (sum !== String(crc32(ends))) throw new CorruptRecord(`${file}: the recorded ends of its partitions were altered`);
  return JSON.parse(ends);
}

/** Refuses a file whose partitions end earlier than recorded. */
export function checkEnds(db: DatabaseSync, file: string, ends: Readonly<Record<string, number>>): void {
  const before = readEnds(db, file);
  for (const [place, end] of Object.entries(ends)) {
    if (end >= (before[place] ?? 0)) continue;
    throw new CorruptRecord(`${file}: ${place}: record ${end} is missing, and all after it`);
  }
}

export function writeEnds(db: DatabaseSync, ends: Readonly<Record<string, number>>): void {
  const text = JSON.stringify(ends);
  const insert = "INSERT INTO meta (name, value) VALUES ('ends', ?) ON CONFLICT DO UPDATE SET value = excluded.value";
  db.prepare(insert).run(`${crc32(text)} ${text}`);
}

export function tableName(topic: Topic, partition: number): string {
  return `${topic.replace('.', '_')}_${partition}`;
}

/** Creates a new log, or checks that an existing one has this format and layout; returns its identifier. */
export function prepareFile(db: DatabaseSync, file: string, partitions: Partitions = {}): string {
  const layout = JSON.stringify(TOPICS.map((topic) => [topic, partitions[topic] ?? 1]));
  if ((partitions.control ?? 1) !== 1) throw new Error('the control topic has exactly one partition');
  if (isEmpty(db)) return createFile(db, layout, partitions);
  const meta = Object.fromEntries(
    db
      .prepare('SELECT name, value FROM meta')
      .all()
      .map((row) => [row.name as string, row.value as string]),
  );
  if (meta.format !== FORMAT.version) {
    throw new StoreUnusable(
      `${file}: has format ${meta.format}, this program reads ${FORMAT.version}: start a newer version`,
    );
  }
  if (meta.layout !== layout) {
    throw new StoreUnusable(`${file}: was made with the partitions ${meta.layout}, not ${layout}`);
  }
  return meta.id ?? '';
}

function createFile(db: DatabaseSync, layout: string, partitions: Partitions): string {
  const id = randomUUID();
  db.exec('BEGIN IMMEDIATE');
  db.exec(`PRAGMA application_id = ${FORMAT.application}`);
  db.exec('CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT');
  const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  for (const [name, value] of Object.entries({ id, format: FORMAT.version, layout })) insert.run(name, value);
  for (const topic of TOPICS) {
    for (let partition = 0; partition < (partitions[topic] ?? 1); partition += 1) {
      db.exec(FORMAT.createTable(topic, partition));
    }
  }
  db.exec('COMMIT');
  return id;
}
