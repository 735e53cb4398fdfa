import { comparePositions, type Document, isBefore, type Point, partitionIn, pointOf } from '../document.js';
import type { KindName } from '../kinds.js';
import { limitsOf } from '../retention.js';
import {
  type Direction,
  type Lane,
  type LastPage,
  type LastQuery,
  laterPoints,
  nearestLane,
  type Page,
  PageItems,
  type Points,
  type SearchQuery,
} from '../search.js';
import { getAll } from './bulk.js';
import { documentId, documentOf, placeIn } from './document.js';
import { FetchSize } from './fetch-size.js';
import { type Hit, matching, type Query, searchAll } from './query.js';
import type { View } from './reader.js';
import { readState } from './state.js';

/** In a cursor: the last document of a record, however many it has. */
const LAST_ORDINAL = 2 ** 31 - 1;

const START: Point = [0, 0];

/**
 * One page in the order received, of one generation; the query is checked. Reads no further than what was published as
 * searchable before it began, so nothing can become searchable behind its cursor.
 */
export async function searchReceived(view: View, kind: KindName, query: SearchQuery): Promise<Page> {
  const { offset = 0, limit, cursor } = query;
  const ends = await searchableNow(view);
  const before = cursor && 'seen' in cursor ? cursor.seen : {};
  const lanes = lanesOf(ends, (partition) => behind(before[partition]));
  const spots = await new Walk(view, kind, query, 'ascending').take(lanes, offset + limit + 1);
  const wanted = spots.slice(offset, offset + limit);
  const { items, places } = await documentsAt(view, query.org, wanted, query.maxBytes);
  const passed = spots.slice(0, offset + places);
  const more = spots.length > passed.length;
  const last = Object.fromEntries(passed.map((spot) => [spot.partition, pointOf(spot)]));
  // The rest does not match: later queries from here need not examine it again.
  const seen = laterPoints({ ...before, ...last }, more ? {} : lastPoints(ends));
  const isSomewhere = cursor !== undefined || Object.keys(seen).length > 0;
  return { items, more, ...(isSomewhere && { cursor: { seen } }) };
}

/** The end of the order received, and the cursor behind everything published as searchable. */
export async function lastReceived(view: View, kind: KindName, query: LastQuery): Promise<LastPage> {
  const { org, limit } = query;
  const ends = await searchableNow(view);
  const walk = new Walk(view, kind, query, 'descending');
  const spots = await walk.take(
    lanesOf(ends, () => START),
    limit,
  );
  const { items } = await documentsAt(view, org, spots, query.maxBytes);
  return { items: items.toReversed(), cursor: { seen: lastPoints(ends) } };
}

async function searchableNow({ es, names, generation }: View): Promise<Points> {
  return (await readState(es, names.progress(generation), 'searchable')).value;
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
  { es }: View,
  org: string,
  spots: readonly Spot[],
  maxBytes: number | undefined,
): Promise<{ readonly items: readonly Document[]; readonly places: number }> {
  const page = new PageItems({ maxBytes });
  const sizes = new FetchSize();
  for (let start = 0; start < spots.length; ) {
    const { part, found } = await sizes.fetch(spots.length - start, async (count, most) => {
      const part = spots.slice(start, start + count);
      const locations = part.map(({ index, id }) => ({ index, id: documentId(org, id) }));
      return { part, found: await getAll(es, locations, 'whole', most) };
    });
    for (const [at, spot] of part.entries()) {
      if (page.isFull) return { items: page.items, places: start + at };
      const stored = found[at]?.stored;
      if (stored?.org === org && stored.partition === spot.partition && comparePositions(placeIn(stored), spot) === 0) {
        page.add(documentOf(stored));
      }
    }
    start += part.length;
  }
  return { items: page.items, places: spots.length };
}

/** Where a document is in the order received, and in the index. */
interface Spot {
  readonly partition: string;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
  readonly index: string;
  readonly id: string;
}

/** The documents of one partition. */
interface PartitionLane extends Lane {
  readonly partition: string;
  /** The first point of the range that is still to be searched, and the first behind it. */
  from: Point;
  to: Point;
  readonly ahead: Spot[];
  /** Whether the whole range is searched. */
  isWhole: boolean;
}

/** Merges lanes by their records' time, and fetches more of a lane when it is empty. */
class Walk {
  private readonly matches: Query;
  private readonly indices: readonly string[];

  constructor(
    private readonly view: View,
    kind: KindName,
    query: Pick<SearchQuery, 'org' | 'filters'>,
    private readonly direction: Direction,
  ) {
    this.matches = matching(kind, query, limitsOf(view.retention, kind, query.org));
    this.indices = view.indicesOf(kind);
  }

  /** At most `count` documents, the nearest first. */
  async take(lanes: readonly PartitionLane[], count: number): Promise<Spot[]> {
    const taken: Spot[] = [];
    const chunk = Math.min(count, Math.ceil((2 * count) / Math.max(1, lanes.length)) + 8);
    while (taken.length < count) {
      const waiting = lanes.filter(({ ahead, isWhole }) => ahead.length === 0 && !isWhole);
      if (waiting.length > 0) await this.readOn(waiting, chunk);
      const next = nearestLane(lanes, this.direction)?.ahead.shift();
      if (next) taken.push(next);
      else if (waiting.length === 0) break;
    }
    return taken;
  }

  private async readOn(lanes: readonly PartitionLane[], chunk: number): Promise<void> {
    const bodies = lanes.map((lane) => this.bodyOf(lane, chunk));
    const found = await searchAll(this.view.es, this.indices, bodies);
    for (const [at, lane] of lanes.entries()) this.extend(lane, found[at]?.hits ?? [], chunk);
  }

  private bodyOf({ partition, from, to }: PartitionLane, size: number): object {
    const word = this.direction === 'ascending' ? 'asc' : 'desc';
    return {
      query: { bool: { filter: [this.matches, { term: { partition } }, ...between(from, to)] } },
      sort: [{ offset: word }, { ordinal: word }],
      size,
      _source: false,
      stored_fields: '_none_',
      docvalue_fields: ['id', 'time'],
    };
  }

  private extend(lane: PartitionLane, hits: readonly Hit[], chunk: number): void {
    for (const hit of hits) lane.ahead.push(spotIn(lane.partition, hit));
    lane.isWhole = hits.length < chunk;
    const last = lane.ahead.at(-1);
    if (!last) return;
    if (this.direction === 'ascending') lane.from = [last.offset, last.ordinal + 1];
    else lane.to = [last.offset, last.ordinal];
  }
}

function between([fromOffset, fromOrdinal]: Point, [toOffset, toOrdinal]: Point): Query[] {
  const offset = { gte: fromOffset, ...(toOrdinal > 0 ? { lte: toOffset } : { lt: toOffset }) };
  const cut: Query[] = [];
  if (fromOrdinal > 0) cut.push(partOf(fromOffset, { lt: fromOrdinal }));
  if (toOrdinal > 0) cut.push(partOf(toOffset, { gte: toOrdinal }));
  return [{ range: { offset } }, ...(cut.length > 0 ? [{ bool: { must_not: cut } }] : [])];
}

/** Some documents of one record. */
function partOf(offset: number, ordinal: object): Query {
  return { bool: { filter: [{ term: { offset } }, { range: { ordinal } }] } };
}

function spotIn(partition: string, { _index, sort = [], fields }: Hit): Spot {
  const [offset, ordinal] = sort.map(Number) as [number, number];
  return { partition, offset, ordinal, time: Number(fields?.time?.[0]), index: _index, id: String(fields?.id?.[0]) };
}
