import { LIMITS } from '../contract/limits.js';
import { type Document, type FieldValue, isBefore, type Point } from './document.js';
import { type KindName, kindOf } from './kinds.js';

/**
 * Exact, typed comparison; strings by code point. A document without the field matches nothing. `in`: equals one of the
 * values, of which there may be thousands, and any of them more than once; without values nothing matches. `ends`: the
 * identifier is a UUID that ends with the 8, 10 or 12 hexadecimal digits; no index serves it.
 */
export type Filter =
  | { readonly field: string; readonly op: '=' | '>=' | '<'; readonly value: FieldValue }
  | { readonly field: string; readonly op: 'in'; readonly values: readonly FieldValue[] }
  | { readonly field: 'id'; readonly op: 'ends'; readonly value: string };

/**
 * - `{field, direction}`: by the field, which is the kind's `sort`, then by `id`, both in this direction.
 * - `received`: in the order in which the log took the records, per partition; partitions are merged by their
 *   records' time. Its cursor misses nothing: a record that appears later always comes after it.
 */
export type Order = FieldOrder | 'received';
export type FieldOrder = { readonly field: string; readonly direction: Direction };
export type Direction = 'ascending' | 'descending';

/** The document after which the next page starts. Plain data: callers may serialize it and pass it back unchanged. */
export type Cursor =
  | { readonly after: readonly [FieldValue, string] }
  /** The last point seen, by `topic/partition`. */
  | { readonly seen: Points };

/** By `topic/partition`. */
export type Points = Readonly<Record<string, Point>>;

export interface SearchQuery {
  readonly org: string;
  /** All must match. */
  readonly filters: readonly Filter[];
  readonly order: Order;
  /** 1 to 1000. */
  readonly limit: number;
  /** Documents to skip, 0 to 10,000; not together with `cursor`. */
  readonly offset?: number;
  readonly cursor?: Cursor;
  /** The page ends with the document that brings it to this many bytes of `source`; it has at least one document. */
  readonly maxBytes?: number;
  /**
   * How long the search may occupy this process's event loop in all, in milliseconds; it does so in short slices. When
   * that is spent the page ends early, and if it is still empty the search throws `too_costly`. A store that searches
   * in another process occupies the loop only for what it found.
   */
  readonly budgetMs?: number;
}

export interface LastQuery {
  readonly org: string;
  /** All must match. */
  readonly filters: readonly Filter[];
  /** 0 to 1000. */
  readonly limit: number;
  /** As in `SearchQuery`: fewer documents are returned when those at the end already have this many bytes. */
  readonly maxBytes?: number;
  /** As in `SearchQuery`; when it is spent, throws `too_costly`. */
  readonly budgetMs?: number;
}

export interface LastPage {
  readonly items: readonly Document[];
  /** Where to continue in the order received. */
  readonly cursor: Cursor;
}

export interface Page {
  readonly items: readonly Document[];
  /** Whether there is a document after this page now; also true if `budgetMs` ended the page before that was known. */
  readonly more: boolean;
  /**
   * Where to continue, also for documents that are stored later; absent at most for an empty page of a query without a
   * cursor. In the order received the last page's cursor may lie behind documents that do not match, so that repeated
   * queries from there do not examine them again.
   */
  readonly cursor?: Cursor;
}

/** Throws for a query out of its bounds, of an unknown field, or with the cursor of another order. */
export function checkSearch(kind: KindName, { filters, order, limit, offset = 0, cursor }: SearchQuery): void {
  checkLimit(limit);
  checkCount('an offset', offset, 0, LIMITS.pagedEvents);
  if (cursor && offset > 0) throw new Error('a cursor and an offset exclude each other');
  for (const filter of filters) checkFilter(kind, filter);
  if (order === 'received') checkReceived(kind);
  else if (order.field !== kindOf(kind).sort) throw new Error(`${kind} is not ordered by ${order.field}`);
  if (
    cursor &&
    !(order === 'received' ? 'seen' in cursor : 'after' in cursor && isOfType(kind, order.field, cursor.after[0]))
  ) {
    throw new Error('the cursor is of another order');
  }
}

/** Throws for a page of no documents or of more than `LIMITS.page.most`. */
export function checkLimit(limit: number): void {
  checkCount('a limit', limit, 1, LIMITS.page.most);
}

function checkCount(what: string, count: number, least: number, most: number): void {
  if (Number.isInteger(count) && count >= least && count <= most) return;
  throw new Error(`${what} is a whole number from ${least} to ${most}`);
}

/** Throws for a query out of its bounds or of an unknown field. */
export function checkLast(kind: KindName, { filters, limit }: LastQuery): void {
  checkCount('a limit', limit, 0, LIMITS.page.most);
  for (const filter of filters) checkFilter(kind, filter);
  checkReceived(kind);
}

function checkReceived(kind: KindName): void {
  if (!kindOf(kind).received) throw new Error(`${kind} is not listed in the order received`);
}

const ENDING = /^([\da-f]{2}){4,6}$/;

/** Throws for a field that the kind does not have, or for what no identifier ends with. */
export function checkFilter(kind: KindName, filter: Filter): void {
  if (filter.op !== 'ends') fieldType(kind, filter.field);
  else if (!ENDING.test(filter.value)) throw new Error('a UUID ends with 8, 10 or 12 hexadecimal digits');
}

/** Throws for a field that the kind does not have. */
function fieldType(kind: KindName, field: string): 'keyword' | 'time' {
  const { fields } = kindOf(kind);
  const type = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (type === undefined) throw new Error(`${kind} has no field ${field}`);
  return type;
}

function isOfType(kind: KindName, field: string, value: FieldValue): boolean {
  return fieldType(kind, field) === 'time' ? Number.isFinite(value) : typeof value === 'string';
}

/** The values of a filter that a document can have: a number never equals a text. If there are none, nothing matches. */
export function possibleValues(kind: KindName, filter: Filter): readonly FieldValue[] {
  if (filter.op === 'ends') return [filter.value];
  const values = filter.op === 'in' ? filter.values : [filter.value];
  return values.filter((value) => isOfType(kind, filter.field, value));
}

/** The documents of one page, up to its limits. */
export class PageItems {
  readonly items: Document[] = [];
  private bytes = 0;

  constructor(private readonly bounds: { readonly limit?: number; readonly maxBytes?: number | undefined }) {}

  get isFull(): boolean {
    const { limit = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = this.bounds;
    return this.items.length >= limit || this.bytes >= maxBytes;
  }

  add(document: Document): void {
    this.items.push(document);
    this.bytes += Buffer.byteLength(document.source);
  }

  /** The cursor behind the last document in the order of the field; `given` for an empty page. */
  cursor({ field }: FieldOrder, given: Cursor | undefined): Cursor | undefined {
    const last = this.items.at(-1);
    return last ? { after: [last.fields[field] ?? '', last.id] } : given;
  }
}

/** The later point of each partition. */
export function laterPoints(one: Points, other: Points): Points {
  const later: Record<string, Point> = { ...one };
  for (const [partition, point] of Object.entries(other)) {
    const known = later[partition];
    if (!known || isBefore(known, point)) later[partition] = point;
  }
  return later;
}

/** The documents of one partition that are still to come, the nearest first. */
export interface Lane {
  readonly ahead: { readonly time: number }[];
}

/**
 * The lane whose next document comes first when partitions are merged by their records' time. Forward that is the
 * earliest, and of equal times the one in the first lane; backward the latest, and the one in the last lane.
 */
export function nearestLane<One extends Lane>(lanes: readonly One[], direction: Direction): One | undefined {
  let nearest: One | undefined;
  for (const lane of lanes) {
    const [next, best] = [lane.ahead[0], nearest?.ahead[0]];
    if (!next) continue;
    if (!best || (direction === 'ascending' ? next.time < best.time : next.time >= best.time)) nearest = lane;
  }
  return nearest;
}
