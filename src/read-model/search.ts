import type { Document, FieldValue } from './document.js';

/**
 * Exact, typed comparison; strings by code point. A document without the field matches nothing. `in`: equals one of the
 * values, of which there may be thousands, and any of them more than once; without values nothing matches.
 */
export type Filter =
  | { readonly field: string; readonly op: '=' | '>=' | '<'; readonly value: FieldValue }
  | { readonly field: string; readonly op: 'in'; readonly values: readonly FieldValue[] };

/**
 * - `{field, direction}`: by the field, then by `id`, both in this direction. The field is the kind's `sort`: an adapter
 *   may reject any other.
 * - `received`: in the order in which the log took the records, per partition; partitions are merged by their
 *   records' time. Its cursor misses nothing: a record that appears later always comes after it.
 */
export type Order = { readonly field: string; readonly direction: 'ascending' | 'descending' } | 'received';

/** After which document the next page starts. Plain data: callers may serialize it, and give back what they were given. */
export type Cursor =
  | { readonly after: readonly [FieldValue, string] }
  /** Last place seen, by `topic/partition`: `[offset, ordinal]`. */
  | { readonly seen: Readonly<Record<string, readonly [number, number]>> };

export interface SearchQuery {
  readonly org: string;
  /** All must match. */
  readonly filters: readonly Filter[];
  readonly order: Order;
  /** 1 to 1000. */
  readonly limit: number;
  /** Documents to pass over, 0 to 10,000; not together with `cursor`. */
  readonly offset?: number;
  readonly cursor?: Cursor;
  /** The page ends early with the document that brings it to so many bytes of `source`: it has one document at least. */
  readonly maxBytes?: number;
  /**
   * How long the search may hold this process's event loop, in milliseconds; whatever it takes it holds it in short slices.
   * When that is spent the page ends early, and where it has nothing yet the search throws `too_costly`. A store that
   * searches elsewhere holds the loop for what it found only.
   */
  readonly budgetMs?: number;
}

export interface LastQuery {
  readonly org: string;
  /** All must match. */
  readonly filters: readonly Filter[];
  /** 0 to 1000. */
  readonly limit: number;
  /** As in `SearchQuery`: there are fewer documents where those at the end already have so many bytes. */
  readonly maxBytes?: number;
  /** As in `SearchQuery`; when it is spent, throws `too_costly`. */
  readonly budgetMs?: number;
}

export interface LastPage {
  readonly items: readonly Document[];
  /** Where to go on in the order received. */
  readonly cursor: Cursor;
}

export interface Page {
  readonly items: readonly Document[];
  /** Whether there is a document after this page now; true as well where `budgetMs` ended the page before that was known. */
  readonly more: boolean;
  /**
   * Where to go on, also for documents that are not there yet; absent at most for an empty page that was given no
   * cursor. In the order received the last page's may lie behind documents that do not match, so that going on from it
   * again and again does not look at them again and again.
   */
  readonly cursor?: Cursor;
}
