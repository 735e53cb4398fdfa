import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../platform/private-folder.js';
import { isEmpty, openExclusive, setAside, syncFolder } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { BACKUP_FILE, type Snapshot } from '../event-log.js';
import { verifyBackup } from './backup.js';
import {
  checkOldEnds,
  createLog,
  FORMAT,
  oldHeads,
  placesFileOf,
  readMeta,
  recordsFileOf,
  requireLayout,
} from './format.js';
import { layoutOf, numbered } from './layout.js';
import { OldRecords } from './old-records.js';
import { Places } from './places.js';

export interface Restoring {
  /** The backup; it is read only. */
  readonly from: string;
  readonly dataDir: string;
  /** The expected SHA-256, in hexadecimal. */
  readonly sha256?: string;
  /** Moves an existing log aside; without it an existing log is an error. */
  readonly force: boolean;
}

export interface Restored extends Snapshot {
  readonly file: string;
  /** The folder with the log that was there before. */
  readonly movedTo?: string;
}

const UNFINISHED = /^log\.restoring-/;
const MOVED_ASIDE = /^log\.before-restore-/;

/**
 * Restores a backup into a data folder after checking every record in it. Whenever this ends, the folder has either the old
 * log or the whole restored one. Throws `StoreUnusable` or `CorruptRecord` with the reason and the remedy.
 */
export async function restoreLog({ from, dataDir, sha256, force }: Restoring): Promise<Restored> {
  const file = join(dataDir, 'log.db');
  const isThere = existsSync(file) || existsSync(recordsFileOf(file));
  if (!existsSync(from)) throw new StoreUnusable(`${from}: does not exist`);
  if (isThere) {
    if (!force) throw new StoreUnusable(`${file}: already exists; --force moves it aside`);
  }
  makeFolder(dataDir);
  // Held until the log is moved aside: a service that started meanwhile would remove what this restore has not finished.
  const held = existsSync(file) ? heldUnlessDamaged(file) : undefined;
  const unfinished = mkdtempSync(join(dataDir, 'log.restoring-'));
  try {
    const isOld = isSqlite(from);
    const copy = join(unfinished, isOld ? 'log.db' : 'log.records');
    copyFileSync(from, copy);
    chmodSync(copy, 0o600);
    if (sha256 !== undefined && (await sha256Of(copy)) !== sha256.toLowerCase()) {
      throw new StoreUnusable(`${from}: was altered: its SHA-256 is not ${sha256}`);
    }
    const snapshot = isOld ? verifyOld(copy) : await prepareRestored(copy);
    syncFile(copy);
    held?.close();
    const movedTo = isThere ? moveAside(dataDir) : undefined;
    removePlaces(dataDir);
    // It was derived from a log that may have another history.
    setAside(join(dataDir, 'read-model.db'));
    // The records first: without `log.db` a start refuses them.
    for (const name of readdirSync(unfinished).sort().reverse())
      renameSync(join(unfinished, name), join(dataDir, name));
    syncFolder(dataDir);
    removeUnfinished(dataDir);
    return { ...snapshot, file, ...(movedTo !== undefined && { movedTo }) };
  } finally {
    if (held?.isOpen) held.close();
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Refuses to make a new log where a restore was killed after it had moved the log aside. */
export function refuseUnfinished(file: string): void {
  if (existsSync(file) || !existsSync(dirname(file))) return;
  const left = readdirSync(dirname(file)).filter((name) => UNFINISHED.test(name) || MOVED_ASIDE.test(name));
  if (left.length === 0) return;
  throw new StoreUnusable(
    `${file}: is missing, and a restore into its folder was not completed: restore the backup again, or move ${left.join(' and ')} away to begin with an empty log`,
  );
}

/** Removes what restores and backups that were killed left beside a log that is whole. */
export function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (UNFINISHED.test(name) || name === BACKUP_FILE) rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

const SQLITE = 'SQLite format 3\0';

/** Whether the backup was made by the first format. */
function isSqlite(file: string): boolean {
  const start = Buffer.alloc(SQLITE.length);
  const handle = openSync(file, 'r');
  try {
    return readSync(handle, start, 0, start.byteLength, 0) > 0 && start.toString('latin1') === SQLITE;
  } finally {
    closeSync(handle);
  }
}

/** Makes the backup a `log.records` with its `log.db` and its places. */
async function prepareRestored(copy: string): Promise<Snapshot> {
  if (statSync(copy).size === 0) throw new StoreUnusable(`${copy}: holds no log`);
  const file = join(dirname(copy), 'log.db');
  const { header, noted } = await verifyBackup(
    copy,
    ({ topic, partition }, seed) => new Places(placesFileOf(file, topic, partition), seed, 0),
  );
  truncateSync(copy, noted.bytes);
  const db = openExclusive(file, FORMAT.application);
  try {
    createLog(db, header, noted);
  } finally {
    db.close();
  }
  return { log: header.id, heads: noted.heads };
}

/** Checks the checksum and position of every record of a log of the first format. */
function verifyOld(file: string): Snapshot {
  const db = openExclusive(file, FORMAT.application);
  try {
    if (isEmpty(db)) throw new StoreUnusable(`${file}: holds no log`);
    if (db.prepare('PRAGMA quick_check(1)').get()?.quick_check !== 'ok') throw new StoreUnusable(`${file}: is damaged`);
    const meta = readMeta(db, file);
    if (meta.format !== FORMAT.first) throw new StoreUnusable(`${file}: is not a backup: it has no records`);
    const layout = layoutOf({});
    requireLayout(file, meta, layout);
    const heads = oldHeads(db, file, meta);
    checkOldEnds(file, meta, heads);
    for (const partition of numbered(layout).filter(({ name }) => name in heads)) {
      for (const _ of new OldRecords(db, file, partition).from(0));
    }
    return { log: meta.id ?? '', heads };
  } finally {
    db.close();
  }
}

/** The log with its lock. One that cannot be opened may be replaced, one that another process uses may not. */
function heldUnlessDamaged(file: string): DatabaseSync | undefined {
  try {
    return openExclusive(file, FORMAT.application);
  } catch (error) {
    if (error instanceof StoreUnusable && error.message.includes('another process uses it')) throw error;
    return undefined;
  }
}

function moveAside(dataDir: string): string {
  const folder = join(dataDir, `log.before-restore-${new Date().toISOString().replaceAll(':', '-')}`);
  mkdirSync(folder, { mode: 0o700 });
  for (const name of readdirSync(dataDir)) {
    if (/^log\.(db(-.*)?|records)$/.test(name)) renameSync(join(dataDir, name), join(folder, name));
  }
  return folder;
}

/** Those of another log would be witnesses against the restored one. */
function removePlaces(dataDir: string): void {
  for (const name of readdirSync(dataDir)) if (/^log\..*\.places$/.test(name)) rmSync(join(dataDir, name));
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function syncFile(file: string): void {
  const handle = openSync(file, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
