import { hash } from 'node:crypto';
import { ControlError } from '../errors.js';
import { canonicalJson } from '../model/canonical-json.js';
import type { Cursor, SearchQuery } from '../read-model/read-model.js';

/** What a cursor goes on with: it is void for another organization, other filters (in any sequence) or another order. */
export type Scope = Pick<SearchQuery, 'org' | 'filters' | 'order'>;

/** Of the order received: everything is still to come. */
export const BEGINNING: Cursor = { seen: {} };

/** Opaque text for a link. It holds no more than the caller has seen. */
export function encodeCursor(scope: Scope, cursor: Cursor): string {
  return Buffer.from(JSON.stringify([scopeHash(scope), cursor])).toString('base64url');
}

/** Throws `invalid_cursor`, alike for one of another list and for one that was made up. */
export function decodeCursor(scope: Scope, text: string): Cursor {
  try {
    const [scopeOf, cursor] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [unknown, unknown];
    if (scopeOf === scopeHash(scope) && isCursor(cursor, scope.order)) return cursor;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw new ControlError('invalid_cursor', 'the cursor does not belong to this list; start again without it');
}

function scopeHash({ org, filters, order }: Scope): string {
  const sorted = filters.map(canonicalJson).sort();
  return hash('sha256', canonicalJson({ org, filters: sorted, order }), 'base64url').slice(0, 16);
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
