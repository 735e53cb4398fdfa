import type { PublishItem } from '../../commands/audit-publish.js';
import { ControlError, type FieldFault, validationFailed } from '../../contract/errors.js';
import { skipSpace } from '../../contract/json-tokens.js';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import { escapePointer } from '../../platform/text.js';
import { eachInSteps, type Steps } from '../../platform/turns.js';
import { idempotencyKeyFault } from '../errors/request-faults.js';
import { arrayItems } from '../json/array.js';
import { parseEvent } from '../json/event.js';
import { parseJson, tooDeep } from '../json/parse.js';
import { eventFaults } from './event-check.js';

/** White space that is passed over in one step. */
const BLANK_BYTES = 256 * 1024;

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
  return yield* eachInSteps(texts, (text) => tried(() => itemOf(text, now)));
}

/** Lines that are not blank: at most so many. A body may have millions of blank ones. */
function* linesOf(bytes: Buffer, most: number): Steps<Buffer[]> {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length && lines.length < most; ) {
    const part = bytes.subarray(start, start + BLANK_BYTES);
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

function itemOf(text: Buffer, now: number): PublishItem {
  if (text.length > LIMITS.bodyBytes) {
    throw new ControlError(
      'payload_too_large',
      `an event may have at most ${LIMITS.bodyBytes} bytes; this has ${text.length}`,
    );
  }
  // The wrapper adds a level: an event that can be published alone can be published in bulk.
  const { value, exact, depth, verbatim } = parseEvent(text, LIMITS.depth + 1);
  if (!isWrapped(value)) {
    if (depth > LIMITS.depth) throw tooDeep(depth, LIMITS.depth);
    return { event: soundEvent(value, exact, now, ''), verbatim };
  }
  const { idempotencyKey, event, ...unknown } = value;
  const faults: FieldFault[] = Object.keys(unknown).map((name) => ({
    pointer: `/${escapePointer(name)}`,
    reason: 'is not a known field; remove it',
  }));
  const keyFault = idempotencyKey === undefined ? undefined : idempotencyKeyFault(idempotencyKey);
  if (keyFault !== undefined) faults.push({ pointer: '/idempotencyKey', reason: keyFault });
  if (faults.length > 0) throw validationFailed(faults);
  const sound = soundEvent(event, exact, now, '/event');
  return idempotencyKey === undefined ? { event: sound } : { event: sound, idempotencyKey: idempotencyKey as string };
}

/** An event always has `resource`, and never `event`. */
function isWrapped(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && 'event' in value && !('resource' in value);
}

function soundEvent(value: unknown, exact: boolean, now: number, at: string): SentAuditEvent {
  const faults = eventFaults(value, exact, now);
  if (faults.length > 0)
    throw validationFailed(faults.map(({ pointer, reason }) => ({ pointer: at + pointer, reason })));
  return value as SentAuditEvent;
}
