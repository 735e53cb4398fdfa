import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../platform/private-folder.js';
import { openExclusive, syncFolder } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import type { Snapshot } from '../event-log.js';
import { verifyLog } from './backup.js';
import { FORMAT } from './format.js';

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
  /** The file of the log that was there before. */
  readonly movedTo?: string;
}

const SIDE_FILES = ['', '-wal', '-shm', '-journal'];

/**
 * Restores a backup into a data folder after checking every record in it. Whenever this ends, the folder has either the old
 * log or the whole restored one. Throws `StoreUnusable` or `CorruptRecord` with the reason and the remedy.
 */
export async function restoreLog({ from, dataDir, sha256, force }: Restoring): Promise<Restored> {
  const file = join(dataDir, 'log.db');
  const unfinished = `${file}.restoring`;
  if (!existsSync(from)) throw new StoreUnusable(`${from}: does not exist`);
  if (existsSync(file)) {
    if (!force) throw new StoreUnusable(`${file}: already exists; --force moves it aside`);
    refuseInUse(file);
  }
  makeFolder(dataDir);
  try {
    copyFileSync(from, unfinished);
    chmodSync(unfinished, 0o600);
    if (sha256 !== undefined && (await sha256Of(unfinished)) !== sha256.toLowerCase()) {
      throw new StoreUnusable(`${from}: was altered: its SHA-256 is not ${sha256}`);
    }
    const snapshot = verifyLog(unfinished);
    syncFile(unfinished);
    const movedTo = existsSync(file) ? moveAside(file) : undefined;
    // It was derived from a log that may have another history.
    moveTo(join(dataDir, 'read-model.db'), join(dataDir, 'read-model.db.replaced'));
    renameSync(unfinished, file);
    syncFolder(dataDir);
    return { ...snapshot, file, ...(movedTo !== undefined && { movedTo }) };
  } finally {
    for (const suffix of SIDE_FILES) rmSync(unfinished + suffix, { force: true });
  }
}

/** A log that cannot be opened may be replaced, one that another process uses may not. */
function refuseInUse(file: string): void {
  try {
    openExclusive(file, FORMAT.application, 'FULL').close();
  } catch (error) {
    if (error instanceof StoreUnusable && error.message.includes('another process uses it')) throw error;
  }
}

function moveAside(file: string): string {
  const to = `${file}.before-restore-${new Date().toISOString().replaceAll(':', '-')}`;
  moveTo(file, to);
  return to;
}

function moveTo(file: string, to: string): void {
  for (const suffix of SIDE_FILES) {
    rmSync(to + suffix, { force: true });
    if (existsSync(file + suffix)) renameSync(file + suffix, to + suffix);
  }
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
