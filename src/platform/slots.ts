import { ControlError } from '../contract/errors.js';

/** A piece of work that has its place until it gives it back. */
export interface Slot {
  /** Whether somebody waits for a place that this one keeps. */
  readonly isWanted: boolean;
  /** Gives the place back; a second time has no effect. */
  release(): void;
}

export interface SlotsOptions {
  /** Places of one organization. */
  readonly perOrg: number;
  /** Places of all organizations together; one of its own each organization has in any case. */
  readonly inAll: number;
  /** How many of an organization may wait, and how long, in milliseconds. */
  readonly mostWaiting?: number;
  readonly longestWaitMs?: number;
}

interface Waiter {
  readonly enter: () => void;
}

const MOST_WAITING = 512;
const LONGEST_WAIT_MS = 30_000;

/**
 * Lets each organization have so many pieces of work under way. The others wait, first come, first served within an
 * organization, and organizations in turn where all places are taken.
 */
export class Slots {
  private readonly held = new Map<string, number>();
  private readonly waiting = new Map<string, Waiter[]>();
  private total = 0;

  constructor(private readonly options: SlotsOptions) {}

  /** Throws `rate_limited` when too many wait already, or it waited too long; and the reason of the signal when it aborts. */
  async take(org: string, signal?: AbortSignal): Promise<Slot> {
    signal?.throwIfAborted();
    if (this.isFree(org)) this.hold(org);
    else await this.wait(org, signal);
    let isHeld = true;
    const isWanted = () => this.isWanted(org);
    return {
      get isWanted() {
        return isHeld && isWanted();
      },
      release: () => {
        if (isHeld) this.release(org);
        isHeld = false;
      },
    };
  }

  async run<Result>(org: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const place = await this.take(org, signal);
    try {
      return await work();
    } finally {
      place.release();
    }
  }

  private isFree(org: string): boolean {
    const own = this.held.get(org) ?? 0;
    return own < this.options.perOrg && (own === 0 || this.total < this.options.inAll);
  }

  private isWanted(org: string): boolean {
    return this.waiting.has(org) || (this.waiting.size > 0 && this.total >= this.options.inAll);
  }

  private hold(org: string): void {
    this.held.set(org, (this.held.get(org) ?? 0) + 1);
    this.total += 1;
  }

  private release(org: string): void {
    const own = (this.held.get(org) ?? 0) - 1;
    if (own > 0) this.held.set(org, own);
    else this.held.delete(org);
    this.total -= 1;
    for (const [next, queue] of this.waiting) {
      if (!this.isFree(next)) continue;
      const waiter = queue.shift();
      // Behind all others, so that organizations take turns.
      this.waiting.delete(next);
      if (queue.length > 0) this.waiting.set(next, queue);
      this.hold(next);
      waiter?.enter();
      return;
    }
  }

  private wait(org: string, signal?: AbortSignal): Promise<void> {
    const { mostWaiting = MOST_WAITING, longestWaitMs = LONGEST_WAIT_MS, perOrg } = this.options;
    const queue = this.waiting.get(org) ?? [];
    const crowded = () =>
      new ControlError(
        'rate_limited',
        `the organization has ${perOrg} large reads under way in this process, and more wait: read their answers to the end, and retry`,
      );
    if (queue.length >= mostWaiting) return Promise.reject(crowded());
    this.waiting.set(org, queue);
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        this.leave(org, waiter);
        end();
        reject(reason);
      };
      const aborted = () => leave(signal?.reason);
      const timer = setTimeout(() => leave(crowded()), longestWaitMs);
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', aborted);
      };
      const waiter: Waiter = {
        enter: () => {
          end();
          resolve();
        },
      };
      signal?.addEventListener('abort', aborted, { once: true });
      queue.push(waiter);
    });
  }

  private leave(org: string, waiter: Waiter): void {
    const queue = this.waiting.get(org);
    const at = queue?.indexOf(waiter) ?? -1;
    if (at >= 0) queue?.splice(at, 1);
    if (queue?.length === 0) this.waiting.delete(org);
  }
}
