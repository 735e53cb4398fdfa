import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import { BoundedEntries } from '../platform/bounded-entries.js';
import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';
import { networkOf } from '../platform/network.js';

const WINDOW_MS = 60_000;

/** How many addresses, and how many invitations, are counted separately within a window. */
const MOST_KEPT = 4_096;

/** So many addresses are named in a warning. */
const MOST_TOLD = 20;

/** Wrong codes of one invitation in a window. Codes have 256 bits, so this holds off noise, not success. */
const CODES_OF_ONE_INVITATION = 10;

export interface Attempt {
  readonly guessed: 'key' | 'code';
  /** The caller's address. */
  readonly address: string;
  /** Of a code: which invitation of which organization was named, whether it exists or not. */
  readonly invitation?: string;
}

/** An attempt that counts as a guess until it turns out right. */
export interface Guess {
  right(): void;
  wrong(): void;
}

interface Count {
  keys: number;
  codes: number;
  /** How many of them were refused without a look at the log. */
  throttled: number;
}

/**
 * Counts keys and invitation codes that this process does not know, by the caller's address (IPv6 by /64), in windows of
 * a minute. Each window with guesses ends with one warning in the log. An address with more guesses than `perMinute`
 * (0: no limit) is refused until the window ends; ask only about what is unknown, so that a valid key is never refused.
 * Memory is bounded: the addresses with the fewest guesses are summed up when there are too many.
 */
export class Guesses {
  private byAddress = new Counts();
  private byInvitation = new Counts();
  private windowStart = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly perMinute: number,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** Throws `rate_limited` if the address or the invitation has had too many guesses in this window. */
  begin({ guessed, address, invitation }: Attempt): Guess {
    const now = this.openWindow();
    const by = this.byAddress.of(networkOf(address));
    const ofInvitation = invitation === undefined ? undefined : this.byInvitation.of(invitation);
    const counts = ofInvitation ? [by, ofInvitation] : [by];
    const add = (more: 1 | -1) => {
      for (const count of counts) count[guessed === 'key' ? 'keys' : 'codes'] += more;
    };
    add(1);
    const tooMany = by.keys + by.codes > this.perMinute || (ofInvitation?.codes ?? 0) > CODES_OF_ONE_INVITATION;
    if (tooMany && this.perMinute > 0) {
      by.throttled += 1;
      this.metrics.guessed(guessed, 'throttled');
      throw throttled(Math.ceil((this.windowStart + WINDOW_MS - now) / 1000));
    }
    return { right: () => add(-1), wrong: () => this.metrics.guessed(guessed, 'refused') };
  }

  /** Writes the last warning. */
  close(): void {
    this.endWindow();
  }

  /** Returns the time now, which lies in the window. */
  private openWindow(): number {
    const now = this.clock.now();
    if (now < this.windowStart || now >= this.windowStart + WINDOW_MS) {
      this.endWindow();
      this.windowStart = now;
    }
    this.timer ??= setTimeout(() => this.endWindow(), WINDOW_MS).unref();
    return now;
  }

  private endWindow(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.windowStart = Number.NEGATIVE_INFINITY;
    const { most, others } = this.byAddress.summary();
    this.byAddress = new Counts();
    this.byInvitation = new Counts();
    if (most.length === 0 && totalOf(others) === 0) return;
    const addresses = most.map(([address, count]) => ({ address, ...count }));
    this.logger.warn({ addresses, others }, 'unknown keys or wrong invitation codes were sent in the last minute');
  }
}

function throttled(seconds: number): ControlError {
  const message = `too many unknown keys or wrong codes from your address or for this invitation; check the key or code, and retry in ${seconds} s`;
  return new ControlError('rate_limited', message, { retryAfterSeconds: seconds });
}

function totalOf({ keys, codes }: Count): number {
  return keys + codes;
}

/** Counts by name; the lowest are summed up. */
class Counts {
  private readonly others: Count = { keys: 0, codes: 0, throttled: 0 };
  private readonly entries = new BoundedEntries<Count>(
    MOST_KEPT,
    (one, other) => totalOf(other) - totalOf(one),
    (count) => {
      this.others.keys += count.keys;
      this.others.codes += count.codes;
      this.others.throttled += count.throttled;
    },
  );

  of(name: string): Count {
    return this.entries.of(name, () => ({ keys: 0, codes: 0, throttled: 0 }));
  }

  /** Names whose attempts all turned out right are left out. */
  summary(): { readonly most: readonly (readonly [string, Count])[]; readonly others: Count } {
    const most = this.entries.first(MOST_TOLD).filter(([, count]) => totalOf(count) > 0);
    return { most, others: this.others };
  }
}
