import { type LogEntry, type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import type { ControlEvent } from '../model/control-events.js';
import { builtins } from '../model/org.js';
import { keyedId } from '../platform/ids.js';
import type { ControlRecord } from './fold.js';

/** The schema of the control records that this program writes. Version 3 adds the uses of keys to version 2. */
const VERSION = '3';
const READ = ['1', '2', VERSION];

/** A record of `control` is the JSON of one command's effect. The topic has one partition: one order for all. */
export function controlEntry(record: ControlRecord): LogEntry {
  return {
    topic: 'control',
    key: record.commandId,
    headers: { v: VERSION },
    value: Buffer.from(JSON.stringify(record)),
  };
}

/** Throws `UnreadableRecord`; then the reader must stop, because every later record may depend on this one. */
export function controlRecordOf(record: LogRecord): ControlRecord {
  const { v } = record.headers;
  if (v === undefined || !READ.includes(v)) {
    throw new UnreadableRecord(`control record ${record.offset} has schema version ${v}: start a newer version`);
  }
  const parsed = parse(record);
  return v === '1' ? upcast(parsed) : parsed;
}

function parse(record: LogRecord): ControlRecord {
  try {
    const { buffer, byteOffset, byteLength } = record.value;
    return JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString());
  } catch (error) {
    throw new UnreadableRecord(`control record ${record.offset} is not JSON`, { cause: error });
  }
}

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
