import type { Steps } from '../../src/platform/turns.js';

/** Does all steps of a piece of work at once. */
export function finish<Result>(work: Steps<Result>): { readonly result: Result; readonly steps: number } {
  for (let steps = 1; ; steps += 1) {
    const { done, value } = work.next(false);
    if (done) return { result: value, steps };
  }
}
