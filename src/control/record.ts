import { KINDS } from '../contract/kinds.js';
import { type LogEntry, type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import { type ControlEvent, kindOfStream, linksNamedIn, type StreamName } from '../model/control-events.js';
import { builtins } from '../model/org.js';
import { keyedId } from '../platform/ids.js';
import type { ControlRecord } from './fold.js';
import type { SkippedRecords } from './skipped.js';

/** The schema of control records. Version 3 adds the uses of keys to version 2, version 4 the placement of identifiers. */
const VERSION = '3';
const WITH_PLACEMENT = '4';
const READ = ['1', '2', VERSION, WITH_PLACEMENT];

/** A record of `control` is the JSON of one command's effect. The topic has one partition: one order for all. */
export function controlEntry(record: ControlRecord): LogEntry {
  return {
    topic: 'control',
    key: record.commandId,
    headers: { v: record.events.some(({ type }) => type === 'identifiers-placed') ? WITH_PLACEMENT : VERSION },
    value: Buffer.from(JSON.stringify(record)),
  };
}

/**
 * Throws `UnreadableRecord`; then the reader must stop, because every later record may depend on this one. Unless it is
 * skipped: then it has no effect.
 */
export function controlRecordOf(record: LogRecord, skipped?: Pick<SkippedRecords, 'has'>): ControlRecord {
  try {
    return read(record);
  } catch (error) {
    if (skipped?.has(record.offset)) return NOTHING;
    throw error;
  }
}

const NOTHING: ControlRecord = {
  ...{ commandId: '', at: '', expected: {}, events: [] },
  by: { name: '', requestId: '', remoteIp: '' },
};

function read({ undecodable, headers, value }: LogRecord): ControlRecord {
  const { v } = headers;
  if (undecodable !== undefined) throw new UnreadableRecord(undecodable);
  if (v === undefined) throw new UnreadableRecord('has no schema version');
  if (!READ.includes(v)) throw new UnreadableRecord(`has schema version ${v.slice(0, 20)}: start a newer version`);
  try {
    const { buffer, byteOffset, byteLength } = value;
    const parsed: ControlRecord = JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString());
    checkShape(parsed);
    return v === '1' ? upcast(parsed) : parsed;
  } catch (error) {
    throw new UnreadableRecord('is not a control record', { cause: error });
  }
}

/** Throws for what the fold or a projection would fail at. */
function checkShape({ commandId, at, by, expected, events }: ControlRecord): void {
  const texts = [
    commandId,
    at,
    by.name,
    by.requestId,
    by.remoteIp,
    ...events.flatMap(({ type, stream }) => [type, stream]),
  ];
  const data = events.flatMap((event) => ('auditId' in event ? [event.data] : []));
  const isWhole =
    texts.every((text) => typeof text === 'string') &&
    typeof expected === 'object' &&
    events.every((event) => 'auditId' in event || WITHOUT_AUDIT.includes(event.type)) &&
    events.every(({ stream }) => isStream(stream)) &&
    data.every(({ id }) => typeof id === 'string');
  if (!isWhole) throw new TypeError('a member is missing');
  for (const state of data) linksNamedIn(state as Parameters<typeof linksNamedIn>[0]);
}

/** Besides those of the kinds. */
const STREAMS: readonly string[] = ['org', 'key', 'keyuse', 'authz', 'placement'];

function isStream(stream: StreamName): boolean {
  const kind = kindOfStream(stream);
  return STREAMS.includes(kind) || KINDS.some(({ name }) => name === kind);
}

const WITHOUT_AUDIT: readonly string[] = ['authz-changed', 'key-used', 'identifiers-placed'];

/**
 * Version 1 listed the superusers of an organization in the organization itself. Since version 2 they are a group, created
 * with the organization. Identifiers are derived from the record, so every read returns the same.
 */
function upcast(record: ControlRecord): ControlRecord {
  return { ...record, events: record.events.flatMap((event) => upcastEvent(event, record)) };
}

function upcastEvent(event: ControlEvent, { commandId, at }: ControlRecord): ControlEvent[] {
  if (event.type !== 'org-created') return [event];
  const { superusers, ...data } = event.data as typeof event.data & { superusers: readonly string[] };
  let made = 0;
  const nextId = () => {
    made += 1;
    return keyedId('upcast', commandId, data.name, String(made));
  };
  return [{ ...event, data }, ...builtins(data.name, superusers, at, nextId)];
}
