import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { syncFolder } from './sqlite.js';
import { StoreUnusable } from './store-unusable.js';

const OTHERS = 0o077;
/** On a folder that everybody may write to, such as /tmp. */
const STICKY = 0o1000;

/** What the service keeps in the folder, with what SQLite keeps beside a database. */
const DATA_FILE =
  /^((log|read-model|tlog)\.db(\.next)?(-wal|-shm|-journal)?|log\.(records|.*\.places)|control\.snapshot|checkpoints\.txt|(root|checkpoint)\.key|service\.secret)$/;

/**
 * Makes the folder, or takes the one that is there, for this user alone: 0700, and its files 0600, with a warning for what
 * was wider. Throws `StoreUnusable` if it cannot be made, is everybody's, or has something other than a regular file under
 * the name of a data file: what a link leads to is not in the folder, and would stay as open as it is. Windows has no such
 * modes. Errors name the setting that named the folder.
 */
export function preparePrivateFolder(folder: string, setting: string, logger: Logger): void {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new StoreUnusable(`${folder}: cannot be made: ${(error as Error).message}; check ${setting}`, {
      cause: error,
    });
  }
  const names = readdirSync(folder);
  for (const name of names) {
    if (DATA_FILE.test(name)) requireRegular(join(folder, name), setting);
  }
  if (process.platform === 'win32') return;
  const stats = statSync(folder);
  if ((stats.mode & STICKY) !== 0) {
    throw new StoreUnusable(`${folder}: is a folder for everybody; give ${setting} a folder of its own`);
  }
  close(folder, stats, logger);
  for (const name of names) {
    const path = join(folder, name);
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (file?.isFile()) close(path, file, logger);
  }
}

/** Makes the folder, and those above it that are missing, durably: after a loss of power they are still there. */
export function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= first.length; made = dirname(made)) syncFolder(dirname(made));
}

function requireRegular(path: string, setting: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isFile()) return;
  const what = found.isSymbolicLink() ? 'is a link' : 'is not a regular file';
  throw new StoreUnusable(
    `${path}: ${what}, so the service cannot keep it from other users; move the file itself into the folder, ` +
      `or let ${setting} name the folder that it is in`,
  );
}

function close(path: string, { mode }: Stats, logger: Logger): void {
  if ((mode & OTHERS) === 0) return;
  const was = (mode & 0o777).toString(8).padStart(4, '0');
  try {
    chmodSync(path, mode & 0o700);
    logger.warn({ path, was }, 'other users could open this; now they cannot');
  } catch (error) {
    // On a volume that another user owns, access is not this process's to decide.
    const { code } = error as NodeJS.ErrnoException;
    logger.warn({ path, was, code }, 'other users may open this, and its mode cannot be changed: change its owner');
  }
}
