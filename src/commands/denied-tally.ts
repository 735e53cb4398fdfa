import { GRAVITIES, type Gravity } from '../model/gravity.js';
import { BoundedEntries } from '../platform/bounded-entries.js';

/** How many are recorded one by one: so many at once, and so many a second. */
const OF_PRINCIPAL = { atOnce: 50, aSecond: 10 };
const OF_ORGANIZATION = { atOnce: 200, aSecond: 40 };

/** So many are recorded in a minute whatever the budgets say, because nothing like them was before. */
const FIRSTS_OF_PRINCIPAL = 100;
const FIRSTS_OF_ORGANIZATION = 1_000;
const MINUTE_MS = 60_000;

/**
 * Which denied attempts of one organization are recorded one by one. Each gravity has budgets of its own, one for each
 * principal and one for all. The first attempt of a kind in a minute is recorded though the budgets are used up, as long
 * as there are not too many kinds.
 */
export class DeniedBudgets {
  private readonly budgets = Object.fromEntries(GRAVITIES.map((gravity) => [gravity, new Budgets()])) as Readonly<
    Record<Gravity, Budgets>
  >;

  /** `likeness`: what attempts of one kind have in common. */
  takes(gravity: Gravity, principal: string, likeness: string, now: number): boolean {
    return this.budgets[gravity].takes(principal, likeness, now);
  }
}

class Budgets {
  private readonly all = new Bucket(OF_ORGANIZATION);
  private principals = new Map<string, Bucket>();
  private readonly firsts = new Map<string, number>();
  private readonly likenesses = new Set<string>();
  private minute = Number.NEGATIVE_INFINITY;

  takes(principal: string, likeness: string, now: number): boolean {
    if (now >= this.minute + MINUTE_MS) this.beginMinute(now);
    else this.minute = Math.min(this.minute, now);
    const bucket = this.principals.get(principal) ?? new Bucket(OF_PRINCIPAL);
    this.principals.set(principal, bucket);
    const isFirst = this.isFirst(principal, likeness);
    // Not at the cost of all when the principal's own is used up.
    const hasRoom = bucket.takes(now) && this.all.takes(now);
    return isFirst || hasRoom;
  }

  private isFirst(principal: string, likeness: string): boolean {
    if (this.likenesses.has(likeness) || this.likenesses.size >= FIRSTS_OF_ORGANIZATION) return false;
    const known = this.firsts.get(principal) ?? 0;
    if (known >= FIRSTS_OF_PRINCIPAL) return false;
    this.firsts.set(principal, known + 1);
    this.likenesses.add(likeness);
    return true;
  }

  private beginMinute(now: number): void {
    this.minute = now;
    this.firsts.clear();
    this.likenesses.clear();
    // A full one says no more than none.
    this.principals = new Map([...this.principals].filter(([, bucket]) => !bucket.isFull(now)));
  }
}

class Bucket {
  private tokens: number;
  private at = Number.NEGATIVE_INFINITY;

  constructor(private readonly size: { readonly atOnce: number; readonly aSecond: number }) {
    this.tokens = size.atOnce;
  }

  takes(now: number): boolean {
    this.tokens = this.tokensAt(now);
    this.at = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  isFull(now: number): boolean {
    return this.tokensAt(now) >= this.size.atOnce;
  }

  /** A clock that goes backward adds nothing. */
  private tokensAt(now: number): number {
    const { atOnce, aSecond } = this.size;
    return Math.min(atOnce, this.tokens + (Math.max(0, now - this.at) / 1000) * aSecond);
  }
}

const MOST_KEPT = 200;
const MOST_TOLD = 10;

/** What attempts have in common that are counted together. */
export interface DeniedGroup {
  readonly gravity: Gravity;
  /** Link. */
  readonly principal: string;
  readonly kind: string;
  readonly permission: string;
  readonly address: string;
}

interface Counted extends DeniedGroup {
  attempts: number;
}

export interface DeniedSummary {
  /** How many attempts were not recorded one by one. */
  readonly unrecorded: number;
  /** Of whom, for want of what, from where: the gravest first, then the most frequent. */
  readonly by: readonly Counted[];
  /** How many are not among those. */
  readonly others: number;
}

/** Counts the attempts of one organization that are not recorded one by one, in bounded memory. */
export class DeniedTally {
  private total = 0;
  private others = 0;
  private readonly groups = new BoundedEntries<Counted>(MOST_KEPT, byWeight, ({ attempts }) => {
    this.others += attempts;
  });

  add(group: DeniedGroup, attempts = 1): void {
    this.total += attempts;
    const { gravity, principal, kind, permission, address } = group;
    const counted = this.groups.of(likenessOf(group), () => ({
      ...{ principal, kind, permission, address, gravity },
      attempts: 0,
    }));
    counted.attempts += attempts;
  }

  /** Ends the tally. */
  summary(): DeniedSummary {
    const by = this.groups.first(MOST_TOLD).map(([, counted]) => counted);
    return { unrecorded: this.total, by, others: this.others };
  }

  /** Takes in a summary that could not be recorded. */
  takeBack({ by, others }: DeniedSummary): void {
    for (const { attempts, ...group } of by) this.add(group, attempts);
    this.total += others;
    this.others += others;
  }
}

export function likenessOf({ gravity, principal, kind, permission, address }: DeniedGroup): string {
  return JSON.stringify([gravity, principal, kind, permission, address]);
}

function byWeight(one: Counted, other: Counted): number {
  return GRAVITIES.indexOf(one.gravity) - GRAVITIES.indexOf(other.gravity) || other.attempts - one.attempts;
}
