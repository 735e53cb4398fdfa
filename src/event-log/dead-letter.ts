import { type LogEntry, type LogRecord, type Topic, UnreadableRecord } from './event-log.js';

/** A record that can never be indexed, and the reason. */
export interface Unreadable {
  readonly record: LogRecord;
  readonly reason: string;
}

/** The meaning of a record of `audit.dead`. */
export type DeadRecord =
  | { readonly says: 'dead'; readonly place: string; readonly letter: DeadLetter }
  | { readonly says: 'replayed'; readonly place: string };

/** A letter without its bytes. */
export interface DeadLetter {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  /** When the log took the original record, in milliseconds. */
  readonly time: number;
  readonly reason: string;
  readonly key: string;
  readonly headers: LogEntry['headers'];
  /** The size of its value. */
  readonly bytes: number;
}

const VERSION = '1';

/** The dead letter of a record: its own bytes, with its position and the reason in headers. */
export function deadLetter({ record, reason }: Unreadable): LogEntry {
  const { topic, partition, offset, time, key, headers, value } = record;
  const place = { topic, partition: String(partition), offset: String(offset), time: String(time) };
  return {
    topic: 'audit.dead',
    // A repeated read produces the letter again; the same key identifies it.
    key: placeName(record),
    value,
    headers: { v: VERSION, reason, ...place, key, headers: JSON.stringify(headers) },
  };
}

/** Records that the record of a letter was appended to its topic again. Same key: it follows the letter. */
export function replayNote(place: string): LogEntry {
  return { topic: 'audit.dead', key: place, headers: { v: VERSION, replayed: place }, value: new Uint8Array() };
}

export function placeName({ topic, partition, offset }: Pick<LogRecord, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}/${partition}/${offset}`;
}

/** Throws `UnreadableRecord` for a record of a newer version. */
export function deadRecordOf({ key: place, headers, value, offset }: LogRecord): DeadRecord {
  const { v, replayed, reason = '', topic, partition, offset: at, time, key = '', headers: own = '{}' } = headers;
  if (v !== VERSION) throw new UnreadableRecord(`dead letter ${offset} has schema version ${v}: start a newer version`);
  if (replayed !== undefined) return { says: 'replayed', place: replayed };
  const from = { topic: topic as Topic, partition: Number(partition), offset: Number(at), time: Number(time) };
  return {
    says: 'dead',
    place,
    letter: { ...from, reason, key, headers: JSON.parse(own), bytes: value.byteLength },
  };
}
