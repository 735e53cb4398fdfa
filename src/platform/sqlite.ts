import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreUnusable } from './store-unusable.js';

/** Primary result codes (sqlite.org/rescode.html); the extended ones carry them in their low byte. */
const RESULT = { busy: 5, readonly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 } as const;

export type SqliteFault = keyof typeof RESULT | 'other';

/** What a failed call of `node:sqlite` means, or undefined when the error is not SQLite's. */
export function sqliteFault(error: unknown): SqliteFault | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if (!('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  const primary = error.errcode & 0xff;
  for (const [name, code] of Object.entries(RESULT)) {
    if (code === primary) return name as keyof typeof RESULT;
  }
  return 'other';
}

/**
 * The pages that one commit of the read model changes: with less, SQLite writes them early and again, which took a third more
 * CPU a write at a million events. Memory is taken only for pages that change.
 */
const CACHE_KIB = 128 * 1024;

/**
 * Opens a database for this process alone: the lock is taken at once and held until it is closed, so two services never
 * share a data folder. A commit is durable when it returns. Refuses a file that another program made (by SQLite's
 * `application_id`) before it changes anything in it. Throws `StoreUnusable` with the remedy.
 */
export function openExclusive(file: string, application: number): DatabaseSync {
  return open(file, application, 'EXCLUSIVE', 'PRAGMA synchronous = FULL');
}

/**
 * As `openExclusive`, but leaves the lock to others: other connections of this process may copy the write-ahead log into the
 * file, and this one never does until it is closed. After a loss of power the last commits may be gone.
 */
export function openUncopied(file: string, application: number): DatabaseSync {
  const settings = `PRAGMA synchronous = NORMAL; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = 0`;
  return open(file, application, 'NORMAL', settings);
}

function open(file: string, application: number, locking: 'EXCLUSIVE' | 'NORMAL', settings: string): DatabaseSync {
  const existed = existsSync(file);
  let db: DatabaseSync | undefined;
  try {
    if (!existed) makePrivate(file);
    db = new DatabaseSync(file);
    db.exec(`PRAGMA locking_mode = ${locking}`);
    if (existed) refuseForeign(db, file, application);
    db.exec(`PRAGMA journal_mode = WAL; ${settings}; PRAGMA trusted_schema = OFF`);
    db.exec('BEGIN IMMEDIATE; COMMIT');
    if (!existed) syncFolder(dirname(file));
    return db;
  } catch (error) {
    if (db?.isOpen) db.close();
    throw unusable(file, error);
  }
}

/** An empty file for its owner alone. SQLite takes it for a new database, and gives `-wal` and `-shm` its mode. */
export function makePrivate(file: string): void {
  closeSync(openSync(file, 'wx', 0o600));
}

/** Whether the database has no tables yet: it is new, or its making was cut off before the first commit. */
export function isEmpty(db: DatabaseSync): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}

function refuseForeign(db: DatabaseSync, file: string, application: number): void {
  const found = db.prepare('PRAGMA application_id').get()?.application_id;
  if (found === application || (found === 0 && isEmpty(db))) return;
  throw new StoreUnusable(`${file}: is the database of another program; it was left untouched`);
}

/** Turns a fault at start into the message that the operator reads. */
export function unusable(file: string, error: unknown): unknown {
  const remedy = {
    busy: 'another process uses it: stop that one, or give this one a CONTROL_DATA_DIR of its own',
    full: 'the disk is full: free some space and start again; nothing that was acknowledged is lost',
    readonly: 'it cannot be written: check its owner, its mode and the mount',
    cannotOpen: 'it cannot be opened: check that the folder exists and that this user may write there',
    corrupt: 'it is damaged: restore it from a backup; it was left untouched',
    notADatabase: 'it is not a database, or is damaged: restore it from a backup; it was left untouched',
    ioError: 'the disk reports an error: check the disk; the file was left untouched',
    other: 'it was left untouched',
  } as const;
  const fault = diskFault(error);
  if (!fault) return error;
  return new StoreUnusable(`${file}: ${remedy[fault]} (${(error as Error).message})`, { cause: error });
}

/** As `sqliteFault`, also of a call of `node:fs`. */
export function diskFault(error: unknown): SqliteFault | undefined {
  return sqliteFault(error) ?? fileFault(error);
}

/** As `sqliteFault`, of a call of `node:fs`. */
function fileFault(error: unknown): SqliteFault | undefined {
  const faults: Readonly<Record<string, SqliteFault>> = {
    ENOSPC: 'full',
    EDQUOT: 'full',
    EROFS: 'readonly',
    EACCES: 'cannotOpen',
    EPERM: 'cannotOpen',
    EIO: 'ioError',
  };
  if (typeof error !== 'object' || error === null || !('syscall' in error)) return undefined;
  return faults[String((error as NodeJS.ErrnoException).code)];
}

/** What SQLite keeps beside a database, and applies to whatever database it finds there. */
export const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

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

/** A new file's name is durable only when its folder is. Windows neither needs this nor has it. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
