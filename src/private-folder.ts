import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { StoreUnusable } from './event-log/event-log.js';

const OTHERS = 0o077;
/** On a folder that everybody may write to, such as /tmp. */
const STICKY = 0o1000;

/**
 * Makes the folder, or takes the one that is there, for this user alone: 0700, and its files 0600, with a warning for what
 * was wider. Throws `StoreUnusable` where it cannot be made or is everybody's. Windows has no such modes.
 */
export function preparePrivateFolder(folder: string, logger: Logger): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreUnusable(`${folder}: cannot be made: ${(error as Error).message}; check CONTROL_DATA_DIR`, {
      cause: error,
    });
  }
  if (process.platform === 'win32') return;
  const stats = statSync(folder);
  if ((stats.mode & STICKY) !== 0) {
    throw new StoreUnusable(`${folder}: is a folder for everybody; give CONTROL_DATA_DIR a folder of its own`);
  }
  close(folder, stats, logger);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (file?.isFile()) close(path, file, logger);
  }
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
