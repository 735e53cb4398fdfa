import type { Batch, EventLog, LogEntry, LogRecord, Offsets, Position, Topic } from '../../src/event-log/event-log.js';
import { type Case, cases, need, skipped } from './harness.js';

/** A new, empty log. */
export interface EventLogHarness {
  /** The log as it is open now: after `reopen`, the reopened one. */
  readonly log: EventLog;
  /** Of topic `audit`. */
  readonly partitions: number;
  /** Closes the log, unless it is closed, and opens the same again. */
  reopen(): Promise<EventLog>;
  /** From now on the next appends fail: `unavailable` before anything is stored, `unknown` without saying whether it was. */
  failAppends?(how: 'unavailable' | 'unknown'): void;
  /** Ends `failAppends`. */
  repair?(): void;
  /** Alters a stored byte of the record behind the log's back, and opens the log again. */
  corrupt?(topic: Topic, position: Position): Promise<EventLog>;
  /** So many appends of one entry at once are more than the bounded queue takes. */
  readonly crowd?: number;
  destroy(): Promise<void>;
}

export type LogFeature = 'failAppends' | 'corrupt' | 'crowd';

export interface LogCases {
  readonly it: Case<EventLogHarness>;
  /** Cases that need an optional part of the harness. */
  readonly itWith: Readonly<Record<LogFeature, Case<EventLogHarness>>>;
}

/** Opens a log for a case, and is told which optional part of the harness the case is about. */
export type OpenLog = (feature?: LogFeature) => Promise<EventLogHarness>;

export function logCases(open: OpenLog, without: readonly LogFeature[]): LogCases {
  const it = cases(() => open());
  const given = (feature: LogFeature) =>
    without.includes(feature) ? skipped<EventLogHarness>() : cases(() => open(feature));
  return {
    it,
    itWith: { failAppends: given('failAppends'), corrupt: given('corrupt'), crowd: given('crowd') },
  };
}

export function failAppends(harness: EventLogHarness, how: 'unavailable' | 'unknown'): void {
  need(harness.failAppends?.bind(harness), 'failAppends')(how);
}

export function repair(harness: EventLogHarness): void {
  need(harness.repair?.bind(harness), 'repair')();
}

/** An entry that says `text`; its key is the text too, unless given. */
export function entry(text: string, other: Partial<LogEntry> = {}): LogEntry {
  return { topic: 'audit', key: text, headers: { v: '1' }, value: Buffer.from(text), ...other };
}

/** Entries `prefix0`, `prefix1`, ... */
export function entries(count: number, prefix: string, other: Partial<LogEntry> = {}): LogEntry[] {
  return Array.from({ length: count }, (_, index) => entry(`${prefix}${index}`, other));
}

export const textOf = (record: Pick<LogEntry, 'value'>): string => Buffer.from(record.value).toString();

export const texts = (records: readonly Pick<LogEntry, 'value'>[]): string[] => records.map(textOf);

export const placeOf = ({ partition, offset }: Position): string => `${partition}/${offset}`;

/** All that stands in a topic now, from `from` to the head, as one reader gets it. */
export async function readAll(log: EventLog, topic: Topic = 'audit', from: Offsets = {}): Promise<LogRecord[]> {
  return (await readBatches(log, topic, from)).flatMap((batch) => batch.records);
}

export async function readBatches(log: EventLog, topic: Topic = 'audit', from: Offsets = {}): Promise<Batch[]> {
  const head = await log.head(topic);
  const next: Record<number, number> = { ...from };
  const atHead = () => Object.entries(head).every(([partition, offset]) => (next[Number(partition)] ?? 0) >= offset);
  const batches: Batch[] = [];
  if (atHead()) return batches;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]);
  for await (const batch of log.read(topic, from, signal)) {
    batches.push(batch);
    next[batch.partition] = batch.next;
    if (atHead()) stop.abort();
  }
  return batches;
}

export interface Tail {
  readonly records: readonly LogRecord[];
  /** Resolves when the reader has ended; rejects with what it threw. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** A reader that goes on until it is stopped. */
export function tail(log: EventLog, topic: Topic = 'audit', from: Offsets = {}): Tail {
  const stop = new AbortController();
  const records: LogRecord[] = [];
  const ended = (async () => {
    for await (const batch of log.read(topic, from, stop.signal)) records.push(...batch.records);
  })();
  ended.catch(() => undefined);
  return {
    records,
    ended,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}

/** The records of each partition, in the order they came. */
export function byPartition(records: readonly LogRecord[]): LogRecord[][] {
  return [...Map.groupBy(records, (record) => record.partition).values()];
}

/** Whether each is greater than the one before. */
export const isAscending = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? Number.POSITIVE_INFINITY));
