import { existsSync, readFileSync } from 'node:fs';
import { newEpoch } from '../composition/new-epoch.js';
import { ControlError } from '../contract/errors.js';
import { restoreLog } from '../event-log/embedded/restore.js';
import { CorruptRecord } from '../event-log/event-log.js';
import { ConfigError } from '../platform/config/config.js';
import { StoreUnusable } from '../platform/store-unusable.js';
import { SealingRefused } from '../sealing/term.js';

export interface RestoreOptions {
  /** Undefined: the log that is in the folder is the restored one. */
  readonly from?: string | undefined;
  readonly dataDir: string;
  readonly sha256?: string | undefined;
  readonly force: boolean;
  /** Why an earlier state of the log goes on: its trees get other names. */
  readonly newEpoch?: string | undefined;
}

/** Restores, and says on standard error what it did or why it did nothing. The result is the exit code. */
export async function restore(options: RestoreOptions): Promise<number> {
  try {
    if (options.from !== undefined) await restoreAndSay(options.from, options);
    if (options.newEpoch !== undefined) await newEpoch(options.dataDir, options.newEpoch, say);
    return 0;
  } catch (error) {
    const { message, stack } = error as Error;
    const isKnown =
      error instanceof StoreUnusable ||
      error instanceof SealingRefused ||
      error instanceof ConfigError ||
      error instanceof ControlError ||
      error instanceof CorruptRecord ||
      'syscall' in (error as Error);
    say(`restore: ${isKnown ? message : stack}`);
    return 1;
  }
}

async function restoreAndSay(from: string, { dataDir, force, ...options }: RestoreOptions): Promise<void> {
  const sha256 = options.sha256 ?? keptChecksum(from);
  if (sha256 === undefined) say(`${from}.sha256 is not there: only the records' own checksums are checked`);
  const restored = await restoreLog({ from, dataDir, force, ...(sha256 !== undefined && { sha256 }) });
  const { file, log, heads, movedTo } = restored;
  const counts = Object.entries(heads).map(([partition, next]) => `${partition}: ${next}`);
  if (movedTo !== undefined) say(`the log that was there is ${movedTo}`);
  say(`restored ${file}, log ${log}, records ${counts.join(', ')}`);
  say('the next start makes the read model from it; the root key is the one of the folder, or a new one');
}

/** The checksum that `svc backup` wrote beside the file. */
function keptChecksum(from: string): string | undefined {
  if (!existsSync(`${from}.sha256`)) return undefined;
  return readFileSync(`${from}.sha256`, 'utf8').trim().split(/\s+/)[0];
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
