import type { DatabaseSync } from 'node:sqlite';
import { type Job, type Steps, tooCostly } from '../../platform/turns.js';
import { type KindName, kindOf } from '../kinds.js';
import { type FieldOrder, type Page, PageItems, possibleValues, type SearchQuery } from '../search.js';
import { type Condition, conditionOf, ofOrg, type RowExpiry } from './condition.js';
import { packed } from './identifier.js';
import { type IndexPath, IndexWalk } from './index-walk.js';
import { column, columnsOf, type RowFormat } from './row.js';

/** The job of a search, with the remedy for the caller if it finds nothing within its budget. */
export function jobOf({ org, budgetMs }: Pick<SearchQuery, 'org' | 'budgetMs'>): Job {
  const remedy =
    'almost nothing of what was examined matches these filters: narrow fromEvent and toEvent, or add the name or id of a resource';
  return { org, budgetMs, remedy, mayEndEarly: true };
}

/** Whether no document can match. */
export function isImpossible(kind: KindName, { filters }: Pick<SearchQuery, 'filters'>): boolean {
  return filters.some((filter) => possibleValues(kind, filter).length === 0);
}

/** One page in the order of the kind's `sort` field, of a checked query. */
export function* searchByField(
  db: DatabaseSync,
  expiry: RowExpiry,
  rows: RowFormat,
  query: SearchQuery,
  order: FieldOrder,
): Steps<Page> {
  const { org, cursor: given } = query;
  if (isImpossible(rows.kind, query)) return { items: [], more: false, ...(given && { cursor: given }) };
  const after = given && 'after' in given ? given.after : undefined;
  const walk = new IndexWalk(db, pathOf(expiry, rows, query, order), after && [after[0], packed(after[1])]);
  const number = rows.texts.find(org);
  const columns = columnsOf(rows.kind);
  yield* skip(walk, query);
  const page = new PageItems(query);
  let more = false;
  while (!more && !walk.isDone) {
    walk.step(columns, (_, values) => {
      more = page.isFull;
      if (!more) page.add(rows.documentIn(number, values));
      return !more;
    });
    if (more || walk.isDone) break;
    const isSpent = yield;
    if (isSpent && page.items.length === 0) throw tooCostly(jobOf(query));
    more = isSpent;
  }
  const cursor = page.cursor(order, given);
  return { items: page.items, more, ...(cursor && { cursor }) };
}

function* skip(walk: IndexWalk, query: SearchQuery): Steps<void> {
  let left = query.offset ?? 0;
  while (left > 0 && !walk.isDone) {
    walk.step([], () => {
      left -= 1;
      return left >= 0;
    });
    if (left > 0 && !walk.isDone && (yield)) throw tooCostly(jobOf(query));
  }
}

/** The index in the order of the page that satisfies most filters, and the conditions that its rows are checked for. */
export function pathOf(
  expiry: RowExpiry,
  { kind, texts }: RowFormat,
  query: Pick<SearchQuery, 'org' | 'filters' | 'cursor'>,
  { direction }: FieldOrder,
): IndexPath {
  const { sort, lists, fields } = kindOf(kind);
  const name = column(sort);
  const list = query.filters.find(({ field, op }) => op === '=' && lists.includes(field));
  const others = query.filters.filter((filter) => filter !== list);
  const from = others.find((filter) => filter.field === sort && filter.op === '>=');
  const to = others.find((filter) => filter.field === sort && filter.op === '<');
  // A cursor replaces the bound on its side.
  const begins = direction === 'ascending' ? from : to;
  const bounds = [from, to].filter((filter) => filter && !(query.cursor && filter === begins));
  // Without a lower bound: before all values, and behind the rows without one.
  const least: Condition = { sql: `${name} >= ?`, values: [fields[sort] === 'time' ? Number.MIN_SAFE_INTEGER : ''] };
  const lower = from ? conditionOf(kind, texts, from) : least;
  const upper = to && conditionOf(kind, texts, to);
  const [first, last] = direction === 'ascending' ? [lower, upper] : [upper, lower];
  const checked = others.filter((filter) => !bounds.includes(filter)).map((filter) => conditionOf(kind, texts, filter));
  return {
    kind,
    index: list?.field ?? 'sort',
    fixed: [ofOrg(texts, query.org), ...(list ? [conditionOf(kind, texts, list)] : [])],
    keys: [name, 'id'],
    direction,
    ...(first && { first }),
    ...(last && { last }),
    checked: () => [...checked, ...expiry.condition(kind, query)],
  };
}
