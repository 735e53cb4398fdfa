import type { Principal } from '../model/access.js';
import { type AuditEvent, DENIED, recordedEvent, SERVICE_CONTEXT } from '../model/audit-event.js';
import type { Gravity } from '../model/gravity.js';
import { publisherOf, SERVICE_PUBLISHER } from '../model/publisher.js';
import { isoTime } from '../platform/clock.js';
import { cutTo } from '../platform/cut-text.js';
import { timeOf } from '../platform/ids.js';
import type { DeniedSummary } from './denied-tally.js';

/** In bytes of JSON. With these no event has more than 2,048 bytes. */
const MOST_BYTES = { path: 200, name: 64 };

const RESULT = { status: DENIED, message: 'the caller may not do this' };

export interface DeniedAttempt {
  readonly principal: Principal;
  /** What the permission is on, and which it is; `org` and the access that the route asks for if there is none. */
  readonly kind: string;
  readonly permission: string;
  /** Link of the resource that was named, if it exists. */
  readonly target?: string;
  readonly gravity: Gravity;
  readonly method: string;
  /** Of the request, as it came. */
  readonly path: string;
  readonly requestId: string;
  readonly remoteIp: string;
}

/** `resource` is the kind and the path, `action` the permission. Texts that are too long are cut, and the event says so. */
export function deniedEvent(attempt: DeniedAttempt, id: string): AuditEvent {
  const { principal, kind, permission, method, requestId, remoteIp } = attempt;
  const { org, email, link } = principal;
  const path = cutTo(MOST_BYTES.path, attempt.path);
  const name = cutTo(MOST_BYTES.name, principal.name);
  const cut = [
    ...(path === attempt.path ? [] : ['resource.name']),
    ...(name === principal.name ? [] : ['subject.name']),
  ];
  const subject = { name, ...(email !== undefined && { email }), data: { link } };
  return recordedEvent(
    {
      resource: { type: kind, name: path },
      action: { type: permission, data: { method, ...(cut.length > 0 && { cut }) } },
      result: RESULT,
      context: { eventSource: 'control' },
    },
    {
      id,
      postedTime: isoTime(timeOf(id)),
      org,
      contextName: SERVICE_CONTEXT,
      remoteIp,
      requestId,
      publisher: publisherOf(principal, remoteIp),
      subject,
    },
  );
}

/** Says how many attempts were denied that no event tells of one by one. */
export function deniedSummaryEvent(org: string, summary: DeniedSummary, id: string): AuditEvent {
  const postedTime = isoTime(timeOf(id));
  return {
    id,
    resource: { type: 'org', name: org },
    eventTime: postedTime,
    postedTime,
    requestId: id,
    context: { org, name: SERVICE_CONTEXT, eventSource: 'control', publisher: SERVICE_PUBLISHER },
    subject: { name: SERVICE_PUBLISHER.keyId },
    action: { type: 'denied-attempts', data: { ...summary } },
    result: { ...RESULT, message: `${summary.unrecorded} more attempts were denied than are recorded one by one` },
  };
}
