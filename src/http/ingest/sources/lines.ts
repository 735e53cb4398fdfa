import type { PublishItem } from '../../../commands/audit-publish.js';
import { ControlError } from '../../../contract/errors.js';
import { endOfScalar, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace, trimmed } from '../../../contract/json-tokens.js';
import { LIMITS } from '../../../contract/limits.js';
import { eachInSteps, STEP_BYTES, type Steps } from '../../../platform/turns.js';
import { arrayItems } from '../../json/array.js';
import { bulkItem, longWrapperKey, wrapperKey } from '../../requests/bulk-items.js';
import { asMappable, type Candidate, isLong, tooLong, Unmappable } from '../candidate.js';
import { keyed, type Mapper } from '../mapping.js';

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** So many lines are found in one step. */
const STEP_LINES = 1_000;

/**
 * What a body of text has: the items of a JSON array, one JSON object that may span lines, or else the lines that are not
 * blank.
 */
export function* lines(bytes: Buffer, now: number, map: Mapper | undefined): Steps<Candidate[]> {
  const texts = (yield* itemsOf(bytes)) ?? (isOneObject(bytes) ? [trimmed(bytes)] : yield* linesOf(bytes));
  return yield* ownOrMapped(texts, now, map);
}

/** Each is an event of ours, wrapped or not, or what `map` makes of it. Throws `payload_too_large` if there are too many. */
export function ownOrMapped(texts: readonly Buffer[], now: number, map: Mapper | undefined): Steps<Candidate[]> {
  checkCount(texts);
  return eachInSteps(texts, (raw) => ({ raw, event: () => eventOf(raw, now, map) }));
}

function* eventOf(raw: Buffer, now: number, map: Mapper | undefined): Steps<PublishItem> {
  if (isLong(raw)) {
    const key = yield* longWrapperKey(raw);
    if (!map) throw tooLong(raw, key);
    return yield* keyed(key, map(raw));
  }
  try {
    return asMappable(() => bulkItem(raw, now));
  } catch (error) {
    if (!(error instanceof Unmappable)) throw error;
    yield;
    const key = wrapperKey(raw);
    if (!map) throw new Unmappable(error.message, key);
    return yield* keyed(key, map(raw));
  }
}

/** Undefined for what is no array. A line of text may begin with a bracket, too. */
export function* itemsOf(bytes: Buffer): Steps<Buffer[] | undefined> {
  // Behind more white space than this, text is taken for lines: to pass over all of it would hold the event loop.
  if (bytes[skipSpace(bytes.subarray(0, STEP_BYTES), 0)] !== OPEN_ARRAY) return undefined;
  try {
    const items = yield* arrayItems(bytes, LIMITS.ingest.lines + 1);
    const texts = items && (yield* eachInSteps(items, trimmed));
    return texts?.every(isLikeJson) ? texts : undefined;
  } catch (error) {
    if (error instanceof ControlError) return undefined;
    throw error;
  }
}

function isLikeJson(text: Buffer): boolean {
  const [first] = text;
  const isOpen = first === OPEN_OBJECT || first === OPEN_ARRAY || first === QUOTE;
  return isOpen || (text.length > 0 && endOfScalar(text, 0) === text.length);
}

/** Longer ones are no events anyway, and looking at them would hold the event loop. */
function isOneObject(bytes: Buffer): boolean {
  if (bytes.length > LIMITS.bodyBytes || bytes[skipSpace(bytes, 0)] !== OPEN_OBJECT) return false;
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

/** Without their line feeds, and carriage returns before these. A run of blank lines is passed over at once. */
function* linesOf(bytes: Buffer): Steps<Buffer[]> {
  const found: Buffer[] = [];
  for (let start = 0; found.length <= LIMITS.ingest.lines; ) {
    const content = yield* endOfBlank(bytes, start);
    if (content === bytes.length) break;
    // A line keeps the white space that it begins with.
    if (content > start) start = Math.max(start, bytes.lastIndexOf(NEWLINE, content - 1) + 1);
    const newline = bytes.indexOf(NEWLINE, content);
    const next = newline < 0 ? bytes.length : newline;
    found.push(bytes.subarray(start, bytes[next - 1] === RETURN ? next - 1 : next));
    start = next + 1;
    if (found.length % STEP_LINES === 0) yield;
  }
  return found;
}

/** The first place from `at` on that is not white space, or the end. */
function* endOfBlank(bytes: Buffer, at: number): Steps<number> {
  for (let start = at; start < bytes.length; start += STEP_BYTES) {
    const part = bytes.subarray(start, start + STEP_BYTES);
    const blank = skipSpace(part, 0);
    if (blank < part.length) return start + blank;
    yield;
  }
  return bytes.length;
}

/** Throws `payload_too_large` for too many. */
export function checkCount({ length }: { readonly length: number }): void {
  const { lines } = LIMITS.ingest;
  if (length <= lines) return;
  throw new ControlError(
    'payload_too_large',
    `one request may have at most ${lines} lines; this has more, and nothing was recorded; send at most ${lines} at once`,
  );
}
