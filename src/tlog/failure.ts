import { ProofInvalid } from './merkle.js';
import { NoteInvalid } from './note.js';
import { FormatInvalid } from './text.js';

/**
 * What did not verify: `checkpoint`: its signature, origin or format; `line`: an event that does not belong to its leaf; `cover`:
 * a leaf that is missing, repeated or too much; `root`: the leaves are not those of the checkpoint; `pinned`: they do not
 * extend the pinned checkpoint; `older`: they are fewer than it has; `time`: an event is older than a checkpoint without it, or newer than its own; `head`: the proof
 * in the service log; `number`: the organization has another number; `quorum`: witnesses are missing; `stale`: the checkpoint is older than
 * asked for; `format`: a file is damaged or cut off.
 */
export type FailureReason =
  | 'checkpoint'
  | 'line'
  | 'cover'
  | 'root'
  | 'pinned'
  | 'older'
  | 'time'
  | 'head'
  | 'number'
  | 'quorum'
  | 'stale'
  | 'format';

export class VerificationFailed extends Error {
  override readonly name = 'VerificationFailed';
  /** Of the events, from 1. */
  readonly line?: number;
  /** From 0. */
  readonly leaf?: number;

  constructor(
    readonly reason: FailureReason,
    message: string,
    { line, leaf }: { line?: number; leaf?: number } = {},
  ) {
    super(message);
    if (line !== undefined) this.line = line;
    if (leaf !== undefined) this.leaf = leaf;
  }
}

/** Runs one step; what its formats, notes and proofs throw becomes a failure for this reason. */
export function step<Result>(reason: FailureReason, what: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const isKnown = error instanceof FormatInvalid || error instanceof NoteInvalid || error instanceof ProofInvalid;
    if (!isKnown) throw error;
    throw new VerificationFailed(reason, `${what}: ${error.message}`);
  }
}
