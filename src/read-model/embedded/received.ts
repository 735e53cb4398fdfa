import type { DatabaseSync } from 'node:sqlite';
import { type Steps, tooCostly } from '../../platform/turns.js';
import type { Document } from '../document.js';
import type { KindName } from '../kinds.js';
import type { LastPage, LastQuery, Page, SearchQuery } from '../search.js';
import type { Expiry } from './expiry.js';
import { conditionOf, isImpossible, ofOrg, spent } from './filter.js';
import { type IndexPath, IndexWalk } from './index.js';
import { isBefore, type Spot } from './marks.js';
import { documentOf, kindOf } from './row.js';
import { shardsOf } from './schema.js';

interface Seen {
  readonly rowid: number;
  readonly shard: string;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
}

/** The places of a shard that match, the next one first. */
interface Lane {
  readonly places: Seen[];
  /** Whether the shard may have more behind them. */
  readonly isCut: boolean;
}

export function* searchReceived(db: DatabaseSync, expiry: Expiry, kind: KindName, query: SearchQuery): Steps<Page> {
  checkReceived(kind, query);
  if (query.cursor && !('seen' in query.cursor)) throw new Error('the cursor is of another order');
  const { org, offset = 0, limit } = query;
  const seen = { ...query.cursor?.seen };
  // First: what comes while it is looked for lies behind the cursor.
  const ends = endsOf(db, kind, org);
  const lanes: Lane[] = [];
  for (const shard of shardsFor(db, kind, query)) {
    const path = pathOf(expiry, kind, query, shard, 'ascending');
    lanes.push(yield* placesOf(db, path, shard, offset + limit + 1, seen[shard]));
  }
  const merged = mergeByTime(lanes, offset + limit);
  const isShort = merged.length < offset + limit && lanes.some(({ isCut }) => isCut);
  if (isShort && merged.length <= offset) throw tooCostly(spent(query));
  const given = yield* documentsAt(db, kind, org, merged.slice(offset), query.maxBytes);
  const passed = merged.slice(0, offset + given.places);
  for (const place of passed) seen[place.shard] = [place.offset, place.ordinal];
  const more = passed.length < merged.length || isShort || lanes.some(({ places }) => places.length > 0);
  // What is left does not match: who goes on from here later need not look at it again.
  if (!more) {
    for (const [shard, end] of Object.entries(ends)) seen[shard] = laterOf(seen[shard], end);
  }
  const isSomewhere = query.cursor !== undefined || Object.keys(seen).length > 0;
  return { items: given.items, more, ...(isSomewhere && { cursor: { seen } }) };
}

/** What a cursor has passed stays passed, though the document there is gone. */
function laterOf(one: Spot | undefined, other: Spot): Spot {
  return one && isBefore(other, one) ? one : other;
}

export function* lastRows(db: DatabaseSync, expiry: Expiry, kind: KindName, query: LastQuery): Steps<LastPage> {
  const { org, limit, maxBytes } = query;
  checkReceived(kind, query);
  if (!Number.isInteger(limit) || limit < 0 || limit > 1000) throw new Error('0 to 1000 last documents');
  // First: what comes while it is looked for lies behind the cursor, and is not among the last.
  const ends = endsOf(db, kind, org);
  const lanes: Lane[] = [];
  for (const shard of limit > 0 ? shardsFor(db, kind, query) : []) {
    const path = pathOf(expiry, kind, query, shard, 'descending');
    const [offset, ordinal] = ends[shard] ?? [-1, 0];
    lanes.push(yield* placesOf(db, path, shard, limit, [offset, ordinal + 1]));
  }
  if (lanes.some(({ isCut }) => isCut)) throw tooCostly(spent(query));
  const { items } = yield* documentsAt(db, kind, org, mergeFromEnd(lanes, limit), maxBytes);
  return { items: items.toReversed(), cursor: { seen: ends } };
}

/** The last place of each shard that has anything of the organization, expired or not. */
function endsOf(db: DatabaseSync, kind: KindName, org: string): Record<string, Spot> {
  const statement = db.prepare(`SELECT "offset", ordinal FROM "${kind}" INDEXED BY "${kind}_received"
    WHERE org = ? AND deleted = 0 AND shard = ? ORDER BY "offset" DESC, ordinal DESC LIMIT 1`);
  const ends: Record<string, Spot> = {};
  for (const shard of shardsOf(db)) {
    const row = statement.get(org, shard);
    if (row) ends[shard] = [Number(row.offset), Number(row.ordinal)];
  }
  return ends;
}

function checkReceived(kind: KindName, { filters }: Pick<SearchQuery, 'filters'>): void {
  if (!kindOf(kind).received) throw new Error(`${kind} is not listed in the order received`);
  for (const filter of filters) conditionOf(kind, filter);
}

function shardsFor(db: DatabaseSync, kind: KindName, { filters }: Pick<SearchQuery, 'filters'>): readonly string[] {
  return filters.some((filter) => isImpossible(kind, filter)) ? [] : shardsOf(db);
}

function pathOf(
  expiry: Expiry,
  kind: KindName,
  query: Pick<SearchQuery, 'org' | 'filters'>,
  shard: string,
  direction: IndexPath['direction'],
): IndexPath {
  const looked = query.filters.map((filter) => conditionOf(kind, filter));
  return {
    kind,
    index: 'received',
    fixed: [ofOrg(query.org), { sql: 'shard = ?', values: [shard] }],
    keys: ['"offset"', 'ordinal'],
    direction,
    looked: () => [...looked, ...expiry.condition(kind, query)],
  };
}

/** The next places along the path; fewer than asked for only at its end, or when the budget is spent. */
function* placesOf(
  db: DatabaseSync,
  path: IndexPath,
  shard: string,
  count: number,
  after: Spot | undefined,
): Steps<Lane> {
  const walk = new IndexWalk(db, path, after);
  const places: Seen[] = [];
  while (!walk.isDone && places.length < count) {
    walk.step('rowid, "offset", ordinal, time', (row) => {
      if (places.length === count) return false;
      places.push({ ...(row as unknown as Seen), shard });
      return true;
    });
    if (walk.isDone || places.length >= count) break;
    if (yield) return { places, isCut: true };
  }
  return { places, isCut: false };
}

/** Only of what is on a page whole documents are read, in steps; it ends once they have so many bytes. */
function* documentsAt(
  db: DatabaseSync,
  kind: KindName,
  org: string,
  places: readonly Seen[],
  maxBytes = Number.POSITIVE_INFINITY,
): Steps<{ readonly items: Document[]; readonly places: number }> {
  const items: Document[] = [];
  let bytes = 0;
  let passed = 0;
  for (const place of places) {
    if (bytes >= maxBytes) break;
    passed += 1;
    const document = documentAt(db, kind, org, place);
    if (!document) continue;
    items.push(document);
    bytes += Buffer.byteLength(document.source);
    if (yield) break;
  }
  return { items, places: passed };
}

/** Undefined for one that was removed since its place was read. */
function documentAt(db: DatabaseSync, kind: KindName, org: string, place: Seen): Document | undefined {
  const row = db.prepare(`SELECT * FROM "${kind}" WHERE rowid = ?`).get(place.rowid);
  if (row?.org === org && isPlace(row, place)) return documentOf(kind, org, row);
  const indexed = db.prepare(`SELECT rowid FROM "${kind}" INDEXED BY "${kind}_received"
    WHERE org = ? AND shard = ? AND "offset" = ? AND ordinal = ?`);
  const isThere = indexed.get(org, place.shard, place.offset, place.ordinal)?.rowid === place.rowid;
  return isThere ? documentOf(kind, org, row ?? {}) : undefined;
}

function isPlace(row: Readonly<Record<string, unknown>>, { shard, offset, ordinal }: Seen): boolean {
  return row.shard === shard && row.offset === offset && row.ordinal === ordinal;
}

/** Takes up to `limit` places off the fronts of the shards: the earliest front first, each shard in its own order. */
function mergeByTime(lanes: readonly Lane[], limit: number): Seen[] {
  const taken: Seen[] = [];
  while (taken.length < limit) {
    let earliest: Lane | undefined;
    for (const lane of lanes) {
      const [front] = lane.places;
      // What comes next here is not known: nothing may be given before it.
      if (!front && lane.isCut) return taken;
      if (front && (!earliest?.places[0] || front.time < earliest.places[0].time)) earliest = lane;
    }
    const next = earliest?.places.shift();
    if (!next) break;
    taken.push(next);
  }
  return taken;
}

/** The same order from its end, the last first: of equal times the shard that comes last in `mergeByTime` gives first. */
function mergeFromEnd(lanes: readonly Lane[], limit: number): Seen[] {
  const taken: Seen[] = [];
  while (taken.length < limit) {
    let latest: Lane | undefined;
    for (const lane of lanes) {
      const [front] = lane.places;
      if (front && (!latest?.places[0] || front.time >= latest.places[0].time)) latest = lane;
    }
    const last = latest?.places.shift();
    if (!last) break;
    taken.push(last);
  }
  return taken;
}
