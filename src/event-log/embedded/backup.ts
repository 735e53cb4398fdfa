import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { ControlError } from '../../contract/errors.js';
import { untilDone } from '../../platform/retry.js';
import { isEmpty, makePrivate, openExclusive, sqliteFault } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import type { Snapshot } from '../event-log.js';
import { checkEnds, FORMAT, prepareFile, TOPICS, tableName, writeEnds } from './format.js';
import { partitionTable } from './partition.js';

/** How many pages are copied at once; appends wait that long. */
const PAGES_AT_ONCE = 256;

const BEGINNINGS = { first: 1, most: 4, attempts: 1_000 };

/** The disk space left for appends during the copy. */
const SPARE_BYTES = 64 * 1024 * 1024;

/**
 * Copies through the log's own connection, so the file needs no second one, and the copy may contain commits made meanwhile.
 * Fails if the log is closed meanwhile.
 */
export async function snapshotOf(db: DatabaseSync, to: string): Promise<Snapshot> {
  checkSpace(db, dirname(to));
  makePrivate(to);
  const progress = () => {
    if (!db.isOpen) throw new ControlError('log_unavailable', 'the log was closed while it was copied');
  };
  await copyPages(db, to, progress);
  const copy = new DatabaseSync(to);
  try {
    // One file, without a WAL beside it.
    copy.exec('PRAGMA journal_mode = DELETE');
    const id = copy.prepare("SELECT value FROM meta WHERE name = 'id'").get()?.value;
    const heads = headsOf(copy);
    // The copy records its ends, so that one which lost its last records is refused.
    writeEnds(copy, heads);
    return { log: String(id), heads };
  } finally {
    copy.close();
  }
}

/**
 * A copy cannot begin during a commit: `node:sqlite` then fails with an error without a code. Later commits only delay it.
 */
async function copyPages(db: DatabaseSync, to: string, progress: () => void): Promise<void> {
  const refuseOthers = (error: unknown) => {
    if ((error as { errcode?: unknown }).errcode !== 0 && sqliteFault(error) !== 'busy') throw error;
  };
  await untilDone(undefined, () => backup(db, to, { rate: PAGES_AT_ONCE, progress }), refuseOthers, BEGINNINGS);
}

/** A copy that fills the disk would stop appends. */
function checkSpace(db: DatabaseSync, folder: string): void {
  const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
  const bytes = pages * Number(db.prepare('PRAGMA page_size').get()?.page_size);
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= bytes + SPARE_BYTES) return;
  throw new ControlError('conflict', 'the data folder has no space for a copy of the log', { bytes });
}

function headsOf(db: DatabaseSync): Record<string, number> {
  const layout = db.prepare("SELECT value FROM meta WHERE name = 'layout'").get()?.value;
  const heads: Record<string, number> = {};
  for (const [topic, count] of JSON.parse(String(layout)) as [(typeof TOPICS)[number], number][]) {
    for (let partition = 0; partition < count; partition += 1) {
      const next = db.prepare(`SELECT coalesce(max(offset) + 1, 0) AS next FROM ${tableName(topic, partition)}`).get();
      heads[`${topic}/${partition}`] = Number(next?.next);
    }
  }
  return heads;
}

/**
 * Checks the checksum and position of every record of a log file. Throws `CorruptRecord` or `StoreUnusable` with the
 * position. Locks the file meanwhile.
 */
export function verifyLog(file: string): Snapshot {
  const db = openExclusive(file, FORMAT.application, 'FULL');
  try {
    if (isEmpty(db)) throw new StoreUnusable(`${file}: holds no log`);
    if (db.prepare('PRAGMA quick_check(1)').get()?.quick_check !== 'ok') throw new StoreUnusable(`${file}: is damaged`);
    const log = prepareFile(db, file);
    const heads = headsOf(db);
    checkEnds(db, file, heads);
    for (const topic of TOPICS) readAll(db, file, topic);
    return { log, heads };
  } finally {
    db.close();
  }
}

function readAll(db: DatabaseSync, file: string, topic: (typeof TOPICS)[number]): void {
  const table = partitionTable(db, file, topic, 0);
  for (let next = 0; ; ) {
    const batch = table.batch(next);
    if (!batch) return;
    next = batch.next;
  }
}
