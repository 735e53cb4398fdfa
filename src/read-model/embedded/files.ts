import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '../../platform/sqlite.js';

/** What SQLite keeps beside a database, and applies to whatever database it finds there. */
const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

/** Where a generation is filled before it takes the place of the live one. */
export function nextFile(file: string): string {
  return `${file}.next`;
}

export function removeDatabase(file: string): void {
  for (const suffix of ['', ...COMPANIONS]) rmSync(file + suffix, { force: true });
}

/** Keeps the last file that was replaced: where a log was lost, it is the only evidence left. */
export function setAside(file: string): void {
  for (const suffix of ['', ...COMPANIONS]) {
    rmSync(`${file}.replaced${suffix}`, { force: true });
    if (existsSync(file + suffix)) renameSync(file + suffix, `${file}.replaced${suffix}`);
  }
}

/**
 * Puts a closed database in the place of another, of which everything is in the file itself. After a crash at any step
 * the one or the other is there, whole: the companions of the old one are gone for good before the new one takes its name,
 * and the new one has none.
 */
export function takePlace(next: string, file: string): void {
  for (const suffix of COMPANIONS) {
    rmSync(next + suffix, { force: true });
    rmSync(file + suffix, { force: true });
  }
  syncFolder(dirname(file));
  renameSync(next, file);
  syncFolder(dirname(file));
}
