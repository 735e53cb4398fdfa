import { type LogEntry, type LogRecord, type Topic, UnreadableRecord } from './event-log.js';

/** A record that can never be indexed, and why. */
export interface Unreadable {
  readonly record: LogRecord;
  readonly reason: string;
}

/** What a record of `audit.dead` says. */
export type DeadRecord =
  | { readonly says: 'dead'; readonly place: string; readonly letter: DeadLetter }
  | { readonly says: 'replayed'; readonly place: string };

/** A letter without its bytes. */
export interface DeadLetter {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  /** When the log took the record that it was, in milliseconds. */
  readonly time: number;
  readonly reason: string;
  readonly key: string;
  readonly headers: LogEntry['headers'];
  /** The size of its value. */
  readonly bytes: number;
}

const VERSION = '1';

/** The record as it stands in `audit.dead`: its own bytes, and in headers where it stood, and the reason. */
export function deadLetter({ record, reason }: Unreadable): LogEntry {
  const { topic, partition, offset, time, key, headers, value } = record;
  const place = { topic, partition: String(partition), offset: String(offset), time: String(time) };
  return {
    topic: 'audit.dead',
    // Whoever reads the log again meets the record again; its place tells that it is the same letter.
    key: placeName(record),
    value,
    headers: { v: VERSION, reason, ...place, key, headers: JSON.stringify(headers) },
  };
}

/** Notes beside a letter that its record was appended to its topic once more. Same key: it comes after the letter. */
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
