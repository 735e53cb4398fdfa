import { parseCheckpoint } from '../../tlog/checkpoint.js';
import { step, VerificationFailed } from '../../tlog/failure.js';
import type { Demands, NotShown, Shown } from '../../tlog/findings.js';
import { splitNote } from '../../tlog/note.js';
import { UsageError } from '../output/failures.js';
import { readFileText } from './files.js';
import { changed } from './observed.js';
import { comparable, formerOf, type Pin, type Pins, sizeOf } from './pins.js';

/** What the user gives to be believed. What is not given, the pin of the log knows. */
export interface Given {
  readonly vkey?: string | undefined;
  /** File. */
  readonly policy?: string | undefined;
  readonly number?: number | undefined;
  /** File. */
  readonly pinned?: string | undefined;
  readonly after?: number | undefined;
}

/**
 * What a proof with this checkpoint must show, and the pin of its log. The own pin is always demanded, whatever else is given: of
 * a shorter history, the newest former pin that it reaches. Throws `UsageError` if nothing says whom to believe.
 */
export async function demandsOn(
  note: string,
  given: Given,
  pins: Pins,
): Promise<{ demands: Demands; pin: Pin | undefined }> {
  const { origin, size } = step('checkpoint', 'The checkpoint', () => parseCheckpoint(splitNote(note).text));
  const pin = await pins.ofOrigin(origin);
  const { vkey, number = pin?.number, after } = given;
  if (pin && vkey?.startsWith(`${origin}+`) && vkey !== pin.vkey) {
    throw changed('vkey', pin.vkey, vkey, pins.fileOf(pin.origin));
  }
  if (pin && pin.number !== undefined && number !== pin.number) {
    throw changed('number', pin.number, number ?? '', pins.fileOf(pin.origin));
  }
  const policy = given.policy === undefined ? undefined : await readFileText(given.policy);
  const vkeys = [vkey ?? (policy === undefined ? pin?.vkey : undefined)].filter((one) => one !== undefined);
  if (vkeys.length === 0 && policy === undefined) throw nobodyTrusted(origin);
  const own = pin && comparable(pin, size);
  const other = given.pinned === undefined ? undefined : await readFileText(given.pinned);
  const pinned = [own, other].filter((one) => one !== undefined);
  if (pin && pinned.length === 0)
    throw new VerificationFailed(
      'older',
      `The history of ${size} leaves is older than your pin of ${sizeOf(pin.note)}, and no earlier checkpoint of yours is as old. Give one with --pinned, or export again.`,
    );
  const demands = {
    trust: { vkeys, ...(policy !== undefined && { policy }), ...(number !== undefined && { number }) },
    pinned,
    ...(after !== undefined && { after }),
  };
  return { demands, pin };
}

/** What of a later pin was not compared. */
export function olderThan(pin: Pin | undefined, { size, pinned }: Shown): NotShown[] {
  if (!pin || sizeOf(pin.note) <= size) return [];
  const compared = pinned ? `Only its first ${pinned.size} leaves were` : 'None of its leaves was';
  const text = `The history of ${size} leaves is older than your pin of ${sizeOf(pin.note)}: it shows nothing about the later ones, nor that they continue it. ${compared} compared with what you saw earlier.`;
  return [{ kind: 'older', text }];
}

/**
 * Pins what was verified, unless the pin is of a later checkpoint. Returns false if the pin is not `pin` any more, which was
 * demanded: another process has changed it.
 */
export async function pinVerified(note: string, shown: Shown, pin: Pin | undefined, pins: Pins): Promise<boolean> {
  const vkey = shown.signedBy.find((one) => one.startsWith(`${shown.origin}+`));
  if (vkey === undefined || (pin && sizeOf(pin.note) > shown.size)) return true;
  const number = shown.head?.number ?? pin?.number;
  return pins.replace(pin, {
    ...pin,
    origin: shown.origin,
    vkey: pin?.vkey ?? vkey,
    note,
    ...(number !== undefined && { number }),
    ...formerOf(pin, note),
  });
}

function nobodyTrusted(origin: string): UsageError {
  return new UsageError(`no key of ${origin} is known`, [
    'give the one that its operator published with --vkey, or a --policy',
    'or let `svc audit verify` pin what the service shows now',
  ]);
}
