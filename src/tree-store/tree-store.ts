import { ControlError } from '../contract/errors.js';

/**
 * Where the Merkle trees over the log are kept: one of every organization, and the service log over all of them. Everything
 * in it is derived from the log, so it may be lost. Every adapter passes `test/contract/tree-store.contract.ts`.
 *
 * Writers apply cuts, then publish them. What readers may show is what was published: they take a published head, and of a
 * cell the prefix that this head has. Cells only grow, so a reader never needs a lock.
 */
export interface TreeStore {
  /** The last cut that was applied; undefined before the first, and in a store that was lost. */
  progress(): Promise<Progress | undefined>;

  /**
   * Stores what a cut adds, and moves the progress to it, last. Idempotent: the same cut may be applied again, also after a
   * part of it was stored. One writer at a time.
   *
   * A cell only grows: throws `TreeDiverged`, and moves nothing, if the bytes given are not a continuation of what is stored,
   * or if the cut does not follow the last one. In a store that several processes share, a cut that another one applied has no
   * effect; throws `TreesLost` if what this one has seen there is gone.
   */
  apply(cut: AppliedCut): Promise<void>;

  /**
   * The heads of all organizations as of the last applied cut, in the order of their numbers. If the progress moves meanwhile,
   * some are of a later one.
   */
  heads(): AsyncIterable<OrgHead>;

  /** As `heads`, of one organization; undefined if it has no leaf. */
  head(org: string): Promise<OrgHead | undefined>;

  /** Entries 256 n and following, as C2SP tlog-tiles serves them: u16 length, entry. Undefined if there are none. */
  bundle(tree: Tree, n: number): Promise<Buffer | undefined>;

  /** Hashes 256 n and following of a level from 1 on, each that of a full tile below. Undefined if there are none. */
  tile(tree: Tree, level: number, n: number): Promise<Buffer | undefined>;

  /**
   * Which leaves the records 256 `page` and following gave, `PLACE_BYTES` a record: u32 number of the organization + 1 (0: the
   * record has no leaf), u48 index of its first leaf.
   */
  page(topic: string, partition: number, page: number): Promise<Buffer | undefined>;

  /**
   * Puts the signed notes of the trees in the place of those before them, that of the service log among them. Idempotent. No
   * effect on notes of a later cut.
   */
  publish(cut: number, notes: ReadonlyMap<Tree, string>): Promise<void>;

  /**
   * The last published note of a tree, and the cut that it was published with; undefined before the first. Throws `TreesLost`
   * while the trees of a shared store are made from the log again.
   */
  published(tree: Tree): Promise<PublishedNote | undefined>;

  close(): Promise<void>;
}

/** `service`, or the number of an organization, from 0. */
export type Tree = 'service' | number;

export interface OrgHead {
  readonly org: string;
  readonly number: number;
  readonly size: number;
  readonly root: Buffer;
  /** The cut that changed this organization last, with its two times in milliseconds. */
  readonly cut: number;
  readonly complete: number;
  readonly at: number;
}

export interface Progress {
  /** Identifier of the log. */
  readonly log: string;
  /** Number of the cut, from 1. */
  readonly n: number;
  /** SHA-256 of the cut's record. */
  readonly hash: Buffer;
  /** The next offset of every partition, by `topic/partition`. */
  readonly next: Readonly<Record<string, number>>;
  /** Of the cut, in `checkpoints`. */
  readonly offset: number;
  /** What the writer needs besides to continue: a text that the store does not interpret. */
  readonly memo: string;
}

export interface AppliedCut extends Progress {
  /** Of the organizations that the cut changed. */
  readonly heads: readonly OrgHead[];
  /** Cells that the cut changed, each with all of its bytes. */
  readonly bundles: readonly { readonly tree: Tree; readonly n: number; readonly bytes: Uint8Array }[];
  readonly tiles: readonly {
    readonly tree: Tree;
    readonly level: number;
    readonly n: number;
    readonly bytes: Uint8Array;
  }[];
  /** Up to the last record that the cut covers. */
  readonly places: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly page: number;
    readonly bytes: Uint8Array;
  }[];
}

export interface PublishedNote {
  readonly note: string;
  readonly cut: number;
}

/** Bytes of a place in a page. */
export const PLACE_BYTES = 10;

/** The stored trees and what was to be added to them do not have one history. Nothing may be signed any more. */
export class TreeDiverged extends Error {
  override readonly name = 'TreeDiverged';
}

/** What was stored is gone: the writer reads `progress`, and applies the cuts after it again. */
export class TreesLost extends ControlError {
  constructor(reason: string) {
    super('read_model_unavailable', reason);
  }
}
