import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { column, documentOf, kindOf, shardOf } from './embedded-schema.js';
import type { KindName } from './kinds.js';
import type { Cursor, Document, Page, SearchQuery } from './read-model.js';

interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

/** Values are always bound; names and operators in the SQL are this program's own. */
export function searchRows(db: DatabaseSync, kind: KindName, query: SearchQuery): Page {
  checkBounds(query);
  return query.order === 'received' ? searchReceived(db, kind, query) : searchByField(db, kind, query);
}

function searchByField(db: DatabaseSync, kind: KindName, query: SearchQuery): Page {
  const order = query.order as Exclude<SearchQuery['order'], 'received'>;
  const sort = fieldColumn(kind, order.field);
  const [sign, word] = order.direction === 'ascending' ? ['>', 'ASC'] : ['<', 'DESC'];
  const conditions = [...base(kind, query), { sql: `${sort} IS NOT NULL`, values: [] }];
  if (query.cursor) {
    if (!('after' in query.cursor)) throw new Error('the cursor is of another order');
    conditions.push({ sql: `(${sort}, id) ${sign} (?, ?)`, values: query.cursor.after });
  }
  const rows = select(db, kind, conditions, `${sort} ${word}, id ${word}`, query.limit + 1, query.offset ?? 0);
  const items = rows.slice(0, query.limit);
  const last = items.at(-1);
  const cursor: Cursor | undefined = last ? { after: [last.fields[order.field] ?? '', last.id] } : query.cursor;
  return { items, more: rows.length > items.length, ...(cursor && { cursor }) };
}

function searchReceived(db: DatabaseSync, kind: KindName, query: SearchQuery): Page {
  if (!kindOf(kind).received) throw new Error(`${kind} is not listed in the order received`);
  if (query.cursor && !('seen' in query.cursor)) throw new Error('the cursor is of another order');
  const seen = { ...query.cursor?.seen };
  const wanted = (query.offset ?? 0) + query.limit;
  const shards = db
    .prepare('SELECT topic, partition FROM progress ORDER BY topic, partition')
    .all()
    .map((row) => {
      const shard = `${row.topic}/${row.partition}`;
      const [offset, ordinal] = seen[shard] ?? [-1, 0];
      const conditions = [
        ...base(kind, query),
        { sql: 'shard = ?', values: [shard] },
        { sql: '("offset", ordinal) > (?, ?)', values: [offset, ordinal] },
      ];
      return select(db, kind, conditions, '"offset", ordinal', wanted + 1, 0);
    });
  const merged = mergeByTime(shards, wanted);
  for (const { place } of merged) seen[shardOf(place)] = [place.offset, place.ordinal];
  const items = merged.slice(query.offset ?? 0);
  const more = shards.reduce((left, shard) => left + shard.length, 0) > 0;
  return { items, more, ...((merged.length > 0 || query.cursor) && { cursor: { seen } }) };
}

/** Takes up to `limit` documents off the fronts of the shards: the earliest front first, each shard in its own order. */
function mergeByTime(shards: Document[][], limit: number): Document[] {
  const taken: Document[] = [];
  while (taken.length < limit) {
    let earliest: Document[] | undefined;
    for (const shard of shards) {
      if (shard[0] && (!earliest?.[0] || shard[0].place.time < earliest[0].place.time)) earliest = shard;
    }
    const next = earliest?.shift();
    if (!next) break;
    taken.push(next);
  }
  return taken;
}

function base(kind: KindName, query: SearchQuery): Condition[] {
  const conditions: Condition[] = [{ sql: 'org = ? AND deleted = 0', values: [query.org] }];
  for (const { field, op, value } of query.filters) {
    const sql = `${fieldColumn(kind, field)} ${op} ?`;
    // SQLite would convert one type to the other; here a number never equals a text.
    const comparable = typeof value === (kindOf(kind).fields[field] === 'time' ? 'number' : 'string');
    conditions.push(comparable ? { sql, values: [value] } : { sql: 'FALSE', values: [] });
  }
  return conditions;
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
  conditions: readonly Condition[],
  order: string,
  limit: number,
  offset: number,
): Document[] {
  const where = conditions.map(({ sql }) => sql).join(' AND ');
  const statement = db.prepare(`SELECT * FROM ${kind} WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?`);
  const rows = statement.all(...conditions.flatMap(({ values }) => [...values]), limit, offset);
  return rows.map((row) => documentOf(kind, row));
}
