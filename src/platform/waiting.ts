import { setTimeout as delay, setImmediate } from 'node:timers/promises';

/** Resolves after so many milliseconds, or when the signal aborts. With `ref: false` it does not keep the process up. */
export async function pause(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  await delay(ms, undefined, { ref, ...(signal && { signal }) }).catch(() => undefined);
}

/** Resolves or rejects as the work does, or resolves with `late` after so many milliseconds. The work goes on then. */
export async function within<Result, Late>(ms: number, work: Promise<Result>, late: Late): Promise<Result | Late> {
  const done = new AbortController();
  try {
    return await Promise.race([work, delay(ms, late, { signal: done.signal }).catch(() => late)]);
  } finally {
    done.abort();
  }
}

/** Lets everything else run that waits for a turn of the event loop: requests, publishes, the projections. */
export function turnOfTheLoop(): Promise<void> {
  return setImmediate();
}

/**
 * Runs all works at once. Resolves when every one has ended; where one fails, rejects with its error, the first one's. Each
 * is given a signal that aborts with `signal`, and when any of the works has ended: then the others are to end too.
 */
export async function together(
  signal: AbortSignal,
  works: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const failures: unknown[] = [];
  const run = async (work: (signal: AbortSignal) => Promise<void>) => {
    try {
      await work(either);
    } catch (error) {
      failures.push(error);
    }
    ended.abort();
  };
  await Promise.all(works.map(run));
  if (failures.length > 0) throw failures[0];
}

/**
 * Runs the work for all who ask for it before it begins, one run at a time: who asks while it runs shares the next run.
 */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    next = undefined;
    const run = work().finally(() => {
      if (running === run) running = undefined;
    });
    running = run;
    return run;
  };
  return () => {
    if (!running) return start();
    next ??= running.then(start, start);
    return next;
  };
}
