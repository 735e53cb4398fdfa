import { pause } from './waiting.js';

export interface Patience {
  /** The first wait and the longest, in milliseconds; each is twice the one before. */
  readonly first: number;
  readonly most: number;
  /** Then it rejects with the last error. */
  readonly attempts?: number;
}

const USUAL: Patience = { first: 100, most: 5_000 };

/**
 * Repeats the work, ever more slowly, until it succeeds; undefined when the signal aborts before. `failed` gets each error
 * and how long it waits then; what it throws ends it.
 *
 * Own code in place of `p-retry`, which gives up at a `TypeError`, rejects when its signal aborts, and counts attempts that
 * a projection never runs out of.
 */
export async function untilDone<Result>(
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
  failed: (error: unknown, waitMs: number) => void,
  { first, most, attempts = Number.POSITIVE_INFINITY }: Patience = USUAL,
): Promise<Result | undefined> {
  let wait = first;
  for (let attempt = 1; !signal?.aborted; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      failed(error, wait);
      if (attempt >= attempts) throw error;
      await pause(wait, signal);
      wait = Math.min(wait * 2, most);
    }
  }
  return undefined;
}
