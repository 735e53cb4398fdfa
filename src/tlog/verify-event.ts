import { step, VerificationFailed } from './failure.js';
import {
  type Demands,
  missingFrom,
  type NotShown,
  openPinned,
  type Shown,
  verifyCheckpoint,
  verifySuccession,
  verifyTime,
} from './findings.js';
import { leafHash } from './hash.js';
import { commitmentOf, entryOf } from './leaf.js';
import { verifyInclusion } from './merkle.js';
import { receivedTimeOf } from './received-time.js';
import { FormatInvalid } from './text.js';
import { parseTlogProof } from './tlog-proof.js';
import { type OpenCheckpoint, Trusted } from './trust.js';

export interface EventToVerify extends Demands {
  /** The exact bytes that the service sent, with or without a newline at the end. */
  readonly event: Buffer;
  /** The text of its tlog-proof. */
  readonly proof: string;
  /** The head proof of the same checkpoint. */
  readonly head?: string;
}

export interface VerifiedEvent extends Shown {
  readonly leaf: number;
  /** In milliseconds. */
  readonly receivedTime: number;
  readonly notShown: readonly NotShown[];
}

/** Shows that a trusted checkpoint has this event, byte for byte. Throws as `verifyExport` does. */
export function verifyEvent({ event, proof, head, ...demands }: EventToVerify): VerifiedEvent {
  const trusted = new Trusted(demands.trust);
  const pinned = openPinned(demands, trusted);
  const { extra, index: leaf, path, note } = step('format', 'The proof', () => parseTlogProof(proof));
  const salt = step('format', 'The proof', () => saltIn(extra));
  const text = event.at(-1) === 0x0a ? event.subarray(0, -1) : event;
  const receivedTime = receivedTimeOf(text);
  if (receivedTime === undefined)
    throw new VerificationFailed(
      'line',
      'The event does not end with a receivedTime as the service writes it: give the exact bytes that it sent.',
    );
  const shown = verifyCheckpoint({ note, ...(head !== undefined && { head }) }, demands, trusted);
  const entry = entryOf(receivedTime, commitmentOf(salt, text));
  step('root', 'The event is not the one of its proof', () =>
    verifyInclusion(leafHash(entry), leaf, shown.size, path, Buffer.from(shown.root, 'base64')),
  );
  for (const one of pinned) verifyTime(receivedTime, { leaf }, { pinned: one });
  verifyTime(receivedTime, { leaf }, { cut: shown.cut });
  const same = pinned.filter((one) => isSamePinned(shown, one)).at(-1)?.checkpoint;
  const whole = { ...shown, ...(same && { pinned: { size: same.size, complete: same.cut?.complete ?? 0 } }) };
  return { ...whole, leaf, receivedTime, notShown: missingFrom(whole) };
}

/** One event shows consistency with an earlier checkpoint only if that is of the same size. */
function isSamePinned(shown: Shown, pinned: OpenCheckpoint): boolean {
  verifySuccession(shown, pinned);
  const { size, root } = pinned.checkpoint;
  if (size === shown.size && root.toString('base64') !== shown.root)
    throw new VerificationFailed(
      'pinned',
      `The checkpoint and the pinned one have ${size} leaves, but other ones. Keep both, they prove it.`,
    );
  return size === shown.size;
}

function saltIn(extra: Buffer | undefined): Buffer {
  let salt: unknown;
  try {
    salt = JSON.parse((extra ?? '').toString())?.salt;
  } catch {
    // Told below.
  }
  const bytes = typeof salt === 'string' ? Buffer.from(salt, 'base64url') : undefined;
  if (bytes?.length !== 16) throw new FormatInvalid('Its line "extra" does not have a salt of 16 bytes.');
  return bytes;
}
