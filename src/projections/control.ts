import { parseLink } from '../contract/links.js';
import {
  type AppliedRecord,
  type Audited,
  derivedEvent,
  folder,
  isDeletion,
  type State,
} from '../control/derived-events.js';
import { type ControlFold, type ControlRecord, emptyFold } from '../control/fold.js';
import type { FoldSnapshots } from '../control/fold-image.js';
import type { SkippedRecords } from '../control/skipped.js';
import { type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import { auditFields } from '../model/audit-event.js';
import { kindOfStream, type Read, type States } from '../model/control-events.js';
import { keyOfUse } from '../model/key.js';
import { serviceAccountStream } from '../model/streams.js';
import { type ViewKind, viewOf, viewRef } from '../model/views.js';
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

/** As `controlProjection`, without the records that an operator has skipped. */
export function controlProjectionWithout(skipped: SkippedRecords | undefined): Projection {
  return { ...controlProjection, start: () => projectOn(emptyFold(), skipped) };
}

/** As `controlProjectionWithout`, but waits at an unreadable record, and continues from a snapshot of the fold if there is one. */
export function controlProjectionFrom(snapshots: FoldSnapshots, skipped?: SkippedRecords): Projection {
  return {
    ...controlProjectionWithout(skipped),
    ...(skipped && { skipped: (record, error, signal) => skipped.wait(record, error, signal) }),
    async resume(next) {
      const fold = emptyFold();
      const from = await snapshots.load(fold, next);
      return { project: projectOn(fold, skipped), from };
    },
  };
}

function projectOn(fold: ControlFold, skipped?: SkippedRecords): Project {
  const { read, take } = folder(fold, skipped);
  return (record, wanted = true) => {
    const applied = take(record);
    if (!applied || !wanted) return [];
    try {
      return writesOf(record, applied, read);
    } catch (cause) {
      throw new UnreadableRecord('cannot be shown', { cause });
    }
  };
}

function writesOf(record: LogRecord, { control, before }: AppliedRecord, read: Read): Write[] {
  const { topic, partition, offset, time } = record;
  const writes: Write[] = [];
  const place = (): Position => ({ topic, partition, offset, time, ordinal: writes.length });
  for (const [index, event] of control.events.entries()) {
    if (!('auditId' in event)) continue;
    const view = viewWrite(event, read, place());
    if (view) writes.push(view);
    writes.push(auditWrite(event, before[index], control, place()));
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
  if (kind === 'authz' || kind === 'placement') return undefined;
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

function auditWrite(change: Audited, before: State | undefined, control: ControlRecord, place: Position): Write {
  const { org, audit, source } = derivedEvent(change, before, control, place.time);
  return { op: 'create', kind: 'auditevent', org, id: audit.id, place, fields: auditFields(audit), source };
}
