import type { Offsets, Topic } from '../event-log/event-log.js';
import type { Document, Outcome, StoredDocument, Write } from './document.js';
import type { KindName } from './kinds.js';
import type { LastPage, LastQuery, Page, SearchQuery } from './search.js';
import type { Stats, StatsQuery } from './stats.js';

/**
 * The documents that the projections derive from the log. It can be deleted and rebuilt from the log at any time, and
 * then returns the same. Every adapter passes `test/contract/read-model.contract.ts`.
 *
 * Documents belong to an organization; each method that reads takes the organization and never returns another's documents.
 *
 * Reads are of one generation, the live one, and so are the methods of `Generation` here. Where several processes share
 * a read model, those write to the generation that `progress` last returned, until they call it again: another process may
 * have promoted a new one meanwhile.
 */
export interface ReadModel extends Generation {
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

  /** How many documents match, by the values of a field and over time; sees what `search` sees, and rejects what it rejects. */
  stats(kind: KindName, query: StatsQuery): Promise<Stats>;

  /**
   * Begins an empty generation beside the live one, to be filled from the log's beginning. One that was begun before and
   * not promoted is removed: only one is under way at a time.
   */
  begin(): Promise<NextGeneration>;

  /**
   * How long, in milliseconds, a refresh may be put off so that several writes share it: while somebody waits for a write
   * to be searchable, and otherwise. 0 where what is applied is searchable at once.
   */
  readonly refreshMs: { readonly waited: number; readonly idle: number };

  close(): Promise<void>;
}

/** Under this token Nest injects the `ReadModel`. */
export const READ_MODEL = Symbol('ReadModel');

/** One complete set of documents, with how far the log is in it. */
export interface Generation {
  /**
   * Applies all writes in order and then the progress: the caller sees all of it or an error, and after an error applies
   * the same again. Progress never passes a write that failed, and never goes backward: an apply with an older progress
   * (a projector that lost its partition) leaves the newer one. Applying the same writes again changes nothing.
   *
   * An identifier is written by `create` alone, or by `put` and `delete` from one partition alone. A document that has
   * expired counts as absent: creating it has no effect, and creating its identifier anew takes its place.
   *
   * Resolves with one outcome a write, in order. Durability is that of the read model: what is lost with it is in the
   * log. `progress` names only the partitions that moved on, and `from` where the caller knows them to have been: so an
   * empty generation that took the place of a lost one is not taken for it, and progress never skips anything.
   *
   * Throws `GenerationLost` when the generation is not there any more, or its progress is before `from`, or not what this
   * handle knows of it (somebody removed it, or the whole store): then progress stays as it was; ask `progress` and go on
   * from there. Throws `GenerationSealed` while another is about to take its place.
   */
  apply(topic: Topic, writes: readonly Write[], progress: Offsets, from?: Offsets): Promise<Outcome[]>;

  /** What is applied of a topic. The authority on where a projector goes on. */
  progress(topic: Topic): Promise<Progress>;

  /** Makes everything applied before the call searchable. Resolves with the number of the generation that it is in. */
  refresh(): Promise<number>;

  /**
   * Frees the room of documents that have expired; reads do not show them before either. Stops early when the signal
   * aborts. Resolves with how many it removed.
   */
  sweep(signal: AbortSignal): Promise<number>;

  /**
   * The documents of all organizations that say they come from this range of the log, by (offset, ordinal), deleted and
   * expired ones too: for comparing with the log. Sees what `search` sees. At most `limit` (1 to 1000); fewer only at the
   * end of the range. A document that is stored twice appears twice.
   */
  scan(kind: KindName, range: ScanRange): Promise<readonly StoredDocument[]>;

  /**
   * Documents that say they come from a place that the log does not have: before the beginning, or at or behind the
   * end, of a partition of the topics that `ends` names, where an absent partition ends at 0. Documents of other topics are
   * left alone. Page by page, in an order of the adapter's own, whatever is removed meanwhile. Sees what `search` sees.
   */
  strays(kind: KindName, ends: Readonly<Partial<Record<Topic, Offsets>>>, range: StrayRange): Promise<StrayPage>;

  /** Stores the document just as the write says, whatever is there under its identifier: the log says it must be so. */
  overwrite(write: Write): Promise<void>;

  /** Removes this copy of a document, which the log does not have. Gone already: no effect. */
  remove(kind: KindName, document: StoredDocument): Promise<void>;
}

export interface NextGeneration extends Generation {
  /**
   * Ends writing to the live generation, in every process, and resolves with how far it got: what was announced as
   * searchable lies before it. From then on `apply` to the live one throws `GenerationSealed`, before it moves progress.
   * The seal lapses by itself after `leaseMs` milliseconds, and writing goes on, unless `promote` came first.
   */
  seal(leaseMs: number): Promise<Readonly<Partial<Record<Topic, Offsets>>>>;

  /**
   * Makes it the live one: each read sees the generation before or this one, never a part of either. What was live is
   * removed. Everything before the seal must be applied and refreshed here. Throws, and changes nothing, when the live
   * generation is not sealed or the seal has lapsed.
   */
  promote(): Promise<void>;

  /** Removes it; nothing of it was visible. */
  discard(): Promise<void>;
}

export interface ScanRange {
  readonly topic: Topic;
  readonly partition: number;
  /** Offset, inclusive. */
  readonly from: number;
  /** Offset, exclusive. */
  readonly to: number;
  /** Goes on behind this document of the page before. */
  readonly after?: StoredDocument;
  readonly limit: number;
}

export interface StrayRange {
  /** 1 to 1000. */
  readonly limit: number;
  /** Goes on where the page before ended: its `next`. */
  readonly after?: string;
}

export interface StrayPage {
  readonly documents: readonly StoredDocument[];
  /** Undefined on the last page. */
  readonly next?: string;
}

/** The generation was removed or set back. Nothing is lost: the log has it, and `progress` returns where to continue. */
export class GenerationLost extends Error {
  override readonly name = 'GenerationLost';
}

/** Another generation is about to become live. Nothing is lost: call `progress` and `apply` again until they succeed. */
export class GenerationSealed extends Error {
  override readonly name = 'GenerationSealed';
}

export interface Progress {
  /** Grows with every promotion; an acknowledgement of an earlier generation does not count. */
  readonly generation: number;
  readonly next: Offsets;
}
