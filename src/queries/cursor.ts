import { hash } from 'node:crypto';
import { ControlError } from '../errors.js';
import { canonicalJson } from '../model/canonical-json.js';
import type { Scalar } from '../model/query.js';
import type { Cursor, SearchQuery } from '../read-model/search.js';

/** What a cursor goes on with: it is void for another organization, other filters (in any sequence) or another order. */
export interface Scope extends Pick<SearchQuery, 'org' | 'filters' | 'order'> {
  /** What else tells this list from others, where it is chosen by more than filters: void for another, too. */
  readonly of?: object;
}

/** Of the order received: everything is still to come. */
export const BEGINNING: Cursor = { seen: {} };

/** Opaque text for a link. It holds no more than the caller has seen. */
export function encodeCursor(scope: Scope, cursor: Cursor): string {
  return Buffer.from(JSON.stringify([scopeHash(scope), cursor])).toString('base64url');
}

/** Throws `invalid_cursor`, alike for one of another list and for one that was made up. */
export function decodeCursor(scope: Scope, text: string): Cursor {
  const [scopeOf, cursor] = parsed(text);
  if (scopeOf === scopeHash(scope) && isCursor(cursor, scope.order)) return cursor;
  throw notOfThisList();
}

function scopeHash({ org, filters, order, of }: Scope): string {
  const sorted = filters.map(canonicalJson).sort();
  return hashOf({ org, filters: sorted, order, ...(of && { of }) });
}

function isCursor(value: unknown, order: SearchQuery['order']): value is Cursor {
  if (typeof value !== 'object' || value === null) return false;
  if (order === 'received') return 'seen' in value && isSeen(value.seen);
  if (!('after' in value) || !Array.isArray(value.after) || value.after.length !== 2) return false;
  const [at, id] = value.after;
  return (typeof at === 'string' || Number.isSafeInteger(at)) && typeof id === 'string';
}

function isSeen(seen: unknown): boolean {
  if (typeof seen !== 'object' || seen === null) return false;
  const isPlace = (place: unknown) =>
    Array.isArray(place) && place.length === 2 && place.every((part) => Number.isSafeInteger(part) && part >= 0);
  return Object.values(seen).every(isPlace);
}

/** Behind an item of a list that is sorted by a property: by its value, undefined where it has none, and its name. */
export interface SortedPlace {
  readonly value: Scalar | undefined;
  readonly name: string;
}

export function encodePlace(scope: object, { value, name }: SortedPlace): string {
  return Buffer.from(JSON.stringify([hashOf(scope), value ?? null, name])).toString('base64url');
}

/** Throws `invalid_cursor`, as `decodeCursor` does. */
export function decodePlace(scope: object, text: string): SortedPlace {
  const [scopeOf, value, name] = parsed(text);
  if (scopeOf === hashOf(scope) && typeof name === 'string') {
    if (value === null) return { value: undefined, name };
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return { value, name };
  }
  throw notOfThisList();
}

/** The parts of a cursor's text; none of what is no cursor at all. */
function parsed(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(parts) ? parts : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function hashOf(scope: object): string {
  return hash('sha256', canonicalJson(scope), 'base64url').slice(0, 16);
}

function notOfThisList(): ControlError {
  return new ControlError('invalid_cursor', 'the cursor does not belong to this list; start again without it');
}
