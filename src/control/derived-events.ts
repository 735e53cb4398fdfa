import { SERVICE_CONTEXT } from '../contract/kinds.js';
import { withReceivedTime } from '../event-log/audit-record.js';
import { type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import { type AuditEvent } from '../model/audit-event.js';
import { type ControlEvent, kindOfStream, type Read, type States } from '../model/control-events.js';
import { isSameJson } from '../model/json.js';
import { publisherOf } from '../model/publisher.js';
import { publicPart, type ViewKind } from '../model/views.js';
import { type Caller, type ControlFold, type ControlRecord, foldRecord, readFold } from './fold.js';
import { controlRecordOf } from './record.js';
import type { SkippedRecords } from './skipped.js';

/** Changes that become audit events. */
export type Audited = Extract<ControlEvent, { auditId: string }>;
export type State = States[keyof States];

/** A record that took effect, with the states that its events found. */
export interface AppliedRecord {
  readonly control: ControlRecord;
  readonly before: readonly (State | undefined)[];
}

/** Folds record after record. Undefined for a void one. Throws `UnreadableRecord`. */
export function folder(
  fold: ControlFold,
  skipped?: SkippedRecords,
): { read: Read; take(record: LogRecord): AppliedRecord | undefined } {
  const read = readFold(fold);
  return {
    read,
    take(record) {
      const control = controlRecordOf(record, skipped);
      const before = control.events.map((event) => (event.type === 'key-used' ? undefined : read(event.stream)));
      return foldRecord(fold, control, record) === 'void' ? undefined : { control, before };
    },
  };
}

export interface DerivedEvent {
  readonly org: string;
  readonly audit: AuditEvent;
  /** JSON of the event with `receivedTime`, as reads and exports return it. */
  readonly source: Buffer;
}

/**
 * The audit event of a change. Its text is a format: it is what the trees commit to (ADR 29), so the same record gives the
 * same bytes in every version.
 */
export function derivedEvent(
  event: Audited,
  before: State | undefined,
  { at, by }: ControlRecord,
  time: number,
): DerivedEvent {
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
  return { org, audit, source: withReceivedTime(Buffer.from(JSON.stringify(audit)), time) };
}

/** The audit events of a record, in order. Throws `UnreadableRecord` if one cannot be shown. */
export function derivedEvents({ control, before }: AppliedRecord, { time }: LogRecord): DerivedEvent[] {
  try {
    return control.events.flatMap((event, index) =>
      'auditId' in event ? [derivedEvent(event, before[index], control, time)] : [],
    );
  } catch (cause) {
    throw new UnreadableRecord('cannot be shown', { cause });
  }
}

export function isDeletion({ type }: Audited): boolean {
  return type.endsWith('-deleted') || type === 'key-revoked';
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
