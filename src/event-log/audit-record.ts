import type { AuditEvent } from '../model/audit-event.js';
import type { LogEntry, LogRecord } from './event-log.js';
import { SCHEMA_VERSION, UnreadableRecord } from './record-schema.js';
import { WAITED_FOR } from './waited-for.js';

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

/** Throws `UnreadableRecord`. `text` is the event's own, digit for digit; use `event` for its strings only. */
export function auditEventOf(record: LogRecord): { event: AuditEvent; text: string; hash?: string } {
  const { v, hash } = record.headers;
  if (v !== SCHEMA_VERSION) throw new UnreadableRecord(`has schema version ${v}, not ${SCHEMA_VERSION}`);
  const text = Buffer.from(record.value.buffer, record.value.byteOffset, record.value.byteLength).toString();
  const event = parseEvent(text);
  return { event, text, ...(hash !== undefined && { hash }) };
}

function parseEvent(text: string): AuditEvent {
  let event: AuditEvent;
  try {
    event = JSON.parse(text);
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
  if (!complete || !text.endsWith('}')) throw new UnreadableRecord('is not an audit event');
  return event;
}
