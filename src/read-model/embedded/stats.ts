import type { DatabaseSync } from 'node:sqlite';
import { compareText } from '../../model/query.js';
import { type Steps, tooCostly } from '../../platform/turns.js';
import { kindOf } from '../kinds.js';
import { nothingCounted, type Stats, type StatsQuery } from '../stats.js';
import type { RowExpiry } from './condition.js';
import { IndexWalk } from './index-walk.js';
import { column, type RowFormat } from './row.js';
import { isImpossible, jobOf, pathOf } from './search.js';

/** Counts what matches, of a checked query, in the order of time. What is stored meanwhile may or may not be counted. */
export function* statsOf(db: DatabaseSync, expiry: RowExpiry, rows: RowFormat, query: StatsQuery): Steps<Stats> {
  const { kind, texts } = rows;
  const { by, top, bounds } = query;
  if (isImpossible(kind, query)) return nothingCounted(query);
  const order = { field: kindOf(kind).sort, direction: 'ascending' } as const;
  const walk = new IndexWalk(db, pathOf(expiry, rows, query, order));
  const values = new Frequencies();
  const buckets = bounds.slice(1).map(() => 0);
  let [count, without, bucket] = [0, 0, -1];
  while (!walk.isDone) {
    walk.step([column(by)], ([time], [value]) => {
      count += 1;
      if (value === null) without += 1;
      else values.add(Number(value));
      while (bucket < buckets.length && Number(time) >= (bounds[bucket + 1] ?? Number.POSITIVE_INFINITY)) bucket += 1;
      if (bucket >= 0 && bucket < buckets.length) buckets[bucket] = (buckets[bucket] ?? 0) + 1;
      return true;
    });
    if (!walk.isDone && (yield)) throw tooCostly(jobOf(query));
  }
  const named: { value: string; count: number }[] = [];
  const keepFirst = () => {
    named.sort((one, other) => other.count - one.count || compareText(one.value, other.value)).splice(top);
  };
  for (const [number, times] of values.mostFrequent(top)) {
    named.push({ value: texts.textOf(number), count: times });
    // Thousands may be equally frequent.
    if (named.length > 2 * top) keepFirst();
    yield;
  }
  keepFirst();
  const { error } = values;
  const otherValues = error > 0 ? undefined : values.size - named.length;
  return { count, without, values: named, error, otherValues, buckets };
}

/** How many values are counted at once: all of them, unless there are more. */
const MOST_VALUES = 10_000;

/**
 * How often numbers occur, in bounded memory. Exact up to `MOST_VALUES` different ones. From then on the rarest are forgotten
 * (Misra and Gries, "Finding repeated elements", 1982; counts as in Manku and Motwani's lossy counting): a count may be too low
 * by `error`, which is at most one in `MOST_VALUES` of all that was added.
 */
export class Frequencies {
  error = 0;
  private readonly counts = new Map<number, { count: number; readonly missed: number }>();

  constructor(private readonly most = MOST_VALUES) {}

  get size(): number {
    return this.counts.size;
  }

  add(number: number): void {
    const found = this.counts.get(number);
    if (found) {
      found.count += 1;
      return;
    }
    this.counts.set(number, { count: 1, missed: this.error });
    if (this.counts.size > this.most) this.forget();
  }

  /** So many of the most frequent, and all that are as frequent as the last of those, in no order. */
  mostFrequent(count: number): (readonly [number, number])[] {
    const all = Array.from(this.counts, ([number, found]) => [number, found.count] as const);
    const least =
      Float64Array.from(all, ([, times]) => times)
        .sort()
        .at(-count) ?? 0;
    return all.filter(([, times]) => times >= least);
  }

  private forget(): void {
    this.error += 1;
    for (const [number, { count, missed }] of this.counts) {
      if (count + missed <= this.error) this.counts.delete(number);
    }
  }
}
