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

/** The header of an entry whose publisher waits for the proof that it is in the history. */
const PROOF_WANTED: LogEntry['headers'] = { proof: '1' };

const END_OF_OBJECT = '}'.charCodeAt(0);

export interface AuditEntryOptions {
  /** Of the body that a caller sent with an Idempotency-Key. */
  readonly hash?: string;
  /** Among how many partitions identifiers are placed, if the log says so. */
  readonly among?: number | undefined;
  /** Whether the publisher waits until the event is searchable. */
  readonly waited?: boolean;
  /** Whether the publisher waits until a checkpoint covers the event. */
  readonly proven?: boolean;
  /** What was sent, if the event has only the texts of it. */
  readonly verbatim?: Verbatim | undefined;
}

/**
 * A record of `audit` is the JSON of one event as reads return it, without `receivedTime`. All copies of a keyed event go to
 * one partition. Other events keep their order by resource, and those of a busy organization are spread.
 */
export function auditEntry(
  event: AuditEvent,
  { hash, among, waited = false, proven = false, verbatim }: AuditEntryOptions = {},
): LogEntry {
  const { resource, context } = event;
  return {
    topic: 'audit',
    ...(hash === undefined
      ? { key: `${context.org}/${resource.type ?? ''}/${resource.name ?? resource.id ?? ''}` }
      : { key: event.id, among }),
    headers: {
      v: SCHEMA_VERSION,
      ...(hash !== undefined && { hash }),
      ...(waited && WAITED_FOR),
      ...(proven && PROOF_WANTED),
    },
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

/** As `withReceivedTime`, in two pieces and without a copy of the event. */
export function piecesWithReceivedTime(json: Uint8Array, time: number): readonly [Uint8Array, string] {
  return [json.subarray(0, -1), receivedTime(time)];
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
  requireReadable(record);
  const { hash } = record.headers;
  const event = record.searched ?? readEvent(record.value, searchedIn);
  return { event, ...(hash !== undefined && { hash }) };
}

/** The organization of the event. Throws `UnreadableRecord` exactly if `auditEventOf` does, in half of its time. */
export function orgOf(record: LogRecord): string {
  requireReadable(record);
  const { context } = record.searched ?? readEvent(record.value, contextIn);
  return context.org;
}

function requireReadable({ undecodable, headers: { v } }: LogRecord): void {
  if (undecodable !== undefined) throw new UnreadableRecord(undecodable);
  if (v !== SCHEMA_VERSION) throw new UnreadableRecord(`has schema version ${v}, not ${SCHEMA_VERSION}`);
}

function readEvent<Event>(value: Uint8Array, find: (json: Buffer) => Event | undefined): Event | AuditEvent {
  // Decoding would replace invalid bytes by another character.
  if (!isUtf8(value)) throw new UnreadableRecord('is not UTF-8');
  const json = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return find(json) ?? parsed(json);
}

const SEARCHED = new CompactJson([
  ...['id', 'eventTime', 'requestId', 'context.org', 'context.name'],
  ...['context.location', 'context.gvcAlias', 'context.podId', 'context.publisher.link'],
  ...['resource.id', 'resource.name', 'resource.type', 'subject.email', 'action.type', 'result.status'],
]);

/** Indices of the texts that an event must have; of a resource, one. */
const PLACES = { id: 0, eventTime: 1, org: 3, name: 4, resource: [9, 10, 11] } as const;

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

/** As `searchedIn`, without the other texts. */
function contextIn(json: Buffer): { readonly context: { readonly org: string } } | undefined {
  if (!SEARCHED.accepts(json)) return undefined;
  const org = SEARCHED.text(json, PLACES.org);
  const isWhole =
    SEARCHED.has(PLACES.id) && SEARCHED.has(PLACES.name) && PLACES.resource.some((path) => SEARCHED.has(path));
  return org !== undefined && isWhole && isTime(SEARCHED.text(json, PLACES.eventTime))
    ? { context: { org } }
    : undefined;
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

/** Times as this service writes them, but for the last days of months: found in a sixth of the time of `Date.parse`. */
const INSTANT = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

function isTime(text: string | undefined): text is string {
  return text !== undefined && (INSTANT.test(text) || Number.isFinite(Date.parse(text)));
}
