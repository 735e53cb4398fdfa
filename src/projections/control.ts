import { controlRecordOf } from '../event-log/control-record.js';
import type { LogRecord } from '../event-log/event-log.js';
import { type AuditEvent, auditFields, SERVICE_CONTEXT } from '../model/audit-event.js';
import type { ControlEvent } from '../model/control-events.js';
import { type Caller, type ControlRecord, emptyFold, foldRecord } from '../model/control-fold.js';
import type { Place, Write } from '../read-model/read-model.js';
import { withReceivedTime } from './audit.js';
import type { Projection } from './projection.js';

/**
 * The views of the control resources, and the audit events of their changes, derived from the recorded events and so
 * never missing and never doubled. Folds all records, because a void one writes nothing.
 */
export const controlProjection: Projection = {
  topic: 'control',
  fromStart: true,
  unreadable: 'stop',
  start() {
    const fold = emptyFold();
    return (record) => {
      const control = controlRecordOf(record);
      return foldRecord(fold, control, record.offset) === 'void' ? [] : writesOf(record, control);
    };
  },
};

function writesOf(record: LogRecord, control: ControlRecord): Write[] {
  const { topic, partition, offset, time } = record;
  const writes: Write[] = [];
  const place = (): Place => ({ topic, partition, offset, time, ordinal: writes.length });
  for (const event of control.events) {
    const view = viewOf(event, place());
    if (view) writes.push(view);
    const audit = auditOf(event, control, time, place());
    if (audit) writes.push(audit);
  }
  return writes;
}

function viewOf(event: ControlEvent, place: Place): Write | undefined {
  switch (event.type) {
    case 'org-created': {
      const { superusers: _internal, ...org } = event.data;
      const source = JSON.stringify({ kind: 'org', ...org, links: selfLink(`/org/${org.name}`) });
      return { op: 'put', kind: 'org', org: org.name, id: org.name, place, fields: { name: org.name }, source };
    }
    case 'serviceaccount-created': {
      const { org, ...account } = event.data;
      const link = `/org/${org}/serviceaccount/${account.name}`;
      const source = JSON.stringify({ kind: 'serviceaccount', ...account, links: selfLink(link) });
      return {
        op: 'put',
        kind: 'serviceaccount',
        org,
        id: account.name,
        place,
        fields: { name: account.name },
        source,
      };
    }
    default:
      return undefined;
  }
}

function selfLink(href: string): readonly { rel: string; href: string }[] {
  return [{ rel: 'self', href }];
}

/** What the change is called, and the resource after it. Nothing for an event that only keeps the books. */
function describe(event: ControlEvent): { org: string; action: string; resource: AuditEvent['resource'] } | undefined {
  switch (event.type) {
    case 'org-created': {
      const { superusers: _internal, ...data } = event.data;
      return { org: data.name, action: 'create', resource: { id: data.id, name: data.name, type: 'org', data } };
    }
    case 'serviceaccount-created': {
      const { org, ...data } = event.data;
      return { org, action: 'create', resource: { id: data.id, name: data.name, type: 'serviceaccount', data } };
    }
    case 'key-issued': {
      const { org, ...data } = event.data;
      return { org, action: 'add-key', resource: { id: data.id, name: data.principal, type: 'key', data } };
    }
    case 'authz-changed':
      return undefined;
  }
}

function auditOf(event: ControlEvent, control: ControlRecord, time: number, place: Place): Write | undefined {
  const change = describe(event);
  if (!change || event.type === 'authz-changed') return undefined;
  const { at, by } = control;
  const audit: AuditEvent = {
    id: event.auditId,
    resource: change.resource,
    eventTime: at,
    postedTime: at,
    requestId: by.requestId,
    context: { org: change.org, name: SERVICE_CONTEXT, remoteIp: by.remoteIp, eventSource: 'control' },
    subject: subjectOf(by),
    action: { type: change.action, data: { before: null, after: change.resource.data ?? null } },
    result: { status: 'OK' },
  };
  return {
    op: 'create',
    kind: 'auditevent',
    org: change.org,
    id: audit.id,
    place,
    fields: auditFields(audit),
    source: withReceivedTime(JSON.stringify(audit), time),
  };
}

function subjectOf(by: Caller): NonNullable<AuditEvent['subject']> {
  return { name: by.name, ...(by.link !== undefined && { data: { link: by.link } }) };
}
