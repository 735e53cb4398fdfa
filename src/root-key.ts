import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreUnusable } from './event-log/event-log.js';
import type { Ids } from './ids.js';
import { syncFolder } from './sqlite.js';

export function rootKeyFile(dataDir: string): string {
  return join(dataDir, 'root.key');
}

/** The root key of the embedded store: made at the first start and kept in the data folder, for its owner alone. */
export function keptRootKey(dataDir: string, ids: Ids): string {
  const file = rootKeyFile(dataDir);
  if (!existsSync(file)) writeOnce(file, `svcroot_${ids.secret()}\n`);
  const key = readFileSync(file, 'utf8').trim();
  if (key === '') throw new StoreUnusable(`${file}: is empty: delete it to have a new root key made at the next start`);
  return key;
}

/** The file is there whole or not at all, whenever the process ends. */
function writeOnce(file: string, text: string): void {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  const handle = openSync(unfinished, 'wx', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(unfinished, file);
  syncFolder(dirname(file));
}
