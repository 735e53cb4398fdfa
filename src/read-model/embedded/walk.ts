import type { DatabaseSync } from 'node:sqlite';
import type { KindName } from '../kinds.js';
import { classColumn } from './expiry.js';
import { isBefore, type Spot } from './marks.js';

/** Looks for the expired documents of one class, behind where it is. */
export interface Walker {
  readonly value: string;
  readonly limit: number;
  readonly at: Spot;
}

export interface WalkedRow {
  readonly rowid: number;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
  readonly value: string;
}

/** The rows of an organization and shard behind a spot, in the order received. */
export type RowsBehind = (org: string, shard: string, spot: Spot) => Iterable<WalkedRow>;

export function rowsBehind(db: DatabaseSync, kind: KindName): RowsBehind {
  const statement = db.prepare(`SELECT rowid, "offset", ordinal, time, ${classColumn(kind)} AS value FROM "${kind}"
    WHERE org = ? AND shard = ? AND ("offset", ordinal) > (?, ?) ORDER BY "offset", ordinal`);
  return (org, shard, spot) => statement.iterate(org, shard, ...spot) as Iterable<unknown> as Iterable<WalkedRow>;
}

export interface Walk {
  readonly expired: readonly WalkedRow[];
  /** Those that got on, where they are now. */
  readonly moved: readonly Walker[];
  /** Whether some are not at their limits yet. */
  readonly more: boolean;
}

/**
 * Takes all walkers over the rows together, so that many values cost little more than one. Each joins at its place and
 * ends before the first row that is not older than its limit, since times do not decrease along a shard. Over `most` rows
 * at once.
 */
export function walk(walkers: readonly Walker[], rowsFrom: (spot: Spot) => Iterable<WalkedRow>, most: number): Walk {
  const group = new Group(walkers);
  const expired: WalkedRow[] = [];
  let passed = 0;
  for (let start = group.start(); start; start = group.start()) {
    for (const row of rowsFrom(start)) {
      if (passed === most) return { expired, moved: group.stop(), more: true };
      if (!group.pass(row)) break;
      passed += 1;
      if (group.has(row.value)) expired.push(row);
    }
    // There are no rows any more, or there is nobody before the place where the next ones wait.
    if (group.isUnderWay) break;
  }
  return { expired, moved: group.stop(), more: false };
}

class Group {
  /** The next one last. */
  private readonly waiting: Walker[];
  private readonly walking = new Map<string, Walker>();
  private readonly moved: Walker[] = [];
  private at: Spot = [-1, 0];
  private nearest = Number.POSITIVE_INFINITY;

  constructor(walkers: readonly Walker[]) {
    this.waiting = walkers.toSorted((one, other) => (isBefore(one.at, other.at) ? 1 : -1));
  }

  get isUnderWay(): boolean {
    return this.walking.size > 0;
  }

  has(value: string): boolean {
    return this.walking.has(value);
  }

  start(): Spot | undefined {
    const first = this.waiting.pop();
    if (!first) return undefined;
    this.at = first.at;
    this.join(first);
    return first.at;
  }

  /** Not when nobody goes on over this row. */
  pass({ offset, ordinal, time }: WalkedRow): boolean {
    const spot: Spot = [offset, ordinal];
    for (let next = this.waiting.at(-1); next && isBefore(next.at, spot); next = this.waiting.at(-1)) {
      this.waiting.pop();
      this.join(next);
    }
    if (time >= this.nearest) this.end(time);
    if (this.walking.size > 0) this.at = spot;
    return this.walking.size > 0;
  }

  stop(): readonly Walker[] {
    for (const walker of this.walking.values()) this.leave(walker);
    return this.moved;
  }

  private join(walker: Walker): void {
    this.walking.set(walker.value, walker);
    this.nearest = Math.min(this.nearest, walker.limit);
  }

  private end(time: number): void {
    this.nearest = Number.POSITIVE_INFINITY;
    for (const walker of [...this.walking.values()]) {
      if (walker.limit <= time) this.leave(walker);
      else this.nearest = Math.min(this.nearest, walker.limit);
    }
  }

  private leave(walker: Walker): void {
    this.walking.delete(walker.value);
    if (isBefore(walker.at, this.at)) this.moved.push({ ...walker, at: this.at });
  }
}
