import { setTimeout as delay } from 'node:timers/promises';

const RETRY_MS = { first: 100, most: 5_000 };

/**
 * Repeats the work, ever more slowly, until it succeeds; undefined when the signal aborts before. `failed` is told of each
 * fault and how long it waits then; what it throws ends it.
 */
export async function untilDone<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
  failed: (error: unknown, waitMs: number) => void,
): Promise<Result | undefined> {
  for (let wait = RETRY_MS.first; !signal.aborted; wait = Math.min(wait * 2, RETRY_MS.most)) {
    try {
      return await work();
    } catch (error) {
      failed(error, wait);
      await delay(wait, undefined, { signal }).catch(() => undefined);
    }
  }
  return undefined;
}
