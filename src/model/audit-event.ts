import { isFinerThanMs, readInstant } from './instant.js';
import type { Publisher } from './publisher.js';

/** A JSON object whose members the service neither reads nor indexes. */
type Json = Readonly<Record<string, unknown>>;

/** An audit event as a client sends it: `resource` is required, all else is optional (operation 2 of the specification). */
export interface SentAuditEvent {
  readonly resource: { readonly id?: string; readonly name?: string; readonly type?: string; readonly data?: Json };
  readonly id?: string;
  readonly eventTime?: string;
  readonly eventTimeSent?: string;
  readonly postedTime?: string;
  readonly receivedTime?: string;
  readonly requestId?: string;
  readonly context?: AuditContext;
  readonly subject?: { readonly email?: string; readonly name?: string; readonly claims?: Json; readonly data?: Json };
  readonly action?: { readonly type?: string; readonly data?: Json };
  readonly result?: { readonly status?: string; readonly message?: string };
}

interface AuditContext {
  readonly org?: string;
  readonly name?: string;
  readonly remoteIp?: string;
  readonly eventSource?: string;
  readonly location?: string;
  readonly gvcAlias?: string;
  readonly podId?: string;
  /** Events that were recorded before the service set it have none. */
  readonly publisher?: Partial<Publisher>;
  readonly data?: Json;
}

/** An event as the log has it. `receivedTime` is the log's own time and joins it on the way to the read model. */
export interface AuditEvent extends SentAuditEvent {
  readonly id: string;
  readonly eventTime: string;
  readonly postedTime: string;
  readonly requestId: string;
  readonly context: AuditContext & { readonly org: string; readonly name: string };
}

/** What of an event is looked at to find it. */
export interface SearchedEvent {
  readonly id: string;
  readonly eventTime: string;
  readonly requestId?: string | undefined;
  readonly resource: {
    readonly id?: string | undefined;
    readonly name?: string | undefined;
    readonly type?: string | undefined;
  };
  readonly context: {
    readonly org: string;
    readonly name: string;
    readonly location?: string | undefined;
    readonly gvcAlias?: string | undefined;
    readonly podId?: string | undefined;
    readonly publisher?: { readonly link?: string | undefined };
  };
  readonly subject?: { readonly email?: string | undefined };
  readonly action?: { readonly type?: string | undefined };
  readonly result?: { readonly status?: string | undefined };
}

/** What the service knows about the request that carried the event. Times in ISO 8601. */
export interface Publication {
  readonly id: string;
  readonly postedTime: string;
  readonly org: string;
  readonly contextName: string;
  readonly remoteIp: string;
  readonly requestId: string;
  readonly publisher: Publisher;
  readonly subject: { readonly name: string; readonly email?: string; readonly data?: Json };
}

/** The status of what somebody was not allowed to do. */
export const DENIED = 'DENIED';

export const CONTEXT_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';

/**
 * The event as it is recorded: what the service assigns is its own, what has a default and is absent gets it, all else
 * is as it was sent. `eventTime` must be valid. It is recorded in UTC, to the millisecond; a finer one stays beside it as
 * `eventTimeSent`.
 */
export function recordedEvent(sent: SentAuditEvent, publication: Publication): AuditEvent {
  const { id, postedTime, org, contextName, remoteIp, requestId, publisher, subject } = publication;
  const { id: _sentId, receivedTime: _sentTime, eventTimeSent, ...rest } = sent;
  const eventTime = sent.eventTime === undefined ? postedTime : inUtc(sent.eventTime);
  // An event that was read and is published again keeps it.
  const finer = [sent.eventTime, eventTimeSent].find((time) => time !== undefined && isFiner(time, eventTime));
  return {
    id,
    ...rest,
    eventTime,
    ...(finer !== undefined && { eventTimeSent: finer }),
    postedTime,
    requestId: sent.requestId ?? requestId,
    context: { remoteIp, ...sent.context, org, name: contextName, publisher },
    subject: sent.subject ?? subject,
  };
}

/** Whether a valid time already has the form in which times leave the service. */
function isWritten(time: string): boolean {
  return time.length === 24 && time[10] === 'T' && time[19] === '.' && time[23] === 'Z';
}

/** Whether it is the same millisecond, and says more. */
function isFiner(time: string, eventTime: string): boolean {
  return isFinerThanMs(time) && readInstant(time) === Date.parse(eventTime);
}

function inUtc(time: string): string {
  if (isWritten(time)) return time;
  const ms = readInstant(time);
  if (ms === undefined) throw new Error('the time of an event is checked before the event is recorded');
  return new Date(ms).toISOString();
}

/** The values that lists filter by, named as in `read-model/kinds.ts`. */
export function auditFields(event: SearchedEvent): Record<string, string | number | undefined> {
  const { resource, context, action, subject, result } = event;
  return {
    eventTime: Date.parse(event.eventTime),
    contextName: context.name,
    resourceId: resource.id,
    resourceName: resource.name,
    resourceType: resource.type,
    location: context.location,
    gvcAlias: context.gvcAlias,
    podId: context.podId,
    publisher: context.publisher?.link,
    actionType: action?.type,
    subjectEmail: subject?.email,
    requestId: event.requestId,
    resultStatus: result?.status,
  };
}
