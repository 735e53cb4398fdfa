import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { openExclusive, syncFolder } from '../../platform/sqlite.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import type { Snapshot } from '../event-log.js';
import { verifyLog } from './backup.js';
import { FORMAT } from './format.js';

export interface Restoring {
  /** The backup; it is read only. */
  readonly from: string;
  readonly dataDir: string;
  /** What its SHA-256 must be, in hexadecimal. */
  readonly sha256?: string;
  /** Moves a log that is there aside; without it, such a log is left alone and nothing is done. */
  readonly force: boolean;
}

export interface Restored extends Snapshot {
  readonly file: string;
  /** Where the log is that was there before. */
  readonly movedTo?: string;
}

const SIDE_FILES = ['', '-wal', '-shm', '-journal'];

/**
 * Puts a backup into a data folder, after every record in it was checked. The log that is there is either the old one or
 * the whole restored one, whenever this ends. Throws `StoreUnusable` or `CorruptRecord` with the reason and the remedy.
 */
export async function restoreLog({ from, dataDir, sha256, force }: Restoring): Promise<Restored> {
  const file = join(dataDir, 'log.db');
  const unfinished = `${file}.restoring`;
  if (!existsSync(from)) throw new StoreUnusable(`${from}: is not there`);
  if (existsSync(file)) {
    if (!force) throw new StoreUnusable(`${file}: is there already; --force moves it aside`);
    refuseInUse(file);
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    copyFileSync(from, unfinished);
    chmodSync(unfinished, 0o600);
    if (sha256 !== undefined && (await sha256Of(unfinished)) !== sha256.toLowerCase()) {
      throw new StoreUnusable(`${from}: is not as it was made: its SHA-256 is not ${sha256}`);
    }
    const snapshot = verifyLog(unfinished);
    syncFile(unfinished);
    const movedTo = existsSync(file) ? moveAside(file) : undefined;
    // It is derived from a log, and perhaps from one with another history.
    moveTo(join(dataDir, 'read-model.db'), join(dataDir, 'read-model.db.replaced'));
    renameSync(unfinished, file);
    syncFolder(dataDir);
    return { ...snapshot, file, ...(movedTo !== undefined && { movedTo }) };
  } finally {
    for (const suffix of SIDE_FILES) rmSync(unfinished + suffix, { force: true });
  }
}

/** A log that cannot be opened at all is what a restore is for; one that another process holds is not. */
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
