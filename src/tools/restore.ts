import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { restoreLog } from '../event-log/embedded/restore.js';
import { CorruptRecord } from '../event-log/event-log.js';
import { StoreUnusable } from '../platform/store-unusable.js';

const USAGE = `usage: npm run restore -- --from FILE [--data-dir FOLDER] [--sha256 HEX] [--force]

Checks a backup that \`svc backup\` made, and puts it into the data folder of a service that is stopped.
  --from      the backup; FILE.sha256 beside it is taken for its checksum
  --data-dir  the data folder; default: CONTROL_DATA_DIR, else ./data
  --sha256    the checksum, in place of FILE.sha256
  --force     where there is a log already, move it aside
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      from: { type: 'string' },
      'data-dir': { type: 'string', default: process.env.CONTROL_DATA_DIR || './data' },
      sha256: { type: 'string' },
      force: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const { from, 'data-dir': dataDir, force } = values;
  if (from === undefined) throw new TypeError('--from is required');
  const sha256 = values.sha256 ?? keptChecksum(from);
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

main().catch((error: Error & { code?: string }) => {
  const isUsage = error instanceof TypeError || error.code?.startsWith('ERR_PARSE_ARGS');
  const known = isUsage || error instanceof StoreUnusable || error instanceof CorruptRecord || 'syscall' in error;
  say(`restore: ${known ? error.message : error.stack}${isUsage ? `\n\n${USAGE}` : ''}`);
  process.exitCode = isUsage ? 2 : 1;
});
