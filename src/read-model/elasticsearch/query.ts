import type { FieldValue } from '../document.js';
import { expiryField, valueOfClass } from '../expiry-class.js';
import { KINDS, type Kind, type KindName } from '../kinds.js';
import type { Filter, SearchQuery } from '../search.js';
import { type Elasticsearch, ElasticsearchFault } from './client.js';
import { type Limits, type Stored, termField } from './document.js';
import { LONGEST_TERM } from './mapping.js';
import { isMonthly } from './names.js';

export type Query = Readonly<Record<string, unknown>>;

const NOTHING: Query = { match_none: {} };

/** Throws for a query that no page answers. */
export function checkBounds({ limit, offset = 0, cursor }: SearchQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw new Error('a page has 1 to 1000 documents');
  if (!Number.isInteger(offset) || offset < 0 || offset > 10_000) throw new Error('an offset is from 0 to 10,000');
  if (cursor && offset > 0) throw new Error('a cursor and an offset exclude each other');
}

/**
 * The documents of one organization that match all filters and have not expired. Values stand where Elasticsearch takes
 * them for nothing but values, and names are those of `KINDS`.
 */
export function matching(kind: KindName, query: Pick<SearchQuery, 'org' | 'filters'>, limits: Limits): Query {
  const { org, filters } = query;
  return {
    bool: {
      filter: [exactly('org', org), ...filters.map((filter) => filterQuery(kind, filter))],
      must_not: [...(isMonthly(kind) ? [] : [{ term: { deleted: true } }]), ...expired(kind, filters, limits)],
    },
  };
}

/** Throws for a field that the kind does not have. */
export function typeOf(kind: KindName, field: string): 'keyword' | 'time' {
  const { fields }: Kind = KINDS[kind];
  const type = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (type === undefined) throw new Error(`${kind} has no field ${field}`);
  return type;
}

function filterQuery(kind: KindName, filter: Filter): Query {
  const { field } = filter;
  const type = typeOf(kind, field);
  if (filter.op === 'in')
    return among(
      field,
      filter.values.filter((value) => isOfType(type, value)),
    );
  const { op, value } = filter;
  if (!isOfType(type, value)) return NOTHING;
  if (op === '=') return exactly(termField(field), value);
  if (typeof value === 'string' && !value.isWellFormed()) return NOTHING;
  return { range: { [termField(field)]: { [op === '<' ? 'lt' : 'gte']: value } } };
}

function isOfType(type: 'keyword' | 'time', value: FieldValue): boolean {
  if (typeof value === 'string' && value.length > LONGEST_TERM) {
    throw new Error(`a filter has at most ${LONGEST_TERM} characters`);
  }
  return type === 'time' ? Number.isFinite(value) : typeof value === 'string';
}

/** Elasticsearch takes 65,536 values in one `terms` query. */
function among(field: string, values: readonly FieldValue[]): Query {
  const sound = values.filter((value) => typeof value !== 'string' || value.isWellFormed());
  return sound.length === 0 ? NOTHING : { terms: { [termField(field)]: [...new Set(sound)] } };
}

/** A text with half a character is in no document; JSON would turn it into another. */
function exactly(field: string, value: string | number): Query {
  return typeof value === 'string' && !value.isWellFormed() ? NOTHING : { term: { [field]: value } };
}

/** What has expired, of what the filters let through. Equal limits share a condition. */
function expired(kind: KindName, filters: readonly Filter[], limits: Limits): Query[] {
  const by = expiryField(kind);
  const only = filters.flatMap((one) => (one.field === by && one.op === '=' ? [one.value] : []))[0];
  const classesOf = new Map<number, string[]>();
  for (const [name, limit] of limits) {
    if (limit <= 0 || (only !== undefined && only !== valueOfClass(kind, name))) continue;
    const classes = classesOf.get(limit);
    if (classes) classes.push(name);
    else classesOf.set(limit, [name]);
  }
  return [...classesOf].map(([limit, classes]) => expiredBefore(kind, classes, limit));
}

/** What the log took before the instant, of these classes. */
export function expiredBefore(kind: KindName, classes: readonly string[], limit: number): Query {
  return { bool: { filter: [ofClasses(kind, classes), { range: { time: { lt: limit } } }] } };
}

function ofClasses(kind: KindName, classes: readonly string[]): Query {
  const { expiresBy }: Kind = KINDS[kind];
  if (!expiresBy) return NOTHING;
  const { field, apart } = expiresBy;
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
  /** How many shards were asked: none where there is no index. */
  readonly shards: number;
}

export interface SearchAnswer {
  readonly timed_out: boolean;
  readonly _shards: { readonly total: number; readonly failed: number };
  readonly hits?: { readonly hits?: readonly Hit[] };
  readonly aggregations?: unknown;
}

/** What a search is told besides its query: to fail where a part cannot be searched; a closed index is one. */
export const WHOLE = { allow_partial_search_results: false, expand_wildcards: 'open,closed' } as const;

/** Rejects when any shard did not answer: an answer is whole, or none. */
export async function searchIn(es: Elasticsearch, indices: string, body: object): Promise<Found> {
  const path = `/${indices}/_search`;
  return foundIn(
    await es.request<SearchAnswer>('POST', path, { body: { track_total_hits: false, ...body }, query: WHOLE }),
  );
}

export function foundIn({ timed_out, _shards, hits, aggregations }: SearchAnswer): Found {
  if (timed_out || _shards.failed > 0) {
    throw new ElasticsearchFault(`${_shards.failed} shards of ${_shards.total} did not answer`, 503, 'partial_answer');
  }
  return { hits: hits?.hits ?? [], aggregations, shards: _shards.total };
}
