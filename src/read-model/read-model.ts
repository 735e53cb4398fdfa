import type { Offsets, Topic } from '../event-log/event-log.js';
import type { KindName } from './kinds.js';

/**
 * What the projections made of the log, for reading. It can be thrown away and rebuilt from the log at any time, and
 * then answers the same. Every adapter passes `test/contract/read-model.contract.ts`.
 *
 * Documents belong to an organization; each method takes it and never answers with another's.
 */
export interface ReadModel {
  /**
   * Applies all writes in order and then the progress: the caller sees all of it or an error, and after an error applies
   * the same again. Progress never passes a write that failed, and never goes backward: an apply with an older progress (a projector that lost its partition)
   * leaves the newer one. Applying the same writes again changes nothing.
   *
   * An identifier is written by `create` alone, or by `put` and `delete` from one partition alone.
   *
   * Resolves with one outcome a write, in order. Durability is that of the read model: what is lost with it is in the
   * log. `progress` names only the partitions that moved on.
   */
  apply(topic: Topic, writes: readonly Write[], progress: Offsets): Promise<Outcome[]>;

  /** The document as last applied, searchable or not. */
  get(kind: KindName, org: string, id: string): Promise<Document | undefined>;

  /**
   * One page; sees every write whose `apply` and a following `refresh` resolved before the call. Documents without the
   * field of the order are left out. Rejects a query out of its bounds, of an unknown field, or with the cursor of another
   * order: those are faults of the program.
   */
  search(kind: KindName, query: SearchQuery): Promise<Page>;

  /**
   * The end of the order received: the last documents that match, earliest first, and a cursor behind everything that is
   * searchable at this moment, whether it matches or not. What `search` finds from that cursor, with any filters, is what
   * became searchable later: nothing of it is missing, and nothing of what was there before is repeated. Sees what
   * `search` sees, and rejects what it rejects.
   */
  last(kind: KindName, query: LastQuery): Promise<LastPage>;

  /**
   * How many documents of the organization there are by each value of the kind's `countBy` field, by value ascending; sees
   * what `search` sees. Nothing for a kind without that field.
   */
  count(kind: KindName, org: string): Promise<ReadonlyMap<string, number>>;

  /** What is applied of a topic. The authority on where a projector goes on. */
  progress(topic: Topic): Promise<Progress>;

  /**
   * Removes what came from the topic and starts a new generation at 0. Reads go on meanwhile: each sees the state
   * before or after, never a part.
   */
  reset(topic: Topic): Promise<void>;

  /** Makes everything applied before the call searchable. */
  refresh(): Promise<void>;

  close(): Promise<void>;
}

export interface Progress {
  /** Grows with every reset; an acknowledgement of another generation does not count. */
  readonly generation: number;
  readonly next: Offsets;
}

/** The record that a document came from, and which of its documents it is. */
export interface Place {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  /** Tells the documents of one record apart, from 0. */
  readonly ordinal: number;
  /** When the log took the record, in milliseconds. */
  readonly time: number;
}

interface WriteTo {
  readonly kind: KindName;
  readonly org: string;
  readonly id: string;
  readonly place: Place;
}

export interface DocumentContent {
  /** The values of the kind's fields; one that is absent is not stored and matches no filter. */
  readonly fields: Fields;
  /** JSON text, answered as it is, byte for byte. */
  readonly source: string;
}

/**
 * - `create`: the first of an identifier stays for ever. `hash` tells a repetition from another content.
 * - `put`, `delete`: the newest place wins, so an older write that arrives late changes nothing, after a delete too.
 */
export type Write =
  | (WriteTo & DocumentContent & { readonly op: 'create'; readonly hash?: string })
  | (WriteTo & DocumentContent & { readonly op: 'put' })
  | (WriteTo & { readonly op: 'delete' });

/**
 * - `applied`: the document is there because of this write, now or at an earlier delivery of it (same place).
 * - `duplicate`: another place created the identifier, with the same hash (or neither has one).
 * - `conflict`: another place created the identifier, with another hash.
 * - `stale`: a `put` or `delete` older than what is there.
 */
export type OutcomeCode = 'applied' | 'duplicate' | 'conflict' | 'stale';

export interface Outcome {
  readonly code: OutcomeCode;
  readonly id: string;
}

export type FieldValue = string | number;
export type Fields = Readonly<Record<string, FieldValue | undefined>>;

export interface Document extends DocumentContent {
  readonly id: string;
  readonly place: Place;
}

/** Exact, typed comparison; strings by code point. A document without the field matches nothing. */
export interface Filter {
  readonly field: string;
  readonly op: '=' | '>=' | '<';
  readonly value: FieldValue;
}

/**
 * - `{field, direction}`: by the field, then by `id`, both in this direction.
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
}

export interface LastQuery {
  readonly org: string;
  /** All must match. */
  readonly filters: readonly Filter[];
  /** 0 to 1000. */
  readonly limit: number;
}

export interface LastPage {
  readonly items: readonly Document[];
  /** Where to go on in the order received. */
  readonly cursor: Cursor;
}

export interface Page {
  readonly items: readonly Document[];
  /** Whether there is a document after this page now. */
  readonly more: boolean;
  /**
   * Where to go on, also for documents that are not there yet; absent at most for an empty page that was given no
   * cursor. In the order received the last page's may lie behind documents that do not match, so that going on from it
   * again and again does not look at them again and again.
   */
  readonly cursor?: Cursor;
}
