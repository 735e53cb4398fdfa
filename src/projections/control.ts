import { controlRecordOf } from '../event-log/control-record.js';
import type { LogRecord } from '../event-log/event-log.js';
import { type AuditEvent, auditFields, SERVICE_CONTEXT } from '../model/audit-event.js';
import type { ControlEvent, States } from '../model/control-events.js';
import { type Caller, type ControlRecord, emptyFold, foldRecord, readFold } from '../model/control-fold.js';
import { serviceAccountLink } from '../model/service-account.js';
import type { KindName } from '../read-model/kinds.js';
import type { Place, Write } from '../read-model/read-model.js';
import { withReceivedTime } from './audit.js';
import { differenceOf } from './difference.js';
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
    const read = readFold(fold);
    return (record) => {
      const control = controlRecordOf(record);
      const before = control.events.map(({ stream }) => read(stream));
      if (foldRecord(fold, control, record.offset) === 'void') return [];
      return writesOf(record, control, before);
    };
  },
};

type State = States[keyof States] | undefined;

function writesOf(record: LogRecord, control: ControlRecord, before: readonly State[]): Write[] {
  const { topic, partition, offset, time } = record;
  const writes: Write[] = [];
  const place = (): Place => ({ topic, partition, offset, time, ordinal: writes.length });
  for (const [index, event] of control.events.entries()) {
    if (event.type === 'authz-changed') continue;
    const change = changeOf(event);
    if (change.view) writes.push(viewOf(change, change.view, place()));
    writes.push(auditOf(event.auditId, change, publicPart(before[index]), control, time, place()));
  }
  return writes;
}

interface Change {
  readonly org: string;
  readonly action: string;
  readonly resource: { readonly id: string; readonly name: string; readonly type: string };
  /** The resource after the change, as callers may see it. */
  readonly data: Record<string, unknown>;
  /** Where the resource is read, when it has a view of its own. */
  readonly view?: { readonly kind: KindName; readonly href?: string };
}

/** What the change is called, and the resource after it. */
function changeOf(event: Exclude<ControlEvent, { type: 'authz-changed' }>): Change {
  const data = publicPart(event.data) ?? {};
  const { id } = event.data;
  switch (event.type) {
    case 'org-created': {
      const { name } = event.data;
      const resource = { id, name, type: 'org' };
      return { org: name, action: 'create', resource, data, view: { kind: 'org', href: `/org/${name}` } };
    }
    case 'serviceaccount-created': {
      const { org, name } = event.data;
      const resource = { id, name, type: 'serviceaccount' };
      const view = { kind: 'serviceaccount', href: serviceAccountLink(org, name) } as const;
      return { org, action: 'create', resource, data, view };
    }
    case 'auditctx-retention-set': {
      const { org, name } = event.data;
      return { org, action: 'edit', resource: { id, name, type: 'auditctx' }, data, view: { kind: 'auditctx' } };
    }
    case 'key-issued': {
      const { org, principal } = event.data;
      return { org, action: 'add-key', resource: { id, name: principal, type: 'key' }, data };
    }
  }
}

/** Without what only the service itself needs; the organization stands beside it. */
function publicPart(state: State): Record<string, unknown> | undefined {
  if (!state) return undefined;
  const { superusers: _superusers, hiddenBefore: _hidden, org: _org, ...rest }: Record<string, unknown> = { ...state };
  return rest;
}

function viewOf(change: Change, view: NonNullable<Change['view']>, place: Place): Write {
  const { org, data, resource } = change;
  const links = view.href === undefined ? {} : { links: [{ rel: 'self', href: view.href }] };
  const source = JSON.stringify({ kind: view.kind, ...data, ...links });
  return { op: 'put', kind: view.kind, org, id: resource.name, place, fields: { name: resource.name }, source };
}

function auditOf(
  id: string,
  change: Change,
  before: Record<string, unknown> | undefined,
  { at, by }: ControlRecord,
  time: number,
  place: Place,
): Write {
  const { org, action, resource, data } = change;
  const audit: AuditEvent = {
    id,
    resource: { ...resource, data },
    eventTime: at,
    postedTime: at,
    requestId: by.requestId,
    context: { org, name: SERVICE_CONTEXT, remoteIp: by.remoteIp, eventSource: 'control' },
    subject: subjectOf(by),
    action: { type: action, data: differenceOf(before, data) },
    result: { status: 'OK' },
  };
  const source = withReceivedTime(JSON.stringify(audit), time);
  return { op: 'create', kind: 'auditevent', org, id, place, fields: auditFields(audit), source };
}

function subjectOf(by: Caller): NonNullable<AuditEvent['subject']> {
  return { name: by.name, ...(by.link !== undefined && { data: { link: by.link } }) };
}
