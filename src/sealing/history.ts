import { ControlError } from '../contract/errors.js';
import type { TreeStore } from '../tree-store/tree-store.js';

/**
 * What reads need of the sealed history: the published trees, the keys that signed them, and the salts of leaves. Every api
 * process has one. Everything it returns is of the last published cut.
 */
export interface SealedHistory {
  readonly store: TreeStore;

  /** First part of all origins, with that of the epoch at their ends. */
  readonly origins: Origins;

  /** Why nothing is sealed any more until an operator acts; undefined if all is well. Names no organization. */
  readonly refusal: string | undefined;

  /** The keys that sign, oldest first. `vkey` is of the service log; `vkeyOf(origin, publicKey)` makes those of others. */
  vkeys(): Promise<readonly SigningKey[]>;

  /** What the salts of the leaves of an organization are derived from. */
  orgSecret(org: string): Promise<Buffer>;

  /** Where the records lie that can never be indexed: the dead letters of `audit`, in no order, some repeated. */
  unindexed(): AsyncIterable<RecordPlace>;

  /** Resolves with true when a published cut covers the record, and with false after so many milliseconds. */
  sealed(place: RecordPlace, timeoutMs: number): Promise<boolean>;

  /** Undefined if no published cut has a leaf of this organization. */
  headProof(number: number): Promise<HeadProof | undefined>;
}

/** Throws `not_sealed` if nothing is sealed any more: what was published may not be what the log has. */
export function requireSealing({ refusal }: Pick<SealedHistory, 'refusal'>): void {
  if (refusal !== undefined) throw new ControlError('not_sealed', `the log is not sealed any more: ${refusal}`);
}

export interface Origins {
  /** `<base>/audit/-tlog` */
  readonly service: string;
  /** `<base>/audit/org/<org>/-tlog` */
  org(org: string): string;
}

export interface SigningKey {
  readonly vkey: string;
  /** The first cut that it signs, and the last. */
  readonly fromCut: number;
  readonly toCut?: number;
}

export interface RecordPlace {
  readonly topic: 'audit' | 'control';
  readonly partition: number;
  readonly offset: number;
}

/** Shows that the checkpoint of an organization is in the directory of a cut, and that cut in the service log. */
export interface HeadProof {
  /** Of the published cut: its index in the service log is `cut - 1`. */
  readonly cut: number;
  /** Its entry in the service log. */
  readonly entry: string;
  /** Text of the organization's checkpoint, which is the directory's entry at `number`. */
  readonly checkpoint: string;
  readonly number: number;
  readonly orgs: number;
  readonly directoryPath: readonly Buffer[];
  readonly path: readonly Buffer[];
  /** The signed checkpoint of the service log, of size `cut`. */
  readonly note: string;
}

/** Under this token Nest injects the `SealedHistory`. */
export const SEALED_HISTORY = Symbol('SealedHistory');
