import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ids } from '../platform/ids.js';
import { writePrivate } from '../platform/private-file.js';
import { LEAST_SECRET_BITS, secretBits } from '../platform/secret-strength.js';
import { StoreUnusable } from '../platform/store-unusable.js';

export function rootKeyFile(dataDir: string): string {
  return join(dataDir, 'root.key');
}

/** With the keys that sign checkpoints. */
export function signingKeyFile(dataDir: string): string {
  return join(dataDir, 'checkpoint.key');
}

/** With the checkpoints that were signed. */
export function notesFile(dataDir: string): string {
  return join(dataDir, 'checkpoints.txt');
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
  if (!existsSync(file)) writePrivate(file, `${made}\n`);
  const secret = readFileSync(file, 'utf8').trim();
  if (secretBits(secret) >= LEAST_SECRET_BITS) return secret;
  const fault = secret === '' ? 'is empty' : `can be guessed: it has fewer than ${LEAST_SECRET_BITS} bits`;
  throw new StoreUnusable(`${file}: ${fault}: delete it to have a new one made at the next start`);
}
