import { FormatInvalid, fromBase64 } from './text.js';

/** Why the export has no event for a leaf. Claims of the service: only the number of leaves is proven. */
export type ClosedReasons = Readonly<Record<string, number>>;

/** Leaves without an event in the export, as the roots of the fewest complete subtrees. */
export interface ClosedRun {
  readonly from: number;
  readonly count: number;
  readonly hashes: readonly Buffer[];
  readonly reasons: ClosedReasons;
}

export interface SignedHead {
  /** The checkpoint, signed. */
  readonly note: string;
  /** Of the organization: a claim, unless the head proof shows it. */
  readonly number?: number;
  /** The proof that the service log has this checkpoint. */
  readonly head?: string;
}

export type SidecarLine =
  | { readonly kind: 'leaf'; readonly leaf: number; readonly salt: Buffer; readonly hash: string }
  | ({ readonly kind: 'closed' } & ClosedRun)
  | ({ readonly kind: 'checkpoint' } & SignedHead)
  | { readonly kind: 'end'; readonly count: number };

/** Of the leaf hash, enough to name a line that does not belong to its leaf. */
const HINT_BYTES = 8;

export function hintOf(leafHash: Buffer): string {
  return leafHash.toString('base64url', 0, HINT_BYTES);
}

/** One for each event line, in the order of those. As all lines of the file, without the newline. */
export function leafLine(leaf: number, salt: Buffer, leafHash: Buffer): string {
  return `{"leaf":${leaf},"salt":"${salt.toString('base64url')}","h":"${hintOf(leafHash)}"}`;
}

export function closedLine({ from, count, hashes, reasons }: ClosedRun): string {
  const base64 = hashes.map((hash) => hash.toString('base64'));
  return JSON.stringify({ kind: 'closed', from, count, hashes: base64, reasons });
}

export function checkpointLine({ note, number, head }: SignedHead): string {
  return JSON.stringify({ kind: 'checkpoint', note, number, head });
}

export function endLine(count: number): string {
  return JSON.stringify({ kind: 'exportend', count });
}

/** Throws `FormatInvalid`. */
export function parseSidecarLine(text: string): SidecarLine {
  const line = parsed(text);
  if (line.kind === undefined) return leafIn(line);
  if (line.kind === 'closed') return { kind: line.kind, ...closedIn(line) };
  if (line.kind === 'checkpoint') return { kind: line.kind, ...headIn(line) };
  if (line.kind === 'exportend' && isCount(line.count)) return { kind: 'end', count: line.count };
  throw new FormatInvalid(`it is not a line of a proof file: ${text.slice(0, 80)}`);
}

type Members = Readonly<Record<string, unknown>>;

function parsed(text: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatInvalid(`it is not JSON: ${text.slice(0, 80)}`);
  }
  if (!text.startsWith('{')) throw new FormatInvalid('it is not a JSON object from its first character on');
  return value as Members;
}

function leafIn({ leaf, salt: text, h: hash }: Members): SidecarLine {
  const salt = typeof text === 'string' ? Buffer.from(text, 'base64url') : undefined;
  if (!isCount(leaf) || salt?.length !== 16 || typeof hash !== 'string')
    throw new FormatInvalid('it does not have a leaf, a salt of 16 bytes and h');
  return { kind: 'leaf', leaf, salt, hash };
}

function closedIn({ from, count, hashes, reasons }: Members): ClosedRun {
  const bytes = Array.isArray(hashes) ? hashes.flatMap((hash) => fromBase64(String(hash)) ?? []) : [];
  if (!isCount(from) || !isCount(count) || typeof reasons !== 'object' || reasons === null || !isSafe(from, count))
    throw new FormatInvalid('the closed leaves lack from, count or reasons');
  if (count === 0 || !Array.isArray(hashes) || bytes.length < hashes.length)
    throw new FormatInvalid('the closed leaves are none, or lack hashes in base64');
  const all: [string, unknown][] = Object.entries(reasons);
  const claims = all.filter((entry): entry is [string, number] => isCount(entry[1]));
  if (claims.length < all.length || claims.reduce((sum, [, claimed]) => sum + claimed, 0) !== count)
    throw new FormatInvalid(`the reasons are not for ${count} closed leaves`);
  return { from, count, hashes: bytes, reasons: Object.fromEntries(claims) };
}

function headIn({ note, number, head }: Members): SignedHead {
  if (typeof note !== 'string') throw new FormatInvalid('the checkpoint has no note');
  if (number !== undefined && !isCount(number)) throw new FormatInvalid('the number of the organization is not one');
  if (head !== undefined && typeof head !== 'string') throw new FormatInvalid('the head proof is not a text');
  return { note, ...(number !== undefined && { number }), ...(head !== undefined && { head }) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isSafe(from: number, count: number): boolean {
  return Number.isSafeInteger(from + count);
}
