import { comparePositions, type Document, isBefore, type Point, partitionIn, pointOf } from '../document.js';
import type { KindName } from '../kinds.js';
import { laterPoints } from '../received.js';
import { type LastPage, type LastQuery, type Page, PageItems, type Points, type SearchQuery } from '../search.js';
import { getAll } from './bulk.js';
import { documentId, documentOf, placeIn } from './document.js';
import type { Reader } from './reader.js';
import { FETCHED_AT_ONCE } from './search.js';
import { readState } from './state.js';
import { type PartitionLane, type Spot, Walk } from './walk.js';

/** In a cursor: the last document of a record, however many it has. */
const LAST_ORDINAL = 2 ** 31 - 1;

const START: Point = [0, 0];

/**
 * One page in the order received, of one generation; the query is checked. Reads no further than what was published as
 * searchable before it began, so nothing can become searchable behind its cursor.
 */
export async function searchReceived(reader: Reader, kind: KindName, query: SearchQuery): Promise<Page> {
  const { offset = 0, limit, cursor } = query;
  const { generation, ends } = await searchableNow(reader);
  const before = cursor && 'seen' in cursor ? cursor.seen : {};
  const lanes = lanesOf(ends, (partition) => behind(before[partition]));
  const spots = await new Walk(reader, kind, query, generation, 'ascending').take(lanes, offset + limit + 1);
  const wanted = spots.slice(offset, offset + limit);
  const { items, places } = await documentsAt(reader, query.org, wanted, query.maxBytes);
  const passed = spots.slice(0, offset + places);
  const more = spots.length > passed.length;
  const last = Object.fromEntries(passed.map((spot) => [spot.partition, pointOf(spot)]));
  // The rest does not match: later queries from here need not examine it again.
  const seen = laterPoints({ ...before, ...last }, more ? {} : lastPoints(ends));
  const isSomewhere = cursor !== undefined || Object.keys(seen).length > 0;
  return { items, more, ...(isSomewhere && { cursor: { seen } }) };
}

/** The end of the order received, and the cursor behind everything published as searchable. */
export async function lastReceived(reader: Reader, kind: KindName, query: LastQuery): Promise<LastPage> {
  const { org, limit } = query;
  const { generation, ends } = await searchableNow(reader);
  const walk = new Walk(reader, kind, query, generation, 'descending');
  const spots = await walk.take(
    lanesOf(ends, () => START),
    limit,
  );
  const { items } = await documentsAt(reader, org, spots, query.maxBytes);
  return { items: items.toReversed(), cursor: { seen: lastPoints(ends) } };
}

async function searchableNow({ es, catalog, served }: Reader): Promise<{ generation: number; ends: Points }> {
  const vouch = served.begin();
  const { index, value } = await readState(es, catalog.names.liveProgress, 'searchable');
  await vouch(index);
  return { generation: catalog.names.generationIn(index) ?? Number.NaN, ends: value };
}

/** The first point behind the cursor's. */
function behind(seen: Point = [-1, LAST_ORDINAL]): Point {
  const [offset, ordinal] = seen;
  return ordinal >= LAST_ORDINAL ? [offset + 1, 0] : [offset, ordinal + 1];
}

/** The last points before these ends, for a cursor. */
function lastPoints(ends: Points): Points {
  const points = Object.entries(ends).map(([partition, [offset, ordinal]]): [string, Point] => {
    return [partition, ordinal > 0 ? [offset, ordinal - 1] : [offset - 1, LAST_ORDINAL]];
  });
  return Object.fromEntries(points.filter(([, [offset]]) => offset >= 0));
}

/** Ordered by topic and number of the partition, which decides between records of equal times. */
function lanesOf(ends: Points, from: (partition: string) => Point): PartitionLane[] {
  const lanes = Object.entries(ends).map(([partition, to]) => {
    return { partition, from: from(partition), to, ahead: [], isWhole: false };
  });
  return lanes
    .filter((lane) => isBefore(lane.from, lane.to))
    .toSorted((one, other) => {
      const [a, b] = [partitionIn(one.partition), partitionIn(other.partition)];
      return a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1;
    });
}

/** Fetches whole documents until the page is full; `places`: how many spots it passed. Skips documents removed meanwhile. */
async function documentsAt(
  { es }: Reader,
  org: string,
  spots: readonly Spot[],
  maxBytes: number | undefined,
): Promise<{ readonly items: readonly Document[]; readonly places: number }> {
  const atOnce = maxBytes === undefined ? spots.length : FETCHED_AT_ONCE;
  const page = new PageItems({ maxBytes });
  for (let start = 0; start < spots.length; start += atOnce) {
    const part = spots.slice(start, start + atOnce);
    const found = await getAll(
      es,
      part.map(({ index, id }) => ({ index, id: documentId(org, id) })),
    );
    for (const [at, spot] of part.entries()) {
      if (page.isFull) return { items: page.items, places: start + at };
      const stored = found[at]?.stored;
      if (stored?.org === org && stored.partition === spot.partition && comparePositions(placeIn(stored), spot) === 0) {
        page.add(documentOf(stored));
      }
    }
  }
  return { items: page.items, places: spots.length };
}
