import { open, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from './output/failures.js';
import { fileFault } from './output/file-fault.js';

const PATIENCE_MS = 3_000;
const STALE_MS = 10_000;

/** Works under an exclusive lock file beside `file`; one whose owner must have died is broken. `what` names the file in errors. */
export async function locked<Result>(file: string, what: string, work: () => Promise<Result>): Promise<Result> {
  const path = `${file}.lock`;
  await lock(path, what);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function lock(path: string, what: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await (await open(path, 'wx', 0o600)).close();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST') throw new CliError(`cannot write beside ${what}: ${fileFault(error)}`);
    }
    const since = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - since > STALE_MS) await rm(path, { force: true });
    else if (Date.now() > deadline) throw new CliError(`another svc is changing ${what}; if not, remove ${path}`);
    else await sleep(25);
  }
}
