import type { DatabaseSync } from 'node:sqlite';
import type { Document } from './document.js';
import type { Condition, Expiry } from './embedded-expiry.js';
import { isBefore, type Spot } from './embedded-marks.js';
import { column, documentOf, kindOf } from './embedded-row.js';
import { shardsOf } from './embedded-schema.js';
import type { KindName } from './kinds.js';
import type { Cursor, Filter, LastPage, LastQuery, Page, SearchQuery } from './search.js';

/** Values are always bound; names and operators in the SQL are this program's own. */
export function searchRows(db: DatabaseSync, expiry: Expiry, kind: KindName, query: SearchQuery): Page {
  checkBounds(query);
  const matches = [...base(kind, query), ...expiry.condition(kind, query)];
  return query.order === 'received'
    ? searchReceived(db, kind, query, matches)
    : searchByField(db, kind, query, matches);
}

function searchByField(db: DatabaseSync, kind: KindName, query: SearchQuery, matches: readonly Condition[]): Page {
  const order = query.order as Exclude<SearchQuery['order'], 'received'>;
  const sort = fieldColumn(kind, order.field);
  const [sign, word] = order.direction === 'ascending' ? ['>', 'ASC'] : ['<', 'DESC'];
  const conditions: Condition[] = [...matches, { sql: `${sort} IS NOT NULL`, values: [] }];
  if (query.cursor) {
    if (!('after' in query.cursor)) throw new Error('the cursor is of another order');
    conditions.push({ sql: `(${sort}, id) ${sign} (?, ?)`, values: query.cursor.after });
  }
  const rows = select(
    db,
    kind,
    query.org,
    conditions,
    `${sort} ${word}, id ${word}`,
    query.limit + 1,
    query.offset ?? 0,
  );
  const items = rows.slice(0, query.limit);
  const last = items.at(-1);
  const cursor: Cursor | undefined = last ? { after: [last.fields[order.field] ?? '', last.id] } : query.cursor;
  return { items, more: rows.length > items.length, ...(cursor && { cursor }) };
}

interface Seen {
  readonly rowid: number;
  readonly shard: string;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
}

function searchReceived(db: DatabaseSync, kind: KindName, query: SearchQuery, matches: readonly Condition[]): Page {
  checkReceived(kind);
  if (query.cursor && !('seen' in query.cursor)) throw new Error('the cursor is of another order');
  const { offset = 0, limit } = query;
  const seen = { ...query.cursor?.seen };
  const shards = shardsOf(db).map((shard) => placesAfter(db, kind, matches, shard, seen[shard], offset + limit + 1));
  const merged = mergeByTime(shards, offset + limit);
  for (const place of merged) seen[place.shard] = [place.offset, place.ordinal];
  const items = documentsAt(db, kind, query.org, merged.slice(offset));
  const more = shards.some((shard) => shard.length > 0);
  // What is left does not match: who goes on from here later need not look at it again.
  if (!more) {
    for (const [shard, end] of Object.entries(endsOf(db, kind, query.org))) seen[shard] = laterOf(seen[shard], end);
  }
  const isSomewhere = query.cursor !== undefined || Object.keys(seen).length > 0;
  return { items, more, ...(isSomewhere && { cursor: { seen } }) };
}

/** What a cursor has passed stays passed, though the document there is gone. */
function laterOf(one: Spot | undefined, other: Spot): Spot {
  return one && isBefore(other, one) ? one : other;
}

/** Reading never waits, so the documents and the cursor are of one state of the file. */
export function lastRows(db: DatabaseSync, expiry: Expiry, kind: KindName, query: LastQuery): LastPage {
  const { org, limit } = query;
  checkReceived(kind);
  if (!Number.isInteger(limit) || limit < 0 || limit > 1000) throw new Error('0 to 1000 last documents');
  const matches = [...base(kind, query), ...expiry.condition(kind, query)];
  const shards = shardsOf(db).map((shard) => lastPlaces(db, kind, matches, shard, limit));
  const items = documentsAt(db, kind, org, mergeFromEnd(shards, limit));
  return { items, cursor: { seen: endsOf(db, kind, org) } };
}

/** The last place of each shard that has anything of the organization, expired or not. */
function endsOf(db: DatabaseSync, kind: KindName, org: string): Record<string, Spot> {
  const conditions = base(kind, { org, filters: [] });
  const ends = shardsOf(db).flatMap((shard) => lastPlaces(db, kind, conditions, shard, 1));
  return Object.fromEntries(ends.map(({ shard, offset, ordinal }) => [shard, [offset, ordinal]]));
}

function checkReceived(kind: KindName): void {
  if (!kindOf(kind).received) throw new Error(`${kind} is not listed in the order received`);
}

/** Only of what is on a page whole documents are read. */
function documentsAt(db: DatabaseSync, kind: KindName, org: string, places: readonly Seen[]): Document[] {
  const select = db.prepare(`SELECT * FROM "${kind}" WHERE rowid = ?`);
  return places.map(({ rowid }) => documentOf(kind, org, select.get(rowid) ?? {}));
}

/** The next places of a shard. */
function placesAfter(
  db: DatabaseSync,
  kind: KindName,
  matches: readonly Condition[],
  shard: string,
  [offset, ordinal]: Spot = [-1, 0],
  limit: number,
): Seen[] {
  const after = { sql: '("offset", ordinal) > (?, ?)', values: [offset, ordinal] };
  return places(db, kind, [...matches, inShard(shard), after], '"offset", ordinal', limit);
}

/** The last places of a shard, the last first. */
function lastPlaces(
  db: DatabaseSync,
  kind: KindName,
  conditions: readonly Condition[],
  shard: string,
  limit: number,
): Seen[] {
  return places(db, kind, [...conditions, inShard(shard)], '"offset" DESC, ordinal DESC', limit);
}

const inShard = (shard: string): Condition => ({ sql: 'shard = ?', values: [shard] });

function places(
  db: DatabaseSync,
  kind: KindName,
  conditions: readonly Condition[],
  order: string,
  limit: number,
): Seen[] {
  const where = conditions.map(({ sql }) => sql).join(' AND ');
  const columns = 'rowid, shard, "offset", ordinal, time';
  const statement = db.prepare(`SELECT ${columns} FROM "${kind}" WHERE ${where} ORDER BY ${order} LIMIT ?`);
  return statement.all(...conditions.flatMap(({ values }) => [...values]), limit) as unknown as Seen[];
}

/** Takes up to `limit` places off the fronts of the shards: the earliest front first, each shard in its own order. */
function mergeByTime(shards: Seen[][], limit: number): Seen[] {
  const taken: Seen[] = [];
  while (taken.length < limit) {
    let earliest: Seen[] | undefined;
    for (const shard of shards) {
      if (shard[0] && (!earliest?.[0] || shard[0].time < earliest[0].time)) earliest = shard;
    }
    const next = earliest?.shift();
    if (!next) break;
    taken.push(next);
  }
  return taken;
}

/** The same order, taken from its end: of equal times the shard that comes last in `mergeByTime` gives first. */
function mergeFromEnd(shards: Seen[][], limit: number): Seen[] {
  const taken: Seen[] = [];
  while (taken.length < limit) {
    let latest: Seen[] | undefined;
    for (const shard of shards) {
      if (shard[0] && (!latest?.[0] || shard[0].time >= latest[0].time)) latest = shard;
    }
    const last = latest?.shift();
    if (!last) break;
    taken.push(last);
  }
  return taken.reverse();
}

function base(kind: KindName, query: Pick<SearchQuery, 'org' | 'filters'>): Condition[] {
  const conditions: Condition[] = [{ sql: 'org = ? AND deleted = 0', values: [query.org] }];
  for (const filter of query.filters) conditions.push(conditionOf(kind, filter));
  return conditions;
}

function conditionOf(kind: KindName, filter: Filter): Condition {
  const name = fieldColumn(kind, filter.field);
  // SQLite would convert one type to the other; here a number never equals a text.
  const type = kindOf(kind).fields[filter.field] === 'time' ? 'number' : 'string';
  if (filter.op === 'in') {
    // One value is bound, however many there are: the statement stays the same, and within the limit of its parameters.
    const values = filter.values.filter((value) => typeof value === type);
    return { sql: `${name} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(values)] };
  }
  const { op, value } = filter;
  return typeof value === type ? { sql: `${name} ${op} ?`, values: [value] } : { sql: 'FALSE', values: [] };
}

function checkBounds({ limit, offset = 0, cursor }: SearchQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw new Error('a page has 1 to 1000 documents');
  if (!Number.isInteger(offset) || offset < 0 || offset > 10_000) throw new Error('an offset is from 0 to 10,000');
  if (cursor && offset > 0) throw new Error('a cursor and an offset exclude each other');
}

function fieldColumn(kind: KindName, field: string): string {
  if (!Object.hasOwn(kindOf(kind).fields, field)) throw new Error(`${kind} has no field ${field}`);
  return column(field);
}

function select(
  db: DatabaseSync,
  kind: KindName,
  org: string,
  conditions: readonly Condition[],
  order: string,
  limit: number,
  offset: number,
): Document[] {
  const where = conditions.map(({ sql }) => sql).join(' AND ');
  const statement = db.prepare(`SELECT * FROM "${kind}" WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?`);
  const rows = statement.all(...conditions.flatMap(({ values }) => [...values]), limit, offset);
  return rows.map((row) => documentOf(kind, org, row));
}
