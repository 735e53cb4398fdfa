import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Ids } from '../platform/ids.js';
import { LEAST_SECRET_BITS, secretBits } from '../platform/secret-strength.js';
import { syncFolder } from '../platform/sqlite.js';
import { StoreUnusable } from '../platform/store-unusable.js';

export function rootKeyFile(dataDir: string): string {
  return join(dataDir, 'root.key');
}

/** The root key of the embedded store. Throws as `kept`. */
export function keptRootKey(dataDir: string, ids: Ids): string {
  return kept(rootKeyFile(dataDir), `svcroot_${ids.secret()}`);
}

/** The service secret of the embedded store. No backup of the log has it. Throws as `kept`. */
export function keptServiceSecret(dataDir: string, ids: Ids): string {
  return kept(join(dataDir, 'service.secret'), ids.secret());
}

/**
 * The secret in the file. The first start creates it, readable only by its owner. Throws `StoreUnusable` if the file is empty
 * or its secret is guessable.
 */
function kept(file: string, made: string): string {
  if (!existsSync(file)) writeOnce(file, `${made}\n`);
  const secret = readFileSync(file, 'utf8').trim();
  if (secretBits(secret) >= LEAST_SECRET_BITS) return secret;
  const fault = secret === '' ? 'is empty' : `can be guessed: it has fewer than ${LEAST_SECRET_BITS} bits`;
  throw new StoreUnusable(`${file}: ${fault}: delete it to have a new one made at the next start`);
}

/** Writes the file atomically and durably. */
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
