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
