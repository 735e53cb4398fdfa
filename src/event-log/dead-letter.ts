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
  /** The record is too large for a letter, which has its place alone; the log has the record there. */
  readonly isOmitted: boolean;
}

const VERSION = '1';

/** A letter with what is larger could be larger than the log takes. */
const MOST_BYTES = 880 * 1024;

/** A reason may quote the record. */
const MOST_REASON = 1_000;

/** The dead letter of a record: its own bytes, if the log takes them, with its position and the reason in headers. */
export function deadLetter({ record, reason: why }: Unreadable): LogEntry {
  const { topic, partition, offset, time, key, headers, value } = record;
  const place = { topic, partition: String(partition), offset: String(offset), time: String(time) };
  const reason = why.slice(0, MOST_REASON);
  const own = { key, headers: JSON.stringify(headers) };
  const size = value.byteLength + Buffer.byteLength(own.key) + Buffer.byteLength(own.headers);
  const isOmitted = size > MOST_BYTES;
  return {
    topic: 'audit.dead',
    // A repeated read produces the letter again; the same key identifies it.
    key: placeName(record),
    value: isOmitted ? new Uint8Array() : value,
    headers: {
      ...{ v: VERSION, reason, ...place },
      ...(isOmitted ? { key: '', headers: '{}', omitted: String(value.byteLength) } : own),
    },
  };
}

/** Records that the record of a letter was appended to its topic again. Same key: it follows the letter. */
export function replayNote(place: string): LogEntry {
  return { topic: 'audit.dead', key: place, headers: { v: VERSION, replayed: place }, value: new Uint8Array() };
}

export function placeName({ topic, partition, offset }: Pick<LogRecord, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}/${partition}/${offset}`;
}

/** Throws `UnreadableRecord` for a record of a newer version, and for one that somebody else appended. */
export function deadRecordOf(record: LogRecord): DeadRecord {
  const { key: place, headers, undecodable } = record;
  const { v, replayed } = headers;
  if (undecodable !== undefined) throw new UnreadableRecord(undecodable);
  if (v !== VERSION) throw new UnreadableRecord(`has schema version ${v}, not ${VERSION}: start a newer version`);
  if (replayed !== undefined) return { says: 'replayed', place: replayed };
  const letter = letterIn(record);
  if (!letter || placeName(letter) !== place) throw new UnreadableRecord('is not a dead letter');
  return { says: 'dead', place, letter };
}

function letterIn({ headers, value }: LogRecord): DeadLetter | undefined {
  const { reason = '', topic, partition, offset, time, key = '', headers: text = '{}', omitted } = headers;
  const place = { topic: topic as Topic, partition: Number(partition), offset: Number(offset), time: Number(time) };
  const own = headersIn(text);
  if (!own || ![place.partition, place.offset, place.time].every(Number.isSafeInteger)) return undefined;
  const bytes = omitted === undefined ? value.byteLength : Number(omitted);
  return { ...place, reason, key, headers: own, bytes, isOmitted: omitted !== undefined };
}

function headersIn(text: string): LogEntry['headers'] | undefined {
  try {
    const headers: unknown = JSON.parse(text);
    const isRight = typeof headers === 'object' && headers !== null && !Array.isArray(headers);
    return isRight && Object.values(headers).every((value) => typeof value === 'string')
      ? (headers as LogEntry['headers'])
      : undefined;
  } catch {
    return undefined;
  }
}
