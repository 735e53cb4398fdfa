import { isUtf8 } from 'node:buffer';
import { ControlError, validationFailed } from '../../contract/errors.js';
import { findDuplicateName } from './duplicates.js';
import { escapePointer } from './pointer.js';

/** How deep a body may nest; the outermost value is at depth 1. */
export const MAX_DEPTH = 32;

/** A parsed body. */
export interface JsonDocument {
  readonly value: unknown;
  /** Whether there are numbers that a double cannot hold: they stand as raw JSON and come out digit for digit. */
  readonly exact: boolean;
  /** The outermost value is at depth 1. */
  readonly depth: number;
}

interface Scan {
  depth: number;
  /** Members of all objects, as written. */
  members: number;
  longNumber: boolean;
  surrogateEscape: boolean;
}

/**
 * Parses a body strictly, so that nothing is altered on the way in: UTF-8 only, no repeated names, no `__proto__`, no
 * lone surrogates, bounded depth, and numbers as they were written. Throws `malformed_json`, or `validation_failed`
 * with the places.
 */
export function parseJson(bytes: Buffer, maxDepth = MAX_DEPTH): JsonDocument {
  if (!isUtf8(bytes)) throw new ControlError('malformed_json', 'the body is not valid UTF-8');
  return parseJsonText(bytes.toString(), maxDepth);
}

export function parseJsonText(text: string, maxDepth = MAX_DEPTH): JsonDocument {
  const scan = scanText(text);
  if (scan.depth > maxDepth) throw tooDeep(scan.depth, maxDepth);
  const value = parseText(text, scan.longNumber);
  if (countMembers(value) !== scan.members) {
    const pointer = findDuplicateName(text);
    throw new ControlError('malformed_json', `duplicate member ${pointer}`, { pointer });
  }
  if (text.includes('__proto__') || text.includes('\\u')) refuseNames(value);
  if (scan.surrogateEscape) refuseLoneSurrogates(value);
  return { value, exact: scan.longNumber && exactNumbers(value).length > 0, depth: scan.depth };
}

export function tooDeep(depth: number, most: number): ControlError {
  return new ControlError('malformed_json', `the body is nested ${depth} levels deep; the limit is ${most}`);
}

/** JSON pointers of the numbers that a double cannot hold. */
export function exactNumbers(value: unknown): string[] {
  return pointersWhere(value, (leaf) => JSON.isRawJSON(leaf));
}

function parseText(text: string, longNumber: boolean): unknown {
  try {
    return longNumber ? JSON.parse(text, keepNumber) : JSON.parse(text);
  } catch (error) {
    // V8's message quotes the text; the place alone is enough, and quotes nobody.
    const place = /position (\d+)/.exec((error as Error).message)?.[1];
    const at = place === undefined ? { at: text.length } : { at: Number(place) };
    throw new ControlError('malformed_json', `the body is not valid JSON: the fault is at character ${at.at}`, at);
  }
}

/** A longer number is kept as it is written, whatever its value: comparing it could take long. */
const LONGEST_COMPARED = 100;

/** Only numbers of 16 digits and more, or with an exponent, can differ from what a double writes back. */
function keepNumber(this: unknown, _key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value;
  const { source } = context;
  const same = source.length <= LONGEST_COMPARED && decimal(source) === decimal(String(value));
  return same ? value : JSON.rawJSON(source);
}

/** One text for all texts of the same decimal number. */
function decimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return whole === '' ? text : '0';
  const scale = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${scale}`;
}

const enum Char {
  quote = 0x22,
  colon = 0x3a,
  open = 0x5b,
  escape = 0x5c,
  close = 0x5d,
  openBrace = 0x7b,
  closeBrace = 0x7d,
  zero = 0x30,
  nine = 0x39,
  e = 0x65,
  d = 0x64,
  u = 0x75,
  lowerCase = 0x20,
}

/** One pass over the text, without a judgement of its syntax: what a parser would not tell afterwards. */
function scanText(text: string): Scan {
  const scan: Scan = { depth: 0, members: 0, longNumber: false, surrogateEscape: false };
  let depth = 0;
  let digits = 0;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    if (char >= Char.zero && char <= Char.nine) {
      digits += 1;
      if (digits >= 16) scan.longNumber = true;
      continue;
    }
    // "true" and "false" have an e, but no digit before it.
    if ((char | Char.lowerCase) === Char.e && digits > 0) scan.longNumber = true;
    if (char !== 0x2e) digits = 0;
    if (char === Char.quote) {
      index = skipString(text, index, scan);
    } else if (char === Char.openBrace || char === Char.open) {
      depth += 1;
      if (depth > scan.depth) scan.depth = depth;
    } else if (char === Char.closeBrace || char === Char.close) {
      depth -= 1;
    } else if (char === Char.colon) {
      scan.members += 1;
    }
  }
  return scan;
}

/** The index of the string's closing quote, or of the text's end. */
function skipString(text: string, start: number, scan: Scan): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    if (char === Char.quote) return index;
    if (char !== Char.escape) continue;
    index += 1;
    const surrogate = text.charCodeAt(index) === Char.u && (text.charCodeAt(index + 1) | Char.lowerCase) === Char.d;
    if (surrogate) scan.surrogateEscape = true;
  }
  return text.length;
}

function countMembers(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  if (JSON.isRawJSON(value)) return 0;
  for (const name of Object.keys(value)) count += 1 + countMembers((value as Record<string, unknown>)[name]);
  return count;
}

function refuseNames(value: unknown): void {
  const pointers = pointersWhere(value, (_leaf, name) => name === '__proto__');
  if (pointers.length === 0) return;
  throw validationFailed(
    pointers.map((pointer) => ({ pointer, reason: 'is named __proto__, which is not allowed; rename the member' })),
  );
}

function refuseLoneSurrogates(value: unknown): void {
  const pointers = pointersWhere(
    value,
    (leaf, name) => (typeof leaf === 'string' && !leaf.isWellFormed()) || !name.isWellFormed(),
  );
  if (pointers.length === 0) return;
  const reason = 'contains half of a surrogate pair, which is not a Unicode character';
  throw validationFailed(pointers.map((pointer) => ({ pointer: pointer.toWellFormed(), reason })));
}

/** Pointers (RFC 6901) of all values that the test picks, by value and member name. */
function pointersWhere(value: unknown, test: (value: unknown, name: string) => boolean): string[] {
  const found: string[] = [];
  const visit = (at: unknown, name: string, pointer: string) => {
    if (test(at, name)) found.push(pointer);
    if (at === null || typeof at !== 'object' || JSON.isRawJSON(at)) return;
    for (const member of Object.keys(at)) {
      visit((at as Record<string, unknown>)[member], member, `${pointer}/${escapePointer(member)}`);
    }
  };
  visit(value, '', '');
  return found;
}
