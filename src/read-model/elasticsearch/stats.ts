import { type KindName, kindOf } from '../kinds.js';
import { limitsOf } from '../retention.js';
import { nothingCounted, type Stats, type StatsQuery } from '../stats.js';
import { termField } from './document.js';
import { matching, NOTHING, searchAll } from './query.js';
import type { View } from './reader.js';

/**
 * How many values a shard returns: with no more than that, counts are exact. With more, a count may lack what shards have that
 * did not return the value; Elasticsearch says how much at most.
 */
const VALUES_A_SHARD = 10_001;

/** Up to so many different values their number is close to exact, and told. */
const MOST_DISTINCT = 10_000;

interface Counted {
  readonly all: { readonly value: number };
  readonly without: { readonly doc_count: number };
  readonly distinct: { readonly value: number };
  readonly by: {
    readonly doc_count_error_upper_bound: number;
    readonly buckets: readonly { readonly key: string; readonly doc_count: number }[];
  };
  readonly over?: { readonly buckets: readonly { readonly doc_count: number }[] };
}

/** Of one generation, in one request; the query is checked. */
export async function statsOf(view: View, kind: KindName, query: StatsQuery): Promise<Stats> {
  const { by, top, bounds, org } = query;
  const field = termField(by);
  const ranges = bounds.slice(1).map((to, index) => ({ from: bounds[index], to }));
  const aggs = {
    // Every document has an offset.
    all: { value_count: { field: 'offset' } },
    without: { missing: { field } },
    distinct: { cardinality: { field, precision_threshold: MOST_DISTINCT } },
    by: { terms: { field, size: top, shard_size: VALUES_A_SHARD } },
    ...(ranges.length > 0 && { over: { range: { field: termField(kindOf(kind).sort), ranges } } }),
  };
  const body = { size: 0, query: matching(kind, query, limitsOf(view.retention, kind, org)), aggs };
  const [{ aggregations } = NOTHING] = await searchAll(view.es, view.indicesOf(kind), [body]);
  if (aggregations === undefined) return nothingCounted(query);
  const { all, without, distinct, by: found, over } = aggregations as Counted;
  const values = found.buckets.map(({ key, doc_count }) => ({ value: key, count: doc_count }));
  return {
    count: all.value,
    without: without.doc_count,
    values,
    error: found.doc_count_error_upper_bound,
    otherValues: distinct.value > MOST_DISTINCT ? undefined : Math.max(0, distinct.value - values.length),
    buckets: (over?.buckets ?? []).map(({ doc_count }) => doc_count),
  };
}
