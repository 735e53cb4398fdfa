import { isUtf8 } from 'node:buffer';
import type { AuditEvent } from '../model/audit-event.js';
import type { LogEntry, LogRecord } from './event-log.js';
import { SCHEMA_VERSION, UnreadableRecord } from './record-schema.js';
import { WAITED_FOR } from './waited-for.js';

const END_OF_OBJECT = '}'.charCodeAt(0);

export interface AuditEntryOptions {
  /** Of the body that a caller sent with an Idempotency-Key. */
  readonly hash?: string;
  /** Whether the publisher waits until the event is searchable. */
  readonly waited?: boolean;
}

/**
 * A record of `audit` is the JSON of one event, as it will be answered but for `receivedTime`. All copies of a keyed
 * event meet in one partition; other events keep their order by resource, and a busy organization spreads.
 */
export function auditEntry(event: AuditEvent, { hash, waited = false }: AuditEntryOptions = {}): LogEntry {
  const { resource, context } = event;
  return {
    topic: 'audit',
    key: hash === undefined ? `${context.org}/${resource.type ?? ''}/${resource.name ?? resource.id ?? ''}` : event.id,
    headers: { v: SCHEMA_VERSION, ...(hash !== undefined && { hash }), ...(waited && WAITED_FOR) },
    value: Buffer.from(JSON.stringify(event)),
  };
}

/** Throws `UnreadableRecord`. Use `event` for its strings only: the record has its numbers, digit for digit. */
export function auditEventOf({ headers: { v, hash }, value }: LogRecord): { event: AuditEvent; hash?: string } {
  if (v !== SCHEMA_VERSION) throw new UnreadableRecord(`has schema version ${v}, not ${SCHEMA_VERSION}`);
  const event = parseEvent(value);
  return { event, ...(hash !== undefined && { hash }) };
}

function parseEvent(value: Uint8Array): AuditEvent {
  // Decoding would put another character in the place of what is none.
  if (!isUtf8(value)) throw new UnreadableRecord('is not UTF-8');
  let event: AuditEvent;
  try {
    event = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString());
  } catch (error) {
    throw new UnreadableRecord('is not JSON', { cause: error });
  }
  const complete =
    typeof event?.id === 'string' &&
    typeof event.context?.org === 'string' &&
    typeof event.context.name === 'string' &&
    Number.isFinite(Date.parse(event.eventTime)) &&
    typeof event.resource === 'object' &&
    event.resource !== null;
  if (!complete || value.at(-1) !== END_OF_OBJECT) throw new UnreadableRecord('is not an audit event');
  return event;
}
