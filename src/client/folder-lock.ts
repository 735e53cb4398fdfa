import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpoolError } from './errors.js';

interface Holder {
  readonly pid: number;
  /** When the process began, where the system tells: a later process may have the same number. */
  readonly started: string;
  /** Where the number means something: the host, and on Linux the container. */
  readonly place: string;
}

/** A holder elsewhere cannot be looked at. It touches its lock, and has ended if it misses that a few times. */
const TOUCH_MS = 2_000;
const PATIENCE_MS = 4 * TOUCH_MS;

/**
 * Takes the folder for this process; returns what releases it. Throws `SpoolError` if another process, or another client in this
 * one, has it. Files `lock.N` name the holders, and only the highest N counts. A process takes over from one that has ended by
 * making N + 1, which only one can. A released lock stays as an empty file, so no number is used twice, however long a process
 * stood still before it takes one. `proper-lockfile` was weighed: the package has no dependencies.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const fileOf = (number: number) => join(folder, `lock.${number}`);
  const draft = join(folder, `draft.${randomUUID()}`);
  await writeFile(draft, JSON.stringify(await describe(process.pid)));
  try {
    for (;;) {
      const last = await lastNumber(folder);
      await checkEnded(folder, fileOf(last));
      const isMade = await link(draft, fileOf(last + 1)).then(() => true, existsAlready);
      if (!isMade || (await lastNumber(folder)) !== last + 1) continue;
      await rm(fileOf(last), { force: true });
      const file = fileOf(last + 1);
      const touch = setInterval(() => utimes(file, new Date(), new Date()).catch(() => undefined), TOUCH_MS).unref();
      return async () => {
        clearInterval(touch);
        await writeFile(file, '');
      };
    }
  } finally {
    await rm(draft, { force: true });
  }
}

function existsAlready(error: NodeJS.ErrnoException): boolean {
  if (error.code !== 'EEXIST') throw error;
  return false;
}

async function lastNumber(folder: string): Promise<number> {
  const names = await readdir(folder);
  return Math.max(0, ...names.map((name) => Number(/^lock\.(\d{1,15})$/.exec(name)?.[1] ?? 0)));
}

/** An empty lock was released, or a loss of power took its text. */
async function checkEnded(folder: string, file: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => '');
  if (!text.endsWith('}')) return;
  const held = JSON.parse(text) as Holder;
  const seen = await describe(held.pid);
  const isHere = seen.place === held.place;
  if (isHere ? exists(held.pid) && seen.started === held.started : await isTouched(file)) {
    const remedy = 'give each process a folder of its own, or close the other client';
    throw new SpoolError('locked', `process ${held.pid} on ${held.place} uses the spool ${folder}; ${remedy}`);
  }
}

async function isTouched(file: string): Promise<boolean> {
  const changedAt = async () => (await stat(file).catch(() => undefined))?.mtimeMs;
  const before = await changedAt();
  await sleep(PATIENCE_MS);
  return (await changedAt()) !== before;
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function describe(pid: number): Promise<Holder> {
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '');
  // The 22nd field; the second is a name in brackets, which may have blanks.
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const started = status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  return { pid, started, place: `${hostname()} ${namespace}`.trim() };
}
