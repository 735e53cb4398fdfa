import type { CheckpointCut } from './checkpoint.js';
import { VerificationFailed } from './failure.js';
import { type Head, verifyHead } from './head-proof.js';
import { parseOrigin } from './origin.js';
import type { ClosedReasons, SignedHead } from './sidecar.js';
import type { Cosignature, OpenCheckpoint, Trust, Trusted } from './trust.js';

/** By how much clocks may differ. */
const CLOCK_SLACK_MS = 60_000;
/** A cosignature that comes later is remarked. */
const LATE_COSIGNATURE_MS = 10 * 60_000;

/** What a verification does not show, with a sentence for people. */
export interface NotShown {
  readonly kind: 'closed' | 'filter' | 'witness' | 'head' | 'number' | 'pin' | 'older' | 'age' | 'cosignature';
  readonly text: string;
}

/** What a verification shows of a checkpoint. */
export interface Shown {
  readonly origin: string;
  readonly size: number;
  /** In base64. */
  readonly root: string;
  /** The cut that last added leaves. */
  readonly cut?: CheckpointCut;
  /** The history is complete up to this time: all records that the log took before it are among the leaves. */
  readonly complete: number;
  readonly signedBy: readonly string[];
  /** By witnesses of the policy: of this checkpoint, or of the service log that has it. */
  readonly cosignatures: readonly Cosignature[];
  readonly head?: Head;
  readonly pinned?: { readonly size: number; readonly complete: number };
}

/** What the caller asks for beyond trust. */
export interface Demands {
  readonly trust: Trust;
  /** Earlier checkpoints of the organization, signed. All of them must be of the same history. */
  readonly pinned?: string | readonly string[];
  /** Refuses a history that is complete only up to an earlier time, in milliseconds. */
  readonly after?: number;
}

/** The smallest first. Throws `VerificationFailed`. */
export function openPinned({ pinned = [] }: Demands, trusted: Trusted): OpenCheckpoint[] {
  const open = [pinned].flat().map((note) => trusted.open(note, 'The pinned checkpoint'));
  return open.sort((a, b) => a.checkpoint.size - b.checkpoint.size);
}

/** Everything about the signed head but its root: signatures, witnesses, number, age. Throws `VerificationFailed`. */
export function verifyCheckpoint(signed: SignedHead, demands: Demands, trusted: Trusted): Shown {
  const open = trusted.open(signed.note, 'The checkpoint');
  const { origin, size, root, cut } = open.checkpoint;
  if (parseOrigin(origin)?.org === undefined)
    throw new VerificationFailed('checkpoint', `The checkpoint is of ${origin}, which is no organization's log.`);
  if (!cut && size > 0)
    throw new VerificationFailed('checkpoint', 'The checkpoint has no line "control-cut": it says no time.');
  const head = signed.head === undefined ? undefined : verifyHead(signed.head, open, trusted);
  verifyNumber(demands.trust.number, signed.number, head);
  verifyQuorum(trusted, open, head);
  const complete = Math.max(cut?.complete ?? 0, head?.cut.complete ?? 0);
  if (demands.after !== undefined && complete < demands.after)
    throw new VerificationFailed(
      'stale',
      `The history is complete up to ${iso(complete)} only, not up to ${iso(demands.after)}.`,
    );
  const cosignatures = [...open.cosignatures, ...(head?.cosignatures ?? [])];
  const shown = { origin, size, root: root.toString('base64'), complete, signedBy: open.signedBy, cosignatures };
  return { ...shown, ...(cut && { cut }), ...(head && { head }) };
}

function verifyNumber(wanted: number | undefined, claimed: number | undefined, head: Head | undefined): void {
  if (head && claimed !== undefined && claimed !== head.number)
    throw new VerificationFailed(
      'number',
      `The proof file says that the organization has the number ${claimed}, its head proof ${head.number}.`,
    );
  if (wanted === undefined || wanted === head?.number) return;
  const found = head ? `the number ${head.number}` : 'no head proof, which alone shows its number';
  throw new VerificationFailed('number', `The organization has ${found}, and should have the number ${wanted}.`);
}

function verifyQuorum({ policy }: Trusted, { cosignatures }: OpenCheckpoint, head: Head | undefined): void {
  const isMet = [cosignatures, head?.cosignatures ?? []].some((list) => policy?.isMetBy(list.map(({ vkey }) => vkey)));
  if (policy && !isMet)
    throw new VerificationFailed(
      'quorum',
      `The witnesses that cosigned do not meet the quorum "${policy.quorum}" of the policy.`,
    );
}

/** That the checkpoint can be a later one of the same log. Throws `VerificationFailed`. */
export function verifySuccession(shown: Shown, pinned: OpenCheckpoint): void {
  const { origin, size } = pinned.checkpoint;
  if (origin !== shown.origin)
    throw new VerificationFailed('pinned', `The checkpoint is of ${shown.origin}, the pinned one of ${origin}.`);
  if (size > shown.size)
    throw new VerificationFailed(
      'older',
      `The checkpoint has ${shown.size} leaves and is older than the pinned one of ${size}: it shows nothing about the later ones. Compare it with an earlier checkpoint, or export again.`,
    );
}

/** Neither older than a checkpoint that lacks the leaf, nor newer than the one that has it. Throws `VerificationFailed`. */
export function verifyTime(
  time: number,
  at: { readonly leaf: number; readonly line?: number },
  { pinned, cut }: { pinned?: OpenCheckpoint | undefined; cut?: CheckpointCut | undefined },
): void {
  const event = at.line === undefined ? 'The event' : `Line ${at.line} (leaf ${at.leaf})`;
  const received = `${event} was received at ${iso(time)}`;
  const { size = Number.POSITIVE_INFINITY, cut: { complete = 0 } = {} } = pinned?.checkpoint ?? {};
  if (at.leaf >= size && time < complete - CLOCK_SLACK_MS) {
    const lacks = `the pinned checkpoint, which is complete up to ${iso(complete)}, lacks it`;
    throw new VerificationFailed('time', `${received}, but ${lacks}: it was inserted later.`, at);
  }
  if (cut && time > cut.at + CLOCK_SLACK_MS)
    throw new VerificationFailed('time', `${received}, after its checkpoint was made, at ${iso(cut.at)}.`, at);
}

/** What nothing in a checkpoint showed. */
export function missingFrom({ head, complete, pinned, cosignatures }: Shown): NotShown[] {
  const newest = Math.max(...cosignatures.map(({ time }) => time));
  const missing: (NotShown | false)[] = [
    !cosignatures.length && {
      kind: 'witness',
      text: 'No witness of yours cosigned: the service could show others another history.',
    },
    !head && {
      kind: 'head',
      text: 'Without a head proof nothing shows that the service log has this checkpoint, or under which number.',
    },
    !pinned && {
      kind: 'pin',
      text: 'Nothing shows that the history is the one that you saw earlier: that takes an export, and an earlier checkpoint.',
    },
    cosignatures.length > 0 &&
      newest > complete + LATE_COSIGNATURE_MS && {
        kind: 'cosignature',
        text: `The newest cosignature is of ${iso(newest)}, more than 10 minutes after the history ends.`,
      },
    { kind: 'age', text: `Nothing is shown of what was received after ${iso(complete)}.` },
  ];
  return missing.filter((finding) => finding !== false);
}

/** What the reasons of closed leaves mean. */
const WHY: ReadonlyMap<string, string> = new Map([
  ['duplicate', 'sent again (a repeated identifier or Idempotency-Key; the first event counts)'],
  ['expired', 'expired (older than the retention of their context)'],
  ['unindexed', 'not indexed (dead letters, which the operator lists with svc dead-letter list)'],
  ['filter', 'left out by the filters of the export'],
  ['context', 'in contexts that whoever exported may not read'],
]);

/** Of leaves without an event in the export. */
export function closedFindings(closed: number, reasons: ClosedReasons): NotShown[] {
  if (!closed) return [];
  const claims = Object.entries(reasons).map(([reason, count]) => `${count} ${WHY.get(reason) ?? reason}`);
  const text = `${closed} of the history's entries have no event in the export. The service claims, and nothing proves: ${claims.join('; ')}.`;
  const isFiltered = reasons['filter'] || reasons['context'];
  const filter: NotShown = {
    kind: 'filter',
    text: 'The export was filtered: nothing shows that the filter left out only what it should.',
  };
  return [{ kind: 'closed', text }, ...(isFiltered ? [filter] : [])];
}

function iso(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? `${time} ms` : date.toISOString();
}
