import type { Document } from '../document.js';
import { type KindName, kindOf } from '../kinds.js';
import { hasExpired, limitsOf } from '../retention.js';
import { type FieldOrder, type Page, PageItems, type SearchQuery } from '../search.js';
import { type Found, getAll } from './bulk.js';
import { isMissing } from './client.js';
import {
  documentId,
  documentOf,
  isAt,
  type Location,
  monthIn,
  monthOf,
  placeIn,
  type Stored,
  termField,
} from './document.js';
import { isMonthly } from './names.js';
import { type Hit, matching, searchIn } from './query.js';
import { type Reader, replaced } from './reader.js';

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
  const limits = limitsOf(reader.retention, kind, org);
  return hasExpired(kind, limits, stored.fields, stored.time) ? undefined : documentOf(stored);
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
  // Another position: the document of the pointer does not exist.
  return found && isAt(found.stored, placeIn(pointer.stored)) ? found : undefined;
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
 * How many documents are fetched at once for a page with a byte limit: their sizes are known only once they are fetched.
 * At most 16 MiB.
 */
export const FETCHED_AT_ONCE = 64;

/** One page in the order of a field, of one generation; the query is checked. */
export async function searchByField(
  reader: Reader,
  kind: KindName,
  query: SearchQuery,
  order: FieldOrder,
): Promise<Page> {
  const { limit, offset = 0, cursor: given } = query;
  const body = bodyOf(reader, kind, query, order);
  const page = new PageItems(query);
  const { items } = page;
  let generation: number | undefined;
  for (;;) {
    const cursor = page.cursor(order, given);
    const left = limit + 1 - items.length;
    // One more shows whether there is a next page.
    const size = page.isFull ? 1 : Math.min(query.maxBytes === undefined ? left : FETCHED_AT_ONCE, left);
    const vouch = reader.served.begin();
    const hits = await searchLive(reader, kind, {
      ...body,
      size,
      ...(items.length === 0 && { from: offset }),
      ...(cursor && 'after' in cursor && { search_after: cursor.after }),
    });
    await vouch(hits[0]?._index);
    const found = hits[0] && reader.catalog.names.generationIn(hits[0]._index);
    generation ??= found;
    if (generation !== (found ?? generation)) throw replaced();
    for (const { _source } of hits) {
      if (page.isFull) return pageOf(page, order, given, true);
      page.add(documentOf(_source as Stored));
    }
    if (hits.length < size) return pageOf(page, order, given, false);
  }
}

function pageOf(page: PageItems, order: FieldOrder, given: SearchQuery['cursor'], more: boolean): Page {
  const cursor = page.cursor(order, given);
  return { items: page.items, more, ...(cursor && { cursor }) };
}

function bodyOf({ retention }: Reader, kind: KindName, query: SearchQuery, { field, direction }: FieldOrder): object {
  const base = matching(kind, query, limitsOf(retention, kind, query.org));
  const [name, word] = [termField(field), direction === 'ascending' ? 'asc' : 'desc'];
  return {
    query: { bool: { filter: [base, { exists: { field: name } }] } },
    sort: [{ [name]: word }, { id: word }],
  };
}

async function searchLive({ es, catalog }: Reader, kind: KindName, body: object): Promise<readonly Hit[]> {
  try {
    return (await searchIn(es, catalog.names.liveDocuments(kind), body)).hits;
  } catch (error) {
    // Before the first document of the first month the alias does not exist.
    if (!isMissing(error) || !isMonthly(kind)) throw error;
    return [];
  }
}

const VALUES_A_PAGE = 10_000;

interface Buckets {
  readonly by: {
    readonly after_key?: { readonly value: string };
    readonly buckets: readonly { readonly key: { readonly value: string }; readonly doc_count: number }[];
  };
}

/** All pages of the aggregation are of one generation. */
export async function countByValue(reader: Reader, kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
  const { countBy } = kindOf(kind);
  const counts = new Map<string, number>();
  if (countBy === undefined) return counts;
  const { es, catalog, retention } = reader;
  const vouch = reader.served.begin();
  const generation = await catalog.requireLive();
  await vouch(catalog.names.progress(generation));
  const indices = catalog.names.documents(generation, kind);
  const query = matching(kind, { org, filters: [] }, limitsOf(retention, kind, org));
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
