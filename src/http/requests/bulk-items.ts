import type { PublishItem } from '../../commands/audit-publish.js';
import { ControlError, type FieldFault, validationFailed } from '../../contract/errors.js';
import { COLON, COMMA, JsonTokens, OPEN_OBJECT, QUOTE, skipSpace } from '../../contract/json-tokens.js';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import { isObject } from '../../model/json.js';
import { escapePointer } from '../../platform/text.js';
import { eachInSteps, STEP_BYTES, type Steps } from '../../platform/turns.js';
import { idempotencyKeyFault } from '../errors/request-faults.js';
import { arrayItems } from '../json/array.js';
import { parseEvent } from '../json/event.js';
import { parseJson } from '../json/parse.js';
import { pick } from '../json/pick.js';
import { eventFaults } from './event-check.js';

const EMPTY_EVENT = Buffer.from('{}');

/** A longer text is no item. A wrapper may add so much to its event: the key, with escapes, and white space. */
export const MOST_ITEM_BYTES = LIMITS.bodyBytes + 4 * 1024;

/** An item that can be recorded, or why it cannot. */
export type BulkItem = PublishItem | ControlError;

/** A bulk body, not parsed yet: its items are parsed one by one. */
export interface BulkBody {
  readonly type: 'json' | 'ndjson';
  readonly bytes: Buffer;
}

/**
 * The items of a bulk body, in order: a JSON array, or NDJSON (blank lines are passed over). An item is an event, or
 * `{idempotencyKey?, event}`; each is sound or refused on its own. Throws for a body that is neither, and, before any item
 * is parsed, for one that has too many.
 */
export function* bulkItems({ type, bytes }: BulkBody, now: number): Steps<BulkItem[]> {
  const texts = yield* (type === 'json' ? arrayItems : linesOf)(bytes, LIMITS.bulkEvents + 1);
  if (!texts) {
    // Why it is no JSON is told of what a person may have written.
    if (bytes.length <= LIMITS.bodyBytes) parseJson(bytes);
    throw validationFailed([{ pointer: '', reason: 'must be an array of events' }]);
  }
  checkCount(texts.length);
  return yield* eachInSteps(texts, (text) => tried(() => bulkItem(text, now)));
}

/** Lines that are not blank: at most so many. A body may have millions of blank ones. */
function* linesOf(bytes: Buffer, most: number): Steps<Buffer[]> {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length && lines.length < most; ) {
    const part = bytes.subarray(start, start + STEP_BYTES);
    const blank = skipSpace(part, 0);
    start += blank;
    if (blank < part.length) {
      const newline = bytes.indexOf(0x0a, start);
      const end = newline < 0 ? bytes.length : newline;
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    yield;
  }
  return lines;
}

function checkCount(count: number): void {
  if (count > LIMITS.bulkEvents)
    throw new ControlError('payload_too_large', `a bulk may have at most ${LIMITS.bulkEvents} events; this has more`);
  if (count === 0) throw validationFailed([{ pointer: '', reason: 'has no events' }]);
}

function tried(make: () => PublishItem): BulkItem {
  try {
    return make();
  } catch (error) {
    if (error instanceof ControlError) return error;
    throw error;
  }
}

/**
 * One item. Throws what is wrong with it. The limits are those of an event: what can be published alone can be published in
 * bulk, wrapped too.
 */
export function bulkItem(text: Buffer, now: number): PublishItem {
  if (text.length > MOST_ITEM_BYTES) throw tooLarge(text.length);
  const wrapped = wrappedEvent(text);
  if (!wrapped) {
    if (text.length > LIMITS.bodyBytes) throw tooLarge(text.length);
    const { value, exact, verbatim } = parseEvent(text);
    return { event: soundEvent(value, exact, now, ''), verbatim };
  }
  if (wrapped.event.length > LIMITS.bodyBytes) throw tooLarge(wrapped.event.length);
  const { wrapper, document } = parsedParts(text, wrapped);
  const { idempotencyKey: key, event: _empty, ...unknown } = wrapper;
  const idempotencyKey = key ?? undefined;
  const faults: FieldFault[] = Object.keys(unknown).map((name) => ({
    pointer: `/${escapePointer(name)}`,
    reason: 'is not a known field; remove it',
  }));
  const keyFault = idempotencyKey === undefined ? undefined : idempotencyKeyFault(idempotencyKey);
  if (keyFault !== undefined) faults.push({ pointer: '/idempotencyKey', reason: keyFault });
  if (faults.length > 0) throw validationFailed(faults);
  const sound = { event: soundEvent(document.value, document.exact, now, '/event'), verbatim: document.verbatim };
  return idempotencyKey === undefined ? sound : { ...sound, idempotencyKey: idempotencyKey as string };
}

/** The sound key of a wrapper whose event may be faulty. */
export function wrapperKey(text: Buffer): string | undefined {
  if (!text.includes('"idempotencyKey"')) return undefined;
  const wrapped = wrappedEvent(text);
  if (!wrapped) return undefined;
  try {
    const { value } = parseJson(Buffer.concat([wrapped.before, EMPTY_EVENT, wrapped.after]));
    return soundKey(value);
  } catch (error) {
    if (error instanceof ControlError) return undefined;
    throw error;
  }
}

/** As `wrapperKey`, of a text that is too long for an item. */
export function* longWrapperKey(text: Buffer): Steps<string | undefined> {
  if (!text.includes('"idempotencyKey"')) return undefined;
  const found = yield* pick(text, [['idempotencyKey'], ['event'], ['resource']]);
  return isObject(found) && 'event' in found && !('resource' in found) ? soundKey(found) : undefined;
}

function soundKey(wrapper: unknown): string | undefined {
  const { idempotencyKey: key } = wrapper as { readonly idempotencyKey?: unknown };
  return typeof key === 'string' && idempotencyKeyFault(key) === undefined ? key : undefined;
}

/** What stands in a wrapper: the text of its event, and what is around that. */
interface Wrapped {
  readonly before: Buffer;
  readonly event: Buffer;
  readonly after: Buffer;
}

function parsedParts(text: Buffer, { before, event, after }: Wrapped) {
  try {
    const { value } = parseJson(Buffer.concat([before, EMPTY_EVENT, after]));
    return { wrapper: value as Record<string, unknown>, document: parseEvent(event) };
  } catch (error) {
    // What is wrong is told with its place in the item.
    parseJson(text, 1);
    throw error;
  }
}

/** Undefined for another text: an event always has `resource`, and never `event`. */
function wrappedEvent(text: Buffer): Wrapped | undefined {
  const tokens = new JsonTokens(text);
  if (tokens.next() !== OPEN_OBJECT) return undefined;
  let wrapped: Wrapped | undefined;
  for (let token = tokens.next(); token === QUOTE; token = tokens.next()) {
    const name = nameOf(text.subarray(tokens.start, tokens.end));
    if (name === 'resource' || tokens.next() !== COLON) return undefined;
    tokens.next();
    const { start } = tokens;
    tokens.skipValue();
    const { end } = tokens;
    if (name === 'event')
      wrapped = { before: text.subarray(0, start), event: text.subarray(start, end), after: text.subarray(end) };
    if (tokens.next() !== COMMA) break;
  }
  return wrapped;
}

function nameOf(text: Buffer): string | undefined {
  try {
    return JSON.parse(text.toString()) as string;
  } catch {
    return undefined;
  }
}

function tooLarge(bytes: number): ControlError {
  return new ControlError(
    'payload_too_large',
    `an event may have at most ${LIMITS.bodyBytes} bytes; this has ${bytes}`,
  );
}

function soundEvent(value: unknown, exact: boolean, now: number, at: string): SentAuditEvent {
  const faults = eventFaults(value, exact, now);
  if (faults.length > 0)
    throw validationFailed(faults.map(({ pointer, reason }) => ({ pointer: at + pointer, reason })));
  return value as SentAuditEvent;
}
