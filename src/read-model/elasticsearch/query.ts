import { type Elasticsearch, ElasticsearchFault } from '../../platform/elasticsearch.js';
import type { FieldValue } from '../document.js';
import type { KindName } from '../kinds.js';
import { expiryOf, type Limits, limitsWithin } from '../retention.js';
import { type Filter, possibleValues, type SearchQuery } from '../search.js';
import { type Stored, termField } from './document.js';
import { LONGEST_TERM } from './mapping.js';
import { isMonthly } from './names.js';

export type Query = Readonly<Record<string, unknown>>;

const NO_DOCUMENT: Query = { match_none: {} };

/**
 * The documents of one organization that match all filters and have not expired. Values appear only where Elasticsearch
 * reads them as values, and names are those of `KINDS`.
 */
export function matching(kind: KindName, query: Pick<SearchQuery, 'org' | 'filters'>, limits: Limits): Query {
  const { org, filters } = query;
  return {
    bool: {
      filter: [
        org.isWellFormed() ? { term: { org } } : NO_DOCUMENT,
        ...filters.map((filter) => filterQuery(kind, filter)),
      ],
      must_not: [...(isMonthly(kind) ? [] : [{ term: { deleted: true } }]), ...expired(kind, filters, limits)],
    },
  };
}

function filterQuery(kind: KindName, filter: Filter): Query {
  // Checked: hexadecimal digits. The field has values, but no index.
  if (filter.op === 'ends') return { wildcard: { id: { value: `????????-????-????-????-*${filter.value}` } } };
  const name = termField(filter.field);
  const values = possibleValues(kind, filter).filter(isIndexable);
  if (values.length === 0) return NO_DOCUMENT;
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

export const NOTHING: Found = { hits: [], aggregations: undefined, shards: 0 };

interface SearchAnswer {
  readonly timed_out: boolean;
  readonly _shards: { readonly total: number; readonly failed: number };
  readonly hits?: { readonly hits?: readonly Hit[] };
  readonly aggregations?: unknown;
}

/** A search fails if a part cannot be searched, such as a closed index. */
const WHOLE = { allow_partial_search_results: false, expand_wildcards: 'open,closed' } as const;

/** The only parts of the responses that are read. */
const PARTS = ['status', 'error.type', 'timed_out', '_shards.total', '_shards.failed', 'hits.hits', 'aggregations']
  .map((part) => `responses.${part}`)
  .join(',');

/**
 * Several searches of the same indices, in one request, which may name any number of them. Rejects if an index is missing or
 * any shard did not respond: there are no partial results.
 */
export async function searchAll(
  es: Elasticsearch,
  indices: readonly string[],
  bodies: readonly object[],
  maxBytes?: number,
): Promise<Found[]> {
  // Elasticsearch takes no index for all.
  if (indices.length === 0) return bodies.map(() => NOTHING);
  const header = JSON.stringify({ index: indices, allow_partial_search_results: false });
  const lines = bodies.map((body) => `${header}\n${JSON.stringify({ track_total_hits: false, ...body })}\n`).join('');
  type Answer = { readonly status: number; readonly error?: { readonly type: string } } & SearchAnswer;
  const { responses } = await es.request<{ readonly responses: readonly Answer[] }>('POST', '/_msearch', {
    lines,
    query: { filter_path: PARTS },
    maxBytes,
  });
  return bodies.map((_body, at) => {
    const { status = 503, error, ...answer } = responses[at] ?? { error: { type: 'no_response' } };
    if (!error && '_shards' in answer) return foundIn(answer);
    const type = error?.type ?? 'no_response';
    throw new ElasticsearchFault(`Elasticsearch answered ${status} ${type} to a search`, status, type);
  });
}

/** Rejects if any shard did not respond: there are no partial results. */
export async function searchIn(es: Elasticsearch, indices: string, body: object): Promise<Found> {
  const path = `/${indices}/_search`;
  return foundIn(
    await es.request<SearchAnswer>('POST', path, {
      body: { track_total_hits: false, ...body },
      query: WHOLE,
    }),
  );
}

function foundIn({ timed_out, _shards, hits, aggregations }: SearchAnswer): Found {
  if (timed_out || _shards.failed > 0) {
    throw new ElasticsearchFault(`${_shards.failed} shards of ${_shards.total} did not respond`, 503, 'partial_answer');
  }
  return { hits: hits?.hits ?? [], aggregations, shards: _shards.total };
}
