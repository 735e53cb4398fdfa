import { isUtf8 } from 'node:buffer';
import type { AuditEvent, SearchedEvent } from '../model/audit-event.js';
import { isoTime } from '../platform/clock.js';
import type { Verbatim } from '../platform/verbatim-json.js';
import { CompactJson } from './compact-json.js';
import { type LogEntry, type LogRecord, UnreadableRecord } from './event-log.js';

/** The schema of the records that this program writes and reads. */
const SCHEMA_VERSION = '1';

/** The header of an entry whose publisher waits until it is searchable. */
const WAITED_FOR: LogEntry['headers'] = { sync: '1' };

export function isWaitedFor({ headers }: Pick<LogEntry, 'headers'>): boolean {
  return headers.sync === '1';
}

const END_OF_OBJECT = '}'.charCodeAt(0);

export interface AuditEntryOptions {
  /** Of the body that a caller sent with an Idempotency-Key. */
  readonly hash?: string;
  /** Whether the publisher waits until the event is searchable. */
  readonly waited?: boolean;
  /** What was sent, if the event has only the texts of it. */
  readonly verbatim?: Verbatim | undefined;
}

/**
 * A record of `audit` is the JSON of one event as reads return it, without `receivedTime`. All copies of a keyed event go to
 * one partition. Other events keep their order by resource, and those of a busy organization are spread.
 */
export function auditEntry(event: AuditEvent, { hash, waited = false, verbatim }: AuditEntryOptions = {}): LogEntry {
  const { resource, context } = event;
  return {
    topic: 'audit',
    key: hash === undefined ? `${context.org}/${resource.type ?? ''}/${resource.name ?? resource.id ?? ''}` : event.id,
    headers: { v: SCHEMA_VERSION, ...(hash !== undefined && { hash }), ...(waited && WAITED_FOR) },
    value: verbatim ? verbatim.with(event) : Buffer.from(JSON.stringify(event)),
    searched: event,
  };
}

/** A recorded event with one more member, in UTF-8. Its own bytes stay as they are, digit for digit. */
export function withReceivedTime(json: Uint8Array, time: number): Buffer {
  const member = receivedTime(time);
  const whole = Buffer.allocUnsafe(json.length - 1 + member.length);
  whole.set(json);
  whole.write(member, json.length - 1);
  return whole;
}

/** As `withReceivedTime`, as text. */
export function textWithReceivedTime({ buffer, byteOffset, length }: Uint8Array, time: number): string {
  return Buffer.from(buffer, byteOffset, length - 1).toString() + receivedTime(time);
}

function receivedTime(time: number): string {
  return `,"receivedTime":"${isoTime(time)}"}`;
}

/** Throws `UnreadableRecord`. */
export function auditEventOf(record: LogRecord): { event: SearchedEvent; hash?: string } {
  const { v, hash } = record.headers;
  if (v !== SCHEMA_VERSION) throw new UnreadableRecord(`has schema version ${v}, not ${SCHEMA_VERSION}`);
  const event = record.searched ?? readEvent(record.value);
  return { event, ...(hash !== undefined && { hash }) };
}

function readEvent(value: Uint8Array): SearchedEvent {
  // Decoding would replace invalid bytes by another character.
  if (!isUtf8(value)) throw new UnreadableRecord('is not UTF-8');
  const json = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return searchedIn(json) ?? parsed(json);
}

const SEARCHED = new CompactJson([
  ...['id', 'eventTime', 'requestId', 'context.org', 'context.name'],
  ...['context.location', 'context.gvcAlias', 'context.podId', 'context.publisher.link'],
  ...['resource.id', 'resource.name', 'resource.type', 'subject.email', 'action.type', 'result.status'],
]);

/** Finds the event in nearly all records that this service wrote; other records must be parsed. */
function searchedIn(json: Buffer): SearchedEvent | undefined {
  const [id, eventTime, requestId, org, name, location, gvcAlias, podId, publisher, ...others] =
    SEARCHED.textsIn(json) ?? [];
  const [resourceId, resourceName, resourceType, email, actionType, status] = others;
  if (id === undefined || !isTime(eventTime) || org === undefined || name === undefined) return undefined;
  if (resourceId === undefined && resourceName === undefined && resourceType === undefined) return undefined;
  return {
    id,
    eventTime,
    requestId,
    context: { org, name, location, gvcAlias, podId, publisher: { link: publisher } },
    resource: { id: resourceId, name: resourceName, type: resourceType },
    subject: { email },
    action: { type: actionType },
    result: { status },
  };
}

function parsed(json: Buffer): AuditEvent {
  let event: AuditEvent;
  try {
    event = JSON.parse(json.toString());
  } catch (error) {
    throw new UnreadableRecord('is not JSON', { cause: error });
  }
  const complete =
    typeof event?.id === 'string' &&
    typeof event.context?.org === 'string' &&
    typeof event.context.name === 'string' &&
    isTime(event.eventTime) &&
    typeof event.resource === 'object' &&
    event.resource !== null;
  if (!complete || json.at(-1) !== END_OF_OBJECT) throw new UnreadableRecord('is not an audit event');
  return event;
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && Number.isFinite(Date.parse(text));
}
