import type { DatabaseSync } from 'node:sqlite';
import { type Steps, tooCostly } from '../../platform/turns.js';
import type { Document } from '../document.js';
import type { KindName } from '../kinds.js';
import type { Cursor, Page, SearchQuery } from '../search.js';
import type { Condition, Expiry } from './expiry.js';
import { conditionOf, fieldColumn, isImpossible, ofOrg, spent } from './filter.js';
import { type IndexPath, IndexWalk, type Key } from './index.js';
import { searchReceived } from './received.js';
import { documentOf, kindOf } from './row.js';

/** Values are always bound; names and operators in the SQL are this program's own. */
export function searchRows(db: DatabaseSync, expiry: Expiry, kind: KindName, query: SearchQuery): Steps<Page> {
  checkBounds(query);
  return query.order === 'received'
    ? searchReceived(db, expiry, kind, query)
    : searchByField(db, expiry, kind, query, query.order);
}

type FieldOrder = Exclude<SearchQuery['order'], 'received'>;

function* searchByField(
  db: DatabaseSync,
  expiry: Expiry,
  kind: KindName,
  query: SearchQuery,
  order: FieldOrder,
): Steps<Page> {
  const { org, limit, cursor: given, maxBytes = Number.POSITIVE_INFINITY } = query;
  const path = pathOf(expiry, kind, query, order);
  const walk = new IndexWalk(db, path, given && afterOf(given));
  if (query.filters.some((filter) => isImpossible(kind, filter)))
    return { items: [], more: false, ...(given && { cursor: given }) };
  yield* passOver(walk, query);
  const items: Document[] = [];
  let bytes = 0;
  let more = false;
  while (!more && !walk.isDone) {
    walk.step('*', (row) => {
      more = items.length === limit || bytes >= maxBytes;
      if (more) return false;
      const document = documentOf(kind, org, row);
      items.push(document);
      bytes += Buffer.byteLength(document.source);
      return true;
    });
    if (more || walk.isDone) break;
    const isSpent = yield;
    if (isSpent && items.length === 0) throw tooCostly(spent(query));
    more = isSpent;
  }
  const last = items.at(-1);
  const cursor: Cursor | undefined = last ? { after: [last.fields[order.field] ?? '', last.id] } : given;
  return { items, more, ...(cursor && { cursor }) };
}

function* passOver(walk: IndexWalk, query: SearchQuery): Steps<void> {
  let left = query.offset ?? 0;
  while (left > 0 && !walk.isDone) {
    walk.step('', () => {
      left -= 1;
      return left >= 0;
    });
    if (left > 0 && !walk.isDone && (yield)) throw tooCostly(spent(query));
  }
}

/** The index that has the filters' own order, and what its rows have to be looked at for. */
function pathOf(expiry: Expiry, kind: KindName, query: SearchQuery, { field, direction }: FieldOrder): IndexPath {
  const { sort, lists, fields } = kindOf(kind);
  const name = fieldColumn(kind, field);
  if (field !== sort) throw new Error(`${kind} is not ordered by ${field}`);
  const list = query.filters.find(({ field: one, op }) => op === '=' && lists.includes(one));
  const others = query.filters.filter((filter) => filter !== list);
  const from = others.find((filter) => filter.field === sort && filter.op === '>=');
  const to = others.find((filter) => filter.field === sort && filter.op === '<');
  // A cursor takes the place of the bound on its side.
  const begins = direction === 'ascending' ? from : to;
  const bounds = [from, to].filter((filter) => filter && !(query.cursor && filter === begins));
  // Where there is none: before all values, and behind the rows without one.
  const least: Condition = { sql: `${name} >= ?`, values: [fields[sort] === 'time' ? Number.MIN_SAFE_INTEGER : ''] };
  const lower = from ? conditionOf(kind, from) : least;
  const upper = to && conditionOf(kind, to);
  const [first, last] = direction === 'ascending' ? [lower, upper] : [upper, lower];
  const looked = others.filter((filter) => !bounds.includes(filter)).map((filter) => conditionOf(kind, filter));
  return {
    kind,
    index: list?.field ?? 'sort',
    fixed: [ofOrg(query.org), ...(list ? [conditionOf(kind, list)] : [])],
    keys: [name, 'id'],
    direction,
    ...(first && { first }),
    ...(last && { last }),
    looked: () => [...looked, ...expiry.condition(kind, query)],
  };
}

function afterOf(cursor: Cursor): Key {
  if (!('after' in cursor)) throw new Error('the cursor is of another order');
  return cursor.after;
}

function checkBounds({ limit, offset = 0, cursor }: SearchQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw new Error('a page has 1 to 1000 documents');
  if (!Number.isInteger(offset) || offset < 0 || offset > 10_000) throw new Error('an offset is from 0 to 10,000');
  if (cursor && offset > 0) throw new Error('a cursor and an offset exclude each other');
}
