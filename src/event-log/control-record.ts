import type { ControlRecord } from '../model/control-fold.js';
import type { LogEntry, LogRecord } from './event-log.js';
import { SCHEMA_VERSION, UnreadableRecord } from './record-schema.js';

/** A record of `control` is the JSON of one command's effect. The topic has one partition: one order for all. */
export function controlEntry(record: ControlRecord): LogEntry {
  return {
    topic: 'control',
    key: record.commandId,
    headers: { v: SCHEMA_VERSION },
    value: Buffer.from(JSON.stringify(record)),
  };
}

/**
 * Throws `UnreadableRecord`; then nothing after the record can be trusted either, because every later decision may rest
 * on it: the reader must stop.
 */
export function controlRecordOf(record: LogRecord): ControlRecord {
  const { v } = record.headers;
  if (v !== SCHEMA_VERSION) {
    throw new UnreadableRecord(`control record ${record.offset} has schema version ${v}: start a newer version`);
  }
  try {
    return JSON.parse(Buffer.from(record.value).toString());
  } catch (error) {
    throw new UnreadableRecord(`control record ${record.offset} is not JSON`, { cause: error });
  }
}
