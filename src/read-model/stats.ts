import { LIMITS } from '../contract/limits.js';
import { type KindName, kindOf } from './kinds.js';
import { checkFilter, type Filter } from './search.js';

export interface StatsQuery {
  readonly org: string;
  /** All must match. */
  readonly filters: readonly Filter[];
  /** A keyword that `isCounted`. */
  readonly by: string;
  /** How many values to return, 1 to `LIMITS.stats.values`. */
  readonly top: number;
  /** Instants, ascending: the documents between each two of them are counted by the kind's `sort`, from inclusive, to exclusive. */
  readonly bounds: readonly number[];
  /** As in `SearchQuery`; when it is spent, throws `too_costly`. */
  readonly budgetMs?: number;
}

/** How the values of a field are distributed over the documents that match. */
export interface Stats {
  /** How many documents match. */
  readonly count: number;
  /** How many of them do not have the field. */
  readonly without: number;
  /** The most frequent values; of equally frequent ones the first by code point. */
  readonly values: readonly { readonly value: string; readonly count: number }[];
  /** Each count of a value is at most this much too low. More than 0 only if there are very many values. */
  readonly error: number;
  /** How many values are not among them; undefined if there are very many. */
  readonly otherValues: number | undefined;
  /** How many documents are between each two bounds. */
  readonly buckets: readonly number[];
}

/** Whether documents can be counted by the values of the field: keywords whose values repeat. */
export function isCounted(kind: KindName, field: string): boolean {
  const { fields, unique, sort } = kindOf(kind);
  return Object.hasOwn(fields, field) && fields[field] === 'keyword' && field !== sort && !unique.includes(field);
}

/** Throws for a query out of its bounds, or of a field whose values are not counted. */
export function checkStats(kind: KindName, { by, top, bounds, filters }: StatsQuery): void {
  const { fields, sort } = kindOf(kind);
  if (!isCounted(kind, by)) throw new Error(`${kind} is not counted by ${by}`);
  const { values } = LIMITS.stats;
  if (!Number.isInteger(top) || top < 1 || top > values) throw new Error(`top is a whole number from 1 to ${values}`);
  if (bounds.length > 0 && fields[sort] !== 'time') throw new Error(`${kind} is not ordered by time`);
  for (const filter of filters) checkFilter(kind, filter);
}

export function nothingCounted({ bounds }: Pick<StatsQuery, 'bounds'>): Stats {
  const buckets = bounds.slice(1).map(() => 0);
  return { count: 0, without: 0, values: [], error: 0, otherValues: 0, buckets };
}
