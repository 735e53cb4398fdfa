import { type ExportFiles, ExportReading } from './export-reading.js';
import { VerificationFailed } from './failure.js';
import {
  closedFindings,
  type Demands,
  missingFrom,
  type NotShown,
  openPinned,
  type Shown,
  verifyCheckpoint,
  verifySuccession,
} from './findings.js';
import type { ClosedRun } from './sidecar.js';
import { Trusted } from './trust.js';

interface ExportToVerify extends ExportFiles, Demands {
  /** The checkpoint of the proof file, if it was read before: the file must have it, and a leaf behind it fails at once. */
  readonly note?: string;
}

export interface VerifiedExport extends Shown {
  /** Lines whose text was shown to be that of their leaf. */
  readonly events: number;
  readonly closed: number;
  /** Why leaves are closed, as the service claims. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly notShown: readonly NotShown[];
}

/**
 * Shows that every line is the text of its leaf, that lines and closed leaves together are the whole tree of a trusted checkpoint,
 * and that this tree extends the pinned ones, in one pass over both files. Throws `VerificationFailed`; `FormatInvalid` if what is
 * trusted cannot be read.
 */
export async function verifyExport(given: ExportToVerify): Promise<VerifiedExport> {
  const trusted = new Trusted(given.trust);
  const pinned = openPinned(given, trusted);
  const known = given.note === undefined ? undefined : trusted.open(given.note, 'The checkpoint');
  const reading = new ExportReading(pinned, known?.checkpoint.size);
  const { signed, runs } = await reading.read(given);
  if (known && signed.note !== given.note)
    throw new VerificationFailed('format', 'The proof file was changed while it was read.');
  const shown = verifyCheckpoint(signed, given, trusted);
  for (const one of pinned) verifySuccession(shown, one);
  reading.verifyTree(shown, runs);
  const { events } = reading;
  const { closed, reasons } = sumOf(runs);
  const last = pinned.at(-1)?.checkpoint;
  const whole = { ...shown, ...(last && { pinned: { size: last.size, complete: last.cut?.complete ?? 0 } }) };
  return { ...whole, events, closed, reasons, notShown: [...closedFindings(closed, reasons), ...missingFrom(whole)] };
}

function sumOf(runs: readonly ClosedRun[]): { closed: number; reasons: Record<string, number> } {
  const reasons = new Map<string, number>();
  for (const [reason, count] of runs.flatMap((run) => Object.entries(run.reasons))) {
    reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  const closed = runs.reduce((sum, { count }) => sum + count, 0);
  return { closed, reasons: Object.fromEntries(reasons) };
}
