import type { FieldValue } from '../document.js';
import type { KindName } from '../kinds.js';
import { expiryOf, type Limits, limitsWithin } from '../retention.js';
import { type Filter, possibleValues, type SearchQuery } from '../search.js';
import { type Elasticsearch, ElasticsearchFault } from './client.js';
import { type Stored, termField } from './document.js';
import { LONGEST_TERM } from './mapping.js';
import { isMonthly } from './names.js';

export type Query = Readonly<Record<string, unknown>>;

const NOTHING: Query = { match_none: {} };

/**
 * The documents of one organization that match all filters and have not expired. Values appear only where Elasticsearch
 * reads them as values, and names are those of `KINDS`.
 */
export function matching(kind: KindName, query: Pick<SearchQuery, 'org' | 'filters'>, limits: Limits): Query {
  const { org, filters } = query;
  return {
    bool: {
      filter: [org.isWellFormed() ? { term: { org } } : NOTHING, ...filters.map((filter) => filterQuery(kind, filter))],
      must_not: [...(isMonthly(kind) ? [] : [{ term: { deleted: true } }]), ...expired(kind, filters, limits)],
    },
  };
}

function filterQuery(kind: KindName, filter: Filter): Query {
  const name = termField(filter.field);
  const values = possibleValues(kind, filter).filter(isIndexable);
  if (values.length === 0) return NOTHING;
  // Elasticsearch takes 65,536 values in one `terms` query.
  if (filter.op === 'in') return { terms: { [name]: [...new Set(values)] } };
  if (filter.op === '=') return { term: { [name]: filter.value } };
  return { range: { [name]: { [filter.op === '<' ? 'lt' : 'gte']: filter.value } } };
}

/** A text with half a surrogate pair is in no document; JSON would turn it into another text. */
function isIndexable(value: FieldValue): boolean {
  if (typeof value === 'string' && value.length > LONGEST_TERM) {
    throw new Error(`a filter has at most ${LONGEST_TERM} characters`);
  }
  return typeof value !== 'string' || value.isWellFormed();
}

/** Conditions for expired documents among those that the filters match. Equal limits share a condition. */
function expired(kind: KindName, filters: readonly Filter[], limits: Limits): Query[] {
  const byLimit = Map.groupBy(limitsWithin(kind, limits, filters), ([, limit]) => limit);
  return Array.from(byLimit, ([limit, entries]) =>
    expiredBefore(
      kind,
      entries.map(([name]) => name),
      limit,
    ),
  );
}

/** Documents of these classes whose records the log took before `limit`. */
export function expiredBefore(kind: KindName, classes: readonly string[], limit: number): Query {
  return { bool: { filter: [ofClasses(kind, classes), { range: { time: { lt: limit } } }] } };
}

function ofClasses(kind: KindName, classes: readonly string[]): Query {
  const { field, apart } = expiryOf(kind);
  const isApart = {
    bool: { filter: [{ term: { [termField(field)]: apart.value } }, { term: { [termField(apart.field)]: apart.is } }] },
  };
  const values = { terms: { [termField(field)]: classes.filter((name) => name !== apart.name) } };
  if (classes.includes(apart.name)) return { bool: { should: [isApart, values], minimum_should_match: 1 } };
  return classes.includes(apart.value) ? { bool: { filter: [values], must_not: [isApart] } } : values;
}

export interface Hit {
  readonly _index: string;
  readonly _id: string;
  readonly _source?: Stored;
  readonly _seq_no?: number;
  readonly _primary_term?: number;
  readonly sort?: readonly (string | number)[];
  readonly fields?: Readonly<Record<string, readonly unknown[]>>;
}

export interface Found {
  readonly hits: readonly Hit[];
  readonly aggregations: unknown;
  /** How many shards were searched: none if there is no index. */
  readonly shards: number;
}

export interface SearchAnswer {
  readonly timed_out: boolean;
  readonly _shards: { readonly total: number; readonly failed: number };
  readonly hits?: { readonly hits?: readonly Hit[] };
  readonly aggregations?: unknown;
}

/** A search fails if a part cannot be searched, such as a closed index. */
export const WHOLE = { allow_partial_search_results: false, expand_wildcards: 'open,closed' } as const;

/** Rejects if any shard did not respond: there are no partial results. */
export async function searchIn(es: Elasticsearch, indices: string, body: object): Promise<Found> {
  const path = `/${indices}/_search`;
  return foundIn(
    await es.request<SearchAnswer>('POST', path, { body: { track_total_hits: false, ...body }, query: WHOLE }),
  );
}

export function foundIn({ timed_out, _shards, hits, aggregations }: SearchAnswer): Found {
  if (timed_out || _shards.failed > 0) {
    throw new ElasticsearchFault(`${_shards.failed} shards of ${_shards.total} did not respond`, 503, 'partial_answer');
  }
  return { hits: hits?.hits ?? [], aggregations, shards: _shards.total };
}
