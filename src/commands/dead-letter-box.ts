import { type DeadLetter, type DeadRecord, deadRecordOf, placeName } from '../event-log/dead-letter.js';
import { type EventLog, type LogRecord, type Position, UnreadableRecord } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import type { RootAction, SecurityAction, SecurityEvents } from './security-events.js';

/** It does not take long enough to be given up. */
const never = new AbortController().signal;

/** A record that can never be indexed, as `audit.dead` describes it. */
export interface Letter extends DeadLetter {
  /** `topic/partition/offset` of the record. */
  readonly place: string;
  /** Where in the topic of the dead letters it lies. */
  readonly at: Position;
  /** Whether the record was appended to its topic once more. */
  readonly replayed: boolean;
}

/**
 * All letters, in the order in which they came, without their bytes; copies of one are one. Reads the whole topic: dead
 * letters are few, or something is very wrong.
 */
export async function readLetters(log: EventLog): Promise<Letter[]> {
  const letters = new Map<string, Letter>();
  const replayed = new Set<string>();
  for await (const record of recordsOf(log)) {
    const found = readDead(record);
    if (found.says === 'replayed') replayed.add(found.place);
    else if (!letters.has(found.place)) letters.set(found.place, letterOf(found, record));
  }
  return [...letters.values()].sort(byPosition).map((letter) => ({ ...letter, replayed: replayed.has(letter.place) }));
}

/** What somebody else appended to the topic is a letter of its own place. */
function readDead(record: LogRecord): DeadRecord {
  try {
    return deadRecordOf(record);
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    const { topic, partition, offset, time, key, headers, value } = record;
    const own = { topic, partition, offset, time, key, headers, bytes: value.byteLength, isOmitted: false };
    return { says: 'dead', place: placeName(record), letter: { ...own, reason: error.message } };
  }
}

function letterOf(found: { readonly place: string; readonly letter: DeadLetter }, record: LogRecord): Letter {
  const at = { partition: record.partition, offset: record.offset };
  return { ...found.letter, place: found.place, at, replayed: false };
}

export function byPosition({ at: one }: Pick<Letter, 'at'>, { at: other }: Pick<Letter, 'at'>): number {
  return one.partition - other.partition || one.offset - other.offset;
}

async function* recordsOf(log: EventLog): AsyncGenerator<LogRecord> {
  const end = await log.head('audit.dead');
  for await (const { records } of readRange(log, 'audit.dead', {}, end, never)) yield* records;
}

/** The bytes of the records that these letters are about, in one pass over where they lie: as many as fit into memory. */
export async function bytesOf(log: EventLog, letters: readonly Letter[]): Promise<ReadonlyMap<Letter, Uint8Array>> {
  const wanted = new Map(letters.map((letter) => [positionName(letter.at), letter]));
  const from: Record<number, number> = {};
  const to: Record<number, number> = {};
  for (const { at } of letters) {
    from[at.partition] = Math.min(from[at.partition] ?? at.offset, at.offset);
    to[at.partition] = Math.max(to[at.partition] ?? 0, at.offset + 1);
  }
  const found = new Map<Letter, Uint8Array>();
  for await (const { records } of readRange(log, 'audit.dead', from, to, never)) {
    for (const record of records) {
      const letter = wanted.get(positionName(record));
      if (letter) found.set(letter, record.value);
    }
  }
  return found;
}

function positionName({ partition, offset }: Position): string {
  return `${partition}/${offset}`;
}

/** So many places of letters are named. */
const MOST_PLACES = 20;

/**
 * What the root key does with these letters, for the record: all places for the journal, its own for each organization.
 * A record that cannot be read does not tell reliably whose it is; what its bytes or its key name counts if such an
 * organization exists.
 */
export function lettersTouched(
  security: SecurityEvents,
  action: SecurityAction,
  letters: readonly Letter[],
  values: ReadonlyMap<Letter, Uint8Array>,
): RootAction {
  const named = Map.groupBy(letters, (letter) => orgOf(letter, values.get(letter)));
  const existing = security.existing([...named.keys()].flatMap((org) => org ?? []));
  const touched = [...named].flatMap(([org, some]) =>
    org !== undefined && existing.has(org) ? [[org, placesOf(some)] as const] : [],
  );
  return { action, data: placesOf(letters), touched: new Map(touched) };
}

function placesOf(letters: readonly Letter[]) {
  return { letters: letters.length, places: letters.slice(0, MOST_PLACES).map(({ place }) => place) };
}

function orgOf({ key }: Letter, value: Uint8Array | undefined): string | undefined {
  try {
    const { context } = JSON.parse(Buffer.from(value ?? []).toString()) as { context?: { org?: unknown } };
    if (typeof context?.org === 'string') return context.org;
  } catch {
    // Damaged, or another schema: the key is left.
  }
  return key.split('/')[0];
}
