import { isUtf8 } from 'node:buffer';
import { ControlError, validationFailed } from '../../contract/errors.js';
import { COLON, COMMA, END, JsonTokens, OPEN_ARRAY, OPEN_OBJECT, QUOTE, WORD } from '../../contract/json-tokens.js';
import { LIMITS } from '../../contract/limits.js';
import { escapePointer } from '../../platform/text.js';
import type { Verbatim } from '../../platform/verbatim-json.js';
import { faultIn } from './fault.js';
import { isLongNumber, withExactNumbers } from './numbers.js';

/** A parsed body. */
export interface JsonDocument {
  readonly value: unknown;
  /** Whether there are numbers that a double cannot hold: they stand as raw JSON and come out digit for digit. */
  readonly exact: boolean;
  /** The outermost value is at depth 1. */
  readonly depth: number;
  /** What was sent, where only its texts were read: empty objects stand in `value` for the others. */
  readonly verbatim?: Verbatim;
}

interface Scan {
  depth: number;
  /** Members of all objects, as written. */
  members: number;
  hasLongNumber: boolean;
  hasEscape: boolean;
}

/**
 * Parses a body strictly, so that nothing is altered on the way in: UTF-8 only, no repeated names, no `__proto__`, no
 * lone surrogates, bounded depth, and numbers as they were written. Throws `malformed_json`, or `validation_failed`
 * with the places. `around`: so many of its levels do not count.
 */
export function parseJson(bytes: Buffer, around = 0): JsonDocument {
  if (!isUtf8(bytes)) throw new ControlError('malformed_json', 'the body is not valid UTF-8');
  const { depth, members, hasLongNumber, hasEscape } = scan(bytes);
  if (depth - around > LIMITS.depth) {
    const message = `the body is nested ${depth - around} levels deep; the limit is ${LIMITS.depth}`;
    throw new ControlError('malformed_json', message);
  }
  const text = bytes.toString();
  const parsed = parseText(text, bytes);
  if (countMembers(parsed) !== members) {
    const pointer = findDuplicateName(bytes);
    throw new ControlError('malformed_json', `duplicate member ${pointer}`, { pointer });
  }
  const { value, exact } = hasLongNumber ? withExactNumbers(parsed, bytes) : { value: parsed, exact: false };
  if (text.includes('__proto__') || (hasEscape && text.includes('\\u'))) refuseNames(value);
  if (hasEscape && SURROGATE_ESCAPE.test(text)) refuseLoneSurrogates(value);
  return { value, exact, depth };
}

const SURROGATE_ESCAPE = /\\u[dD]/;

/** JSON pointers of the numbers that a double cannot hold, except below the members that are left out. */
export function exactNumbers(value: unknown, isLeftOut?: (path: readonly string[]) => boolean): string[] {
  return pointersWhere(value, (leaf) => JSON.isRawJSON(leaf), isLeftOut);
}

function parseText(text: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8's message quotes the text; the place alone is enough, and quotes nobody.
    const place = /position (\d+)/.exec((error as Error).message)?.[1];
    const at = place === undefined ? bytes.toString('utf8', 0, faultIn(bytes)).length : Number(place);
    throw new ControlError('malformed_json', `the body is not valid JSON: the fault is at character ${at}`, { at });
  }
}

/** One pass over the tokens: what a parser does not tell afterwards. */
function scan(bytes: Buffer): Scan {
  const tokens = new JsonTokens(bytes);
  const found: Scan = { depth: 0, members: 0, hasLongNumber: false, hasEscape: false };
  for (let token = tokens.next(); token !== END; token = tokens.next()) {
    if (token === COLON) found.members += 1;
    else if (token === QUOTE) found.hasEscape ||= tokens.isEscaped;
    else if (token === WORD) found.hasLongNumber ||= isLongNumber(tokens);
    else if (tokens.depth > found.depth) found.depth = tokens.depth;
  }
  return found;
}

/** The JSON pointer of the first name that repeats another of its object, in text that is JSON; '' if none does. */
export function findDuplicateName(bytes: Buffer): string {
  const tokens = new JsonTokens(bytes);
  const path: { readonly names?: Set<string>; at: string | number }[] = [];
  let before = '';
  for (let token = tokens.next(); token !== END; token = tokens.next()) {
    const top = path.at(-1);
    if (token === OPEN_OBJECT) path.push({ names: new Set(), at: '' });
    else if (token === OPEN_ARRAY) path.push({ at: 0 });
    else if (tokens.depth < path.length) path.pop();
    else if (token === QUOTE) before = bytes.toString('utf8', tokens.start, tokens.end);
    else if (token === COMMA && typeof top?.at === 'number') top.at += 1;
    else if (token === COLON && top?.names) {
      const name: string = JSON.parse(before);
      top.at = name;
      if (top.names.has(name)) return path.map(({ at }) => `/${escapePointer(String(at))}`).join('');
      top.names.add(name);
    }
  }
  return '';
}

function countMembers(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
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
function pointersWhere(
  value: unknown,
  test: (value: unknown, name: string) => boolean,
  isLeftOut: (path: readonly string[]) => boolean = () => false,
): string[] {
  const found: string[] = [];
  const path: string[] = [];
  const visit = (at: unknown, name: string) => {
    if (test(at, name)) found.push(path.map((member) => `/${escapePointer(member)}`).join(''));
    if (at === null || typeof at !== 'object' || JSON.isRawJSON(at) || isLeftOut(path)) return;
    for (const member of Object.keys(at)) {
      path.push(member);
      visit((at as Record<string, unknown>)[member], member);
      path.pop();
    }
  };
  visit(value, '');
  return found;
}
