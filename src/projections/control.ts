import { parseLink } from '../contract/links.js';
import { type Caller, type ControlFold, type ControlRecord, emptyFold, foldRecord, readFold } from '../control/fold.js';
import type { FoldSnapshots } from '../control/fold-image.js';
import { controlRecordOf } from '../control/record.js';
import { withReceivedTime } from '../event-log/audit-record.js';
import type { LogRecord } from '../event-log/event-log.js';
import { type AuditEvent, auditFields, SERVICE_CONTEXT } from '../model/audit-event.js';
import { type ControlEvent, kindOfStream, type Read, type States } from '../model/control-events.js';
import { isSameJson } from '../model/json.js';
import { keyOfUse } from '../model/key.js';
import { publisherOf } from '../model/publisher.js';
import { serviceAccountStream } from '../model/streams.js';
import { publicPart, type ViewKind, viewOf, viewRef } from '../model/views.js';
import type { Position, Write } from '../read-model/document.js';
import { KIND_NAMES } from '../read-model/kinds.js';
import type { Project, Projection } from './projection.js';

/**
 * The views of the control resources, and the audit events of their changes. Both are derived from the recorded events, so
 * none is ever missing or duplicated. Folds all records, because a void one writes nothing.
 */
export const controlProjection: Projection = {
  topic: 'control',
  kinds: KIND_NAMES,
  fromStart: true,
  unreadable: 'stop',
  start: () => projectOn(emptyFold()),
};

/** As `controlProjection`, but continues from a snapshot of the fold if there is one. */
export function controlProjectionFrom(snapshots: FoldSnapshots): Projection {
  return {
    ...controlProjection,
    async resume(next) {
      const fold = emptyFold();
      const from = await snapshots.load(fold, next);
      return { project: projectOn(fold), from };
    },
  };
}

function projectOn(fold: ControlFold): Project {
  const read = readFold(fold);
  return (record, wanted = true) => {
    const control = controlRecordOf(record);
    const before = control.events.map((event) => (event.type === 'key-used' ? undefined : read(event.stream)));
    if (foldRecord(fold, control, record) === 'void' || !wanted) return [];
    return writesOf(record, control, before, read);
  };
}

/** Events that become audit events. */
type Audited = Exclude<ControlEvent, { type: 'authz-changed' | 'key-used' }>;
type State = States[keyof States];

function writesOf(
  record: LogRecord,
  control: ControlRecord,
  before: readonly (State | undefined)[],
  read: Read,
): Write[] {
  const { topic, partition, offset, time } = record;
  const writes: Write[] = [];
  const place = (): Position => ({ topic, partition, offset, time, ordinal: writes.length });
  for (const [index, event] of control.events.entries()) {
    if (event.type === 'authz-changed' || event.type === 'key-used') continue;
    const view = viewWrite(event, read, place());
    if (view) writes.push(view);
    writes.push(auditWrite(event, before[index], control, time, place()));
  }
  for (const key of usedKeys(control, read)) {
    const view = holderWrite(key, read, place());
    if (view) writes.push(view);
  }
  return writes;
}

/** One key of each principal whose keys were used: the view of the principal shows all of them. */
function usedKeys({ events }: ControlRecord, read: Read): Iterable<States['key']> {
  const keys = events.flatMap((event) => (event.type === 'key-used' ? (read(keyOfUse(event)) ?? []) : []));
  return new Map(keys.map((key) => [key.principal, key])).values();
}

/** The view of a key is that of its service account. Users show no keys. */
function viewWrite(event: Audited, read: Read, place: Position): Write | undefined {
  const kind = kindOfStream(event.stream);
  if (kind === 'authz') return undefined;
  if (kind === 'key') return holderWrite(event.data as States['key'], read, place);
  return resourceWrite(kind, event.data as States[ViewKind], isDeletion(event), read, place);
}

function holderWrite({ principal }: States['key'], read: Read, place: Position): Write | undefined {
  const { org, ref, kind } = parseLink(principal) ?? {};
  if (org === undefined || ref === undefined || kind !== 'serviceaccount') return undefined;
  const account = read(serviceAccountStream(org, ref));
  return account && resourceWrite('serviceaccount', account, false, read, place);
}

function resourceWrite(kind: ViewKind, state: States[ViewKind], deleted: boolean, read: Read, place: Position): Write {
  const id = viewRef(kind, state);
  const org = 'org' in state ? state.org : id;
  if (deleted) return { op: 'delete', kind, org, id, place };
  const source = JSON.stringify(viewOf(kind, state as never, read));
  return { op: 'put', kind, org, id, place, fields: { name: id, identifier: state.id }, source };
}

function isDeletion({ type }: Audited): boolean {
  return type.endsWith('-deleted') || type === 'key-revoked';
}

function auditWrite(
  event: Audited,
  before: State | undefined,
  { at, by }: ControlRecord,
  time: number,
  place: Position,
): Write {
  const kind = kindOfStream(event.stream) as ViewKind | 'key';
  const { id } = event.data;
  const org = 'org' in event.data ? event.data.org : event.data.name;
  const after = isDeletion(event) ? undefined : publicPart(event.data);
  const audit: AuditEvent = {
    id: event.auditId,
    resource: { id, name: nameOf(event), type: kind, ...(after && { data: after }) },
    eventTime: at,
    postedTime: at,
    requestId: by.requestId,
    context: { org, name: SERVICE_CONTEXT, remoteIp: by.remoteIp, eventSource: 'control', ...publishedBy(by) },
    subject: subjectOf(by),
    action: { type: actionOf(event), data: differenceOf(before && publicPart(before), after) },
    result: { status: 'OK' },
  };
  const source = withReceivedTime(Buffer.from(JSON.stringify(audit)), time);
  return { op: 'create', kind: 'auditevent', org, id: audit.id, place, fields: auditFields(audit), source };
}

/** The name of a key is the link of its principal. */
function nameOf({ data }: Audited): string {
  if ('principal' in data) return data.principal;
  return 'email' in data ? data.email : data.name;
}

function actionOf(event: Audited): string {
  if ('action' in event && event.action !== undefined) return event.action;
  switch (event.type) {
    case 'key-issued':
      return 'add-key';
    case 'key-revoked':
      return 'remove-key';
    case 'auditctx-retention-set':
      return 'edit';
    default:
      return VERBS[event.type.slice(event.type.lastIndexOf('-') + 1)] ?? 'edit';
  }
}

const VERBS: Readonly<Record<string, string>> = { created: 'create', edited: 'edit', deleted: 'delete' };

function subjectOf(by: Caller): NonNullable<AuditEvent['subject']> {
  const { name, email, link } = by;
  return { name, ...(email !== undefined && { email }), ...(link !== undefined && { data: { link } }) };
}

/** Empty for a record from before keys were recorded: the text of a derived event never changes. */
function publishedBy({ link, keyId, remoteIp }: Caller): Pick<AuditEvent['context'], 'publisher'> {
  if (keyId === undefined) return {};
  return { publisher: publisherOf({ ...(link !== undefined && { link }), keyId }, remoteIp) };
}

interface Difference extends Readonly<Record<string, unknown>> {
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** The members that a change altered, before and after it; the whole resource if it was created or deleted. */
function differenceOf(
  before: Readonly<Record<string, unknown>> | undefined,
  after: Readonly<Record<string, unknown>> | undefined,
): Difference {
  if (!before || !after) return { before: before ?? null, after: after ?? null };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isSameJson(before[name], after[name]),
  );
  const pick = (from: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
  return { before: pick(before), after: pick(after) };
}
