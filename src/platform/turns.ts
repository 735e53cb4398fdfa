import { ControlError } from '../contract/errors.js';

/** How long heavy work holds the event loop before everything else gets its turn. */
const SLICE_MS = 5;

/** Work that comes late in an iteration of the loop may take so long all the same: most work is done by then. */
const GRACE_MS = 1;

/** How much longer work may run after it was told that its budget is spent. */
const OVERDRAFT_MS = 250;

/**
 * Work that can stop between any two of its steps; a step takes a millisecond or two. It is told `true` when its budget is
 * spent: then it ends soon with what it has, or is refused.
 */
export type Steps<Result> = Generator<void, Result, boolean>;

/** How many bytes of text are looked at in one step; one string is not interrupted. */
export const STEP_BYTES = 256 * 1024;

/** The results of the work on each item, an item a step. */
export function* eachInSteps<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Steps<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(work(item));
    yield;
  }
  return results;
}

/** A piece of work for an organization, in one or several runs. */
export interface Job {
  readonly org: string;
  /** How long all runs together may hold the event loop, in milliseconds; undefined: as long as they need. */
  readonly budgetMs?: number | undefined;
  /** Whether the work ends early with a partial result when its budget is spent. */
  readonly mayEndEarly?: boolean;
  /** The end of the refusal's message: what the caller can do when the budget is spent. */
  readonly remedy?: string;
  /** Aborts when nobody waits for the result any more. */
  readonly signal?: AbortSignal;
  /** Whether its first step is long: then it waits for its turn before it begins, unless it is the only work. */
  readonly beginsLong?: boolean;
  /** How long its runs held the loop until now; kept here by `run`. */
  spentMs?: number;
}

/**
 * Shares the event loop among organizations. In each iteration of the loop heavy work holds it for one slice, for all
 * organizations together; organizations with unfinished work get the slices in turn, and within an
 * organization each piece of work gets its slice in turn.
 */
export class Turns {
  /** By organization, the next one first. */
  private readonly waiting = new Map<string, (() => void)[]>();
  private isTicking = false;
  private sliceEnd = 0;

  constructor(private readonly sliceMs = SLICE_MS) {}

  /** Throws `too_costly` when the budget is spent, and with the reason of the signal when that aborts. */
  async run<Result>(job: Job, steps: Steps<Result>): Promise<Result> {
    let isSpent = false;
    if (job.beginsLong && this.isTicking) await this.turn(job.org);
    let began = this.begin();
    try {
      for (;;) {
        const step = steps.next(isSpent);
        if (step.done) return step.value;
        const now = performance.now();
        const spentMs = (job.spentMs ?? 0) + now - began;
        const { budgetMs = Number.POSITIVE_INFINITY } = job;
        isSpent = spentMs > budgetMs;
        if (spentMs > budgetMs + (job.mayEndEarly ? OVERDRAFT_MS : 0)) throw tooCostly(job);
        if (now < this.sliceEnd || now < began + GRACE_MS) continue;
        job.spentMs = spentMs;
        await this.turn(job.org);
        began = performance.now();
        job.signal?.throwIfAborted();
      }
    } finally {
      job.spentMs = (job.spentMs ?? 0) + performance.now() - began;
    }
  }

  private begin(): number {
    const now = performance.now();
    if (!this.isTicking) {
      this.isTicking = true;
      this.sliceEnd = now + this.sliceMs;
      setImmediate(this.tick);
    }
    return now;
  }

  private turn(org: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.waiting.get(org);
      if (queue) queue.push(resolve);
      else this.waiting.set(org, [resolve]);
    });
  }

  /** Once an iteration of the loop, for as long as there is work: wakes one piece of it. */
  private readonly tick = (): void => {
    const [next] = this.waiting;
    if (!next) {
      this.isTicking = false;
      return;
    }
    const [org, queue] = next;
    this.waiting.delete(org);
    const wake = queue.shift();
    if (queue.length > 0) this.waiting.set(org, queue);
    this.sliceEnd = performance.now() + this.sliceMs;
    setImmediate(this.tick);
    wake?.();
  };
}

export function tooCostly({ budgetMs = 0, remedy = 'ask for less' }: Pick<Job, 'budgetMs' | 'remedy'>): ControlError {
  return new ControlError(
    'too_costly',
    `the request takes more than ${budgetMs} ms of the service's own time, which it shares with other organizations; ${remedy}`,
  );
}
