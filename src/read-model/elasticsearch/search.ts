import type { Document } from '../document.js';
import { expires } from '../expiry-class.js';
import { KINDS, type Kind, type KindName } from '../kinds.js';
import type { Retention } from '../read-model.js';
import type { Cursor, Order, Page, SearchQuery } from '../search.js';
import { type Found, getAll } from './bulk.js';
import type { Catalog } from './catalog.js';
import { type Elasticsearch, isMissing } from './client.js';
import {
  documentId,
  documentOf,
  hasExpired,
  type Limits,
  type Location,
  monthIn,
  monthOf,
  type Stored,
  termField,
} from './document.js';
import { isMonthly } from './names.js';
import { type Hit, matching, searchIn, typeOf } from './query.js';
import { replaced, type Served } from './served.js';

/** What reads of the live generation need. */
export interface Reader {
  readonly es: Elasticsearch;
  readonly catalog: Catalog;
  readonly retention: Retention;
  readonly served: Served;
}

export function limitsOf({ retention }: Pick<Reader, 'retention'>, kind: KindName, org: string): Limits {
  return !expires(kind) ? new Map() : retention.limits(kind, org);
}

/** As last written, searchable or not. */
export async function getDocument(
  reader: Reader,
  kind: KindName,
  org: string,
  id: string,
): Promise<Document | undefined> {
  if (!org.isWellFormed() || !id.isWellFormed()) return undefined;
  const vouch = reader.served.begin();
  const found = await getStored(reader, kind, documentId(org, id), id);
  await vouch(found?.location.index);
  const stored = found?.stored;
  if (stored?.org !== org || stored.deleted) return undefined;
  return hasExpired(kind, limitsOf(reader, kind, org), stored.fields, stored.time) ? undefined : documentOf(stored);
}

async function getStored(reader: Reader, kind: KindName, documentId: string, id: string): Promise<Found | undefined> {
  const { names } = reader.catalog;
  if (!isMonthly(kind)) return getOne(reader, { index: names.liveDocuments(kind), id: documentId });
  const month = monthIn(id);
  if (month !== undefined) return getOne(reader, { index: names.liveMonth(month), id: documentId });
  const pointer = await getOne(reader, { index: names.liveKeys, id: documentId });
  const generation = pointer && names.generationIn(pointer.location.index);
  if (pointer === undefined || generation === undefined) return undefined;
  const index = names.month(generation, monthOf(pointer.stored.time));
  const found = await getOne(reader, { index, id: documentId });
  // Where the pointer leads to something else by now, what it led to is not there.
  return found && samePlace(found.stored, pointer.stored) ? found : undefined;
}

function samePlace(one: Stored, other: Stored): boolean {
  return one.partition === other.partition && one.offset === other.offset && one.ordinal === other.ordinal;
}

async function getOne({ es }: Reader, location: Location): Promise<Found | undefined> {
  try {
    return (await getAll(es, [location]))[0];
  } catch (error) {
    // A month without documents has no index.
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

/**
 * How many documents are fetched at once where a page is limited by bytes: what they have is known only when they are
 * there, and that is 16 MiB at most.
 */
export const FETCHED_AT_ONCE = 64;

/** One page in the order of a field, of one generation. */
export async function searchByField(reader: Reader, kind: KindName, query: SearchQuery): Promise<Page> {
  const { limit, offset = 0, cursor: given, maxBytes = Number.POSITIVE_INFINITY } = query;
  const order = sortOf(kind, query.order as Exclude<Order, 'received'>);
  const body = bodyOf(reader, kind, query, order.name, order.word);
  const items: Document[] = [];
  let cursor = given;
  let bytes = 0;
  let generation: number | undefined;
  for (;;) {
    const isFull = items.length === limit || bytes >= maxBytes;
    const size = isFull
      ? 1
      : Math.min(query.maxBytes === undefined ? limit + 1 : FETCHED_AT_ONCE, limit + 1 - items.length);
    const after = cursor && { search_after: afterOf(kind, order.field, cursor) };
    const vouch = reader.served.begin();
    const hits = await searchLive(reader, kind, {
      ...body,
      size,
      ...(items.length === 0 && { from: offset }),
      ...after,
    });
    await vouch(hits[0]?._index);
    generation ??= generationOf(reader, hits);
    if (generation !== (generationOf(reader, hits) ?? generation)) throw replaced();
    for (const hit of hits) {
      if (items.length === limit || bytes >= maxBytes) return { items, more: true, ...(cursor && { cursor }) };
      const document = documentIn(hit);
      items.push(document);
      bytes += Buffer.byteLength(document.source);
      cursor = { after: [document.fields[order.field] ?? '', document.id] };
    }
    if (hits.length < size) return { items, more: false, ...(cursor && { cursor }) };
  }
}

function bodyOf(reader: Reader, kind: KindName, query: SearchQuery, field: string, word: string): object {
  const base = matching(kind, query, limitsOf(reader, kind, query.org));
  return {
    query: { bool: { filter: [base, { exists: { field } }] } },
    sort: [{ [field]: word }, { id: word }],
  };
}

function generationOf({ catalog }: Reader, [hit]: readonly Hit[]): number | undefined {
  return hit && catalog.names.generationIn(hit._index);
}

async function searchLive({ es, catalog }: Reader, kind: KindName, body: object): Promise<readonly Hit[]> {
  try {
    return (await searchIn(es, catalog.names.liveDocuments(kind), body)).hits;
  } catch (error) {
    // Before the first document of the first month there is nothing of that name.
    if (!isMissing(error) || !isMonthly(kind)) throw error;
    return [];
  }
}

/** Only what lists are sorted by has what Elasticsearch sorts with. */
function sortOf(kind: KindName, { field, direction }: Exclude<Order, 'received'>) {
  const { sort, countBy }: Kind = KINDS[kind];
  const sortable = typeOf(kind, field) === 'time' || field === sort || field === countBy;
  if (!sortable) throw new Error(`${kind} is not ordered by ${field}`);
  return { field, name: termField(field), word: direction === 'ascending' ? 'asc' : 'desc' };
}

function afterOf(kind: KindName, field: string, cursor: Cursor) {
  if (!('after' in cursor)) throw new Error('the cursor is of another order');
  const [value] = cursor.after;
  const isOfType = typeof value === (typeOf(kind, field) === 'time' ? 'number' : 'string');
  if (!isOfType) throw new Error('the cursor is of another order');
  return cursor.after;
}

function documentIn({ _source }: Hit): Document {
  return documentOf(_source as Stored);
}

const VALUES_A_PAGE = 10_000;

interface Buckets {
  readonly by: {
    readonly after_key?: { readonly value: string };
    readonly buckets: readonly { readonly key: { readonly value: string }; readonly doc_count: number }[];
  };
}

/** All pages of it are of one generation. */
export async function countByValue(reader: Reader, kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
  const { countBy }: Kind = KINDS[kind];
  const counts = new Map<string, number>();
  if (countBy === undefined) return counts;
  const { es, catalog } = reader;
  const vouch = reader.served.begin();
  const generation = await catalog.requireLive();
  await vouch(catalog.names.progress(generation));
  const indices = catalog.names.documents(generation, kind);
  const query = matching(kind, { org, filters: [] }, limitsOf(reader, kind, org));
  const sources = [{ value: { terms: { field: termField(countBy) } } }];
  for (let after: { readonly value: string } | undefined; ; ) {
    const composite = { size: VALUES_A_PAGE, sources, ...(after && { after }) };
    const { aggregations, shards } = await searchIn(es, indices, { size: 0, query, aggs: { by: { composite } } });
    if (shards === 0) await catalog.requireLive(generation);
    const buckets = (aggregations as Buckets | undefined)?.by.buckets ?? [];
    for (const { key, doc_count } of buckets) counts.set(key.value, doc_count);
    if (buckets.length < VALUES_A_PAGE) return counts;
    after = (aggregations as Buckets).by.after_key;
  }
}
