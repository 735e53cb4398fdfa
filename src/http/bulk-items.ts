import type { PublishItem } from '../commands/audit-publish.js';
import { ControlError, type FieldFault, validationFailed } from '../errors.js';
import type { SentAuditEvent } from '../model/audit-event.js';
import { eventFaults } from './event-check.js';
import { parseJson } from './json.js';
import { idempotencyKeyFault, isDocument } from './request-faults.js';
import { EVENT_BYTES } from './server.js';

const BULK_ITEMS = 1_000;

/** An item that can be recorded, or why it cannot. */
export type BulkItem = PublishItem | ControlError;

interface RawItem {
  readonly value: unknown;
  readonly exact: boolean;
  readonly bytes: number;
}

/**
 * The items of a bulk body, in order: a JSON array (as a parsed document) or NDJSON (as bytes; blank lines are passed
 * over). An item is an event, or `{idempotencyKey?, event}`. Throws for a body that is neither, or has too many.
 */
export function bulkItems(body: unknown, now: number): BulkItem[] {
  if (Buffer.isBuffer(body)) {
    const lines = linesOf(body);
    checkCount(lines.length);
    return lines.map((line) => tried(() => itemOf({ ...parseJson(line), bytes: line.length }, now)));
  }
  if (!isDocument(body)) {
    throw new ControlError(
      'unsupported_media_type',
      'send a JSON array, or NDJSON with Content-Type: application/x-ndjson',
    );
  }
  const { value: items, exact } = body;
  if (!Array.isArray(items)) throw validationFailed([{ pointer: '', reason: 'must be an array of events' }]);
  checkCount(items.length);
  return items.map((value) =>
    tried(() => itemOf({ value, exact, bytes: Buffer.byteLength(JSON.stringify(value)) }, now)),
  );
}

function linesOf(body: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < body.length; ) {
    const newline = body.indexOf(0x0a, start);
    const end = newline < 0 ? body.length : newline;
    const line = body.subarray(start, end);
    if (line.some((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0d)) lines.push(line);
    start = end + 1;
  }
  return lines;
}

function checkCount(count: number): void {
  if (count > BULK_ITEMS)
    throw new ControlError('payload_too_large', `a bulk may have at most ${BULK_ITEMS} events; this has ${count}`);
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

function itemOf({ value, exact, bytes }: RawItem, now: number): PublishItem {
  if (bytes > EVENT_BYTES) {
    throw new ControlError('payload_too_large', `an event may have at most ${EVENT_BYTES} bytes; this has ${bytes}`);
  }
  if (!isWrapped(value)) return { event: soundEvent(value, exact, now, '') };
  const { idempotencyKey, event, ...unknown } = value;
  const faults: FieldFault[] = Object.keys(unknown).map((name) => ({
    pointer: `/${name}`,
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
