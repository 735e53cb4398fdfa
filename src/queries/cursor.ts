import { Injectable } from '@nestjs/common';
import { ControlError } from '../contract/errors.js';
import { canonicalJson } from '../model/json.js';
import type { Scalar } from '../model/query.js';
import { ServiceSecret } from '../platform/service-secret.js';
import type { Cursor, SearchQuery } from '../read-model/search.js';

/** What a cursor goes on with: it is void for another organization, other filters (in any sequence) or another order. */
export interface Scope extends Pick<SearchQuery, 'org' | 'filters' | 'order'> {
  /** Distinguishes lists that differ in more than their filters; a cursor is void for another list. */
  readonly of?: object;
}

/** Of the order received: everything is still to come. */
export const BEGINNING: Cursor = { seen: {} };

/** Behind an item of a list that is sorted by a property: by its value, undefined where it has none, and its name. */
export interface SortedPlace {
  readonly value: Scalar | undefined;
  readonly name: string;
}

/**
 * Cursors as texts for links. They are sealed: a position in the shared log would reveal how much others write, and
 * cannot be forged. A text is good in every process that has the same service secret, and for its own list alone.
 */
@Injectable()
export class Cursors {
  constructor(private readonly secret: ServiceSecret) {}

  encode(scope: Scope, cursor: Cursor): string {
    return this.secret.sealed('cursor', JSON.stringify(cursor), listOf(scope));
  }

  /** Throws `invalid_cursor`, alike for one of another list and for one that was made up. */
  decode(scope: Scope, text: string): Cursor {
    return this.opened<Cursor>(text, listOf(scope));
  }

  encodePlace(scope: object, { value, name }: SortedPlace): string {
    return this.secret.sealed('cursor', JSON.stringify([value ?? null, name]), canonicalJson(scope));
  }

  /** Throws `invalid_cursor`, as `decode` does. */
  decodePlace(scope: object, text: string): SortedPlace {
    const [value, name] = this.opened<[Scalar | null, string]>(text, canonicalJson(scope));
    return { value: value ?? undefined, name };
  }

  private opened<Sealed>(text: string, list: string): Sealed {
    const opened = this.secret.opened('cursor', text, list);
    if (opened !== undefined) return JSON.parse(opened) as Sealed;
    throw new ControlError('invalid_cursor', 'the cursor belongs to another list; start again without it');
  }
}

/** The same text for the same list, in whatever sequence its filters stand. */
function listOf({ org, filters, order, of }: Scope): string {
  return canonicalJson({ org, filters: filters.map(canonicalJson).sort(), order, ...(of && { of }) });
}
