import type { Document } from '../document.js';
import { KINDS, type Kind, type KindName } from '../kinds.js';
import type { LastPage, LastQuery, Page, SearchQuery } from '../search.js';
import { type Found, getAll } from './bulk.js';
import { documentId, documentOf } from './document.js';
import { FETCHED_AT_ONCE, type Reader } from './search.js';
import { type Bound, type Bounds, isBefore, laterBounds, readState } from './state.js';
import { type Lane, type Spot, Walk } from './walk.js';

/** Stands in a cursor for the last document of a record, however many it has. */
const LAST_ORDINAL = 2 ** 31 - 1;

const START: Bound = [0, 0];

/**
 * One page in the order received, of one generation. Looks no farther than what has been published as searchable before
 * it begins, so that nothing can become searchable behind its cursor.
 */
export async function searchReceived(reader: Reader, kind: KindName, query: SearchQuery): Promise<Page> {
  checkReceived(kind);
  const { offset = 0, limit, cursor } = query;
  if (cursor && !('seen' in cursor)) throw new Error('the cursor is of another order');
  const { generation, bounds } = await searchableNow(reader);
  const seen: Record<string, Bound> = { ...cursor?.seen };
  const lanes = lanesOf(bounds, (partition) => behind(seen[partition]));
  const spots = await new Walk(reader, kind, query, generation, 'forward').take(lanes, offset + limit + 1);
  const wanted = spots.slice(offset, offset + limit);
  const { items, places } = await documentsAt(reader, query.org, wanted, query.maxBytes);
  const passed = spots.slice(0, offset + places);
  const more = spots.length > passed.length;
  for (const spot of passed) seen[spot.partition] = [spot.offset, spot.ordinal];
  // What is left does not match: who goes on from here later need not look at it again.
  if (!more) Object.assign(seen, laterBounds(seen, endsOf(bounds)));
  const isSomewhere = cursor !== undefined || Object.keys(seen).length > 0;
  return { items, more, ...(isSomewhere && { cursor: { seen } }) };
}

/** The end of the order received, and the cursor behind everything that is published as searchable. */
export async function lastReceived(reader: Reader, kind: KindName, query: LastQuery): Promise<LastPage> {
  checkReceived(kind);
  const { org, limit } = query;
  if (!Number.isInteger(limit) || limit < 0 || limit > 1000) throw new Error('0 to 1000 last documents');
  const { generation, bounds } = await searchableNow(reader);
  const walk = new Walk(reader, kind, query, generation, 'backward');
  const spots = await walk.take(
    lanesOf(bounds, () => START),
    limit,
  );
  const { items } = await documentsAt(reader, org, spots, query.maxBytes);
  return { items: items.toReversed(), cursor: { seen: endsOf(bounds) } };
}

function checkReceived(kind: KindName): void {
  if (!(KINDS[kind] as Kind).received) throw new Error(`${kind} is not listed in the order received`);
}

async function searchableNow({ es, catalog, served }: Reader): Promise<{ generation: number; bounds: Bounds }> {
  const vouch = served.begin();
  const { index, value } = await readState(es, catalog.names.liveProgress, 'searchable');
  await vouch(index);
  return { generation: catalog.names.generationIn(index) ?? Number.NaN, bounds: value };
}

/** The first place behind what a cursor has seen. */
function behind(seen: Bound = [-1, LAST_ORDINAL]): Bound {
  const [offset, ordinal] = seen;
  return ordinal >= LAST_ORDINAL ? [offset + 1, 0] : [offset, ordinal + 1];
}

/** What a cursor has seen that stands before the bounds. */
function endsOf(bounds: Bounds): Bounds {
  const ends = Object.entries(bounds).map(([partition, [offset, ordinal]]): [string, Bound] => {
    return [partition, ordinal > 0 ? [offset, ordinal - 1] : [offset - 1, LAST_ORDINAL]];
  });
  return Object.fromEntries(ends.filter(([, [offset]]) => offset >= 0));
}

/** By topic and number of the partition: the order in which partitions give where times are equal. */
function lanesOf(bounds: Bounds, from: (partition: string) => Bound): Lane[] {
  const lanes = Object.entries(bounds).map(([partition, to]) => {
    return { partition, from: from(partition), to, ahead: [], isWhole: false };
  });
  const keyOf = ({ partition }: Lane) => partition.split('/') as [string, string];
  return lanes
    .filter((lane) => isBefore(lane.from, lane.to))
    .toSorted((one, other) => {
      const [[topic, number], [otherTopic, otherNumber]] = [keyOf(one), keyOf(other)];
      return topic === otherTopic ? Number(number) - Number(otherNumber) : topic < otherTopic ? -1 : 1;
    });
}

/**
 * Only of what is on a page whole documents are read, until they have so many bytes: of how many places that is. One that
 * was removed meanwhile is left out.
 */
async function documentsAt(
  { es }: Reader,
  org: string,
  spots: readonly Spot[],
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<{ readonly items: Document[]; readonly places: number }> {
  const atOnce = maxBytes === Number.POSITIVE_INFINITY ? spots.length : FETCHED_AT_ONCE;
  const items: Document[] = [];
  let bytes = 0;
  for (let start = 0; start < spots.length; start += atOnce) {
    const part = spots.slice(start, start + atOnce);
    const found = await getAll(
      es,
      part.map(({ index, id }) => ({ index, id: documentId(org, id) })),
    );
    for (const [at, spot] of part.entries()) {
      if (bytes >= maxBytes) return { items, places: start + at };
      const document = found[at];
      if (!document || !isSpot(document, org, spot)) continue;
      items.push(documentOf(document.stored));
      bytes += Buffer.byteLength(document.stored.source);
    }
  }
  return { items, places: spots.length };
}

function isSpot({ stored }: Found, org: string, { partition, offset, ordinal }: Spot): boolean {
  return stored.org === org && stored.partition === partition && stored.offset === offset && stored.ordinal === ordinal;
}
