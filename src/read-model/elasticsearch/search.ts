import { isMissing } from '../../platform/elasticsearch.js';
import type { Document } from '../document.js';
import { type KindName, kindOf } from '../kinds.js';
import { hasExpired, limitsOf } from '../retention.js';
import { type FieldOrder, type Page, PageItems, type SearchQuery } from '../search.js';
import { type Found, getAll } from './bulk.js';
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
import { FetchSize } from './fetch-size.js';
import { isMonthly } from './names.js';
import { matching, NOTHING, searchAll } from './query.js';
import { replaced, type View } from './reader.js';

/** As last written, searchable or not. */
export async function getDocument(view: View, kind: KindName, org: string, id: string): Promise<Document | undefined> {
  if (!org.isWellFormed() || !id.isWellFormed()) return undefined;
  const stored = isMonthly(kind) ? await getReceived(view, org, id) : await getCurrent(view, kind, org, id);
  if (stored?.org !== org || stored.deleted) return undefined;
  const limits = limitsOf(view.retention, kind, org);
  return hasExpired(kind, limits, stored.fields, stored.time) ? undefined : documentOf(stored);
}

/** A document that is replaced: certain if the generation was live when it was found. */
async function getCurrent(view: View, kind: KindName, org: string, id: string): Promise<Stored | undefined> {
  const { es, names, generation } = view;
  const index = view.touch(names.kind(generation, kind));
  const [found, live] = await getAll(es, [
    { index, id: documentId(org, id) },
    { index: names.liveProgress, id: 'manifest' },
  ]);
  if (live && live.location.index !== names.progress(generation)) throw replaced();
  view.isCertain = found !== undefined && live !== undefined;
  return found?.stored;
}

/** A document that is never changed: certain wherever it is found. */
async function getReceived(view: View, org: string, id: string): Promise<Stored | undefined> {
  const { names, generation } = view;
  const whole = documentId(org, id);
  let month = monthIn(id);
  let pointer: Stored | undefined;
  if (month === undefined) {
    pointer = (await getOne(view, { index: names.keys(generation), id: whole }))?.stored;
    if (!pointer) return undefined;
    month = monthOf(pointer.time);
  }
  const found = await getOne(view, { index: names.month(generation, month), id: whole });
  // Another position: the document of the pointer does not exist.
  const isIt = found !== undefined && (!pointer || isAt(found.stored, placeIn(pointer)));
  view.isCertain = isIt;
  return isIt ? found.stored : undefined;
}

async function getOne(view: View, location: Location): Promise<Found | undefined> {
  view.touch(location.index);
  try {
    return (await getAll(view.es, [location]))[0];
  } catch (error) {
    // A month without documents has no index.
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

/** One page in the order of a field, of one generation; the query is checked. */
export async function searchByField(view: View, kind: KindName, query: SearchQuery, order: FieldOrder): Promise<Page> {
  const { limit, offset = 0, cursor: given } = query;
  const body = bodyOf(view, kind, query, order);
  const indices = view.indicesOf(kind);
  const page = new PageItems(query);
  const { items } = page;
  const sizes = new FetchSize();
  for (;;) {
    const cursor = page.cursor(order, given);
    const left = limit + 1 - items.length;
    // One more shows whether there is a next page.
    const { hits, size } = await sizes.fetch(page.isFull ? 1 : left, async (size, maxBytes) => {
      const from = items.length === 0 && { from: offset };
      const after = cursor && 'after' in cursor && { search_after: cursor.after };
      const [{ hits } = NOTHING] = await searchAll(view.es, indices, [{ ...body, size, ...from, ...after }], maxBytes);
      return { hits, size };
    });
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

function bodyOf({ retention }: View, kind: KindName, query: SearchQuery, { field, direction }: FieldOrder): object {
  const base = matching(kind, query, limitsOf(retention, kind, query.org));
  const [name, word] = [termField(field), direction === 'ascending' ? 'asc' : 'desc'];
  return {
    query: { bool: { filter: [base, { exists: { field: name } }] } },
    sort: [{ [name]: word }, { id: word }],
  };
}

const VALUES_A_PAGE = 10_000;

interface Buckets {
  readonly by: {
    readonly after_key?: { readonly value: string };
    readonly buckets: readonly { readonly key: { readonly value: string }; readonly doc_count: number }[];
  };
}

/** All pages of the aggregation are of one generation. */
export async function countByValue(view: View, kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
  const { countBy } = kindOf(kind);
  const counts = new Map<string, number>();
  if (countBy === undefined) return counts;
  const indices = view.indicesOf(kind);
  const query = matching(kind, { org, filters: [] }, limitsOf(view.retention, kind, org));
  const sources = [{ value: { terms: { field: termField(countBy) } } }];
  for (let after: { readonly value: string } | undefined; ; ) {
    const composite = { size: VALUES_A_PAGE, sources, ...(after && { after }) };
    const [{ aggregations } = NOTHING] = await searchAll(view.es, indices, [
      { size: 0, query, aggs: { by: { composite } } },
    ]);
    const buckets = (aggregations as Buckets | undefined)?.by.buckets ?? [];
    for (const { key, doc_count } of buckets) counts.set(key.value, doc_count);
    if (buckets.length < VALUES_A_PAGE) return counts;
    after = (aggregations as Buckets).by.after_key;
  }
}
