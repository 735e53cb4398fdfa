import type { Topic } from '../event-log/event-log.js';
import { type KindName, kindOf } from './kinds.js';

/** The record that a document was derived from, and which of the record's documents it is. */
export interface Position {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  /** Distinguishes the documents of one record, from 0. */
  readonly ordinal: number;
  /** When the log took the record, in milliseconds. */
  readonly time: number;
}

/** A point in the order of one partition; points compare by offset, then by ordinal. */
export type Point = readonly [offset: number, ordinal: number];

export function isBefore(one: Point, other: Point): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
}

export function pointOf({ offset, ordinal }: Pick<Position, 'offset' | 'ordinal'>): Point {
  return [offset, ordinal];
}

/** The order of two positions in one partition. */
export function comparePositions(
  one: Pick<Position, 'offset' | 'ordinal'>,
  other: Pick<Position, 'offset' | 'ordinal'>,
): number {
  return one.offset - other.offset || one.ordinal - other.ordinal;
}

export function isSamePartition(one: Position, other: Position): boolean {
  return one.topic === other.topic && one.partition === other.partition;
}

export function isSamePosition(one: Position, other: Position): boolean {
  return isSamePartition(one, other) && comparePositions(one, other) === 0;
}

/**
 * Whether the first of two records with one identifier is the one that counts: the earlier in their partition; of two
 * partitions, the one that the log took first.
 */
export function precedes(one: Position, other: Position): boolean {
  if (isSamePartition(one, other)) return comparePositions(one, other) < 0;
  if (one.time !== other.time) return one.time < other.time;
  return one.topic === other.topic ? one.partition < other.partition : one.topic < other.topic;
}

/** `topic/partition`, as adapters store it. */
export function partitionName({ topic, partition }: Pick<Position, 'topic' | 'partition'>): string {
  return `${topic}/${partition}`;
}

export function partitionIn(name: string): Pick<Position, 'topic' | 'partition'> {
  const slash = name.lastIndexOf('/');
  return { topic: name.slice(0, slash) as Topic, partition: Number(name.slice(slash + 1)) };
}

interface WriteTo {
  readonly kind: KindName;
  readonly org: string;
  readonly id: string;
  readonly place: Position;
}

interface DocumentContent {
  /** The values of the kind's fields; one that is absent is not stored and matches no filter. */
  readonly fields: Fields;
  /** JSON text, returned unchanged, byte for byte. */
  readonly source: string;
}

interface WriteContent extends Omit<DocumentContent, 'source'> {
  /** The text or its UTF-8: bytes that are only passed on need no decoding, and do not burden the garbage collector. */
  readonly source: string | Uint8Array;
  /** The source is the record at `place` with its `receivedTime`, so a store that can read the log need not keep it. */
  readonly recorded?: boolean;
}

/**
 * - `create`: the first of an identifier in the log (`precedes`) stays for ever, in whichever order they are applied. `hash` distinguishes a repetition from other content.
 * - `put`, `delete`: the newest position wins, so an older write that arrives late changes nothing, after a delete too.
 */
export type Write =
  | (WriteTo & WriteContent & { readonly op: 'create'; readonly hash?: string })
  | (WriteTo & WriteContent & { readonly op: 'put' })
  | (WriteTo & { readonly op: 'delete' });

/**
 * - `applied`: the document is stored because of this write, now or at an earlier delivery of it (same position).
 * - `duplicate`: another position created the identifier, with the same hash (or neither has one).
 * - `conflict`: another position created the identifier, with another hash.
 * - `stale`: a `put` or `delete` older than the stored document.
 */
export type OutcomeCode = 'applied' | 'duplicate' | 'conflict' | 'stale';

export interface Outcome {
  readonly code: OutcomeCode;
  readonly id: string;
}

export type FieldValue = string | number;
export type Fields = Readonly<Record<string, FieldValue | undefined>>;

export interface Document extends DocumentContent {
  readonly id: string;
  readonly place: Position;
}

/** A document as it is stored. */
export interface StoredDocument {
  readonly org: string;
  readonly id: string;
  readonly place: Position;
  readonly fields: Fields;
  /** Empty if `recorded`. */
  readonly source: string;
  /** The source is not stored: it is the record at `place`. */
  readonly recorded?: boolean;
  readonly hash?: string;
  readonly deleted: boolean;
  /** The adapter's own name of where it is stored; distinguishes copies. */
  readonly location: string;
  /** It is stored where reads do not look for it, or is damaged: it must be written again. */
  readonly misplaced: boolean;
}

/** A key of a document's kind, organization and identifier. */
export function identifierOf(kind: KindName, { org, id }: { readonly org: string; readonly id: string }): string {
  return JSON.stringify([kind, org, id]);
}

type Content = Pick<StoredDocument, 'place' | 'fields' | 'source' | 'recorded' | 'deleted' | 'hash'>;

/** What is stored once the write takes effect. */
export function contentOf(write: Write): Content {
  const { place } = write;
  if (write.op === 'delete') return { place, fields: {}, source: '', deleted: true };
  const hash = write.op === 'create' ? write.hash : undefined;
  const { fields, recorded = false } = write;
  return { place, fields, source: sourceText(write), recorded, deleted: false, ...(hash !== undefined && { hash }) };
}

/**
 * Whether two documents of one position are equal, byte for byte. Of deleted documents only the deletion counts. Two that
 * are the record itself have the same text.
 */
export function isSameContent(one: Content, other: Content): boolean {
  if (one.deleted !== other.deleted || one.place.time !== other.place.time) return false;
  if (one.deleted) return true;
  const isSameSource = (one.recorded && other.recorded) || one.source === other.source;
  return isSameSource && one.hash === other.hash && isSameFields(one.fields, other.fields);
}

function isSameFields(one: Fields, other: Fields): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}

/** Elasticsearch takes no longer values; no identifier of the service is nearly as long. */
const LONGEST_NAME = 512;

/** Throws for what no document of the kind may contain. */
export function checkWrite(write: Write): void {
  for (const name of ['org', 'id'] as const) {
    const { length } = write[name];
    if (length > LONGEST_NAME) throw new Error(`its ${name} has ${length} characters, more than ${LONGEST_NAME}`);
  }
  const { offset, ordinal, time, partition } = write.place;
  if (![offset, ordinal, time, partition].every(Number.isSafeInteger)) {
    throw new Error('a position consists of whole numbers');
  }
  if (write.op === 'delete') return;
  const { fields } = kindOf(write.kind);
  for (const field in write.fields) {
    if (!Object.hasOwn(fields, field)) throw new Error(`${write.kind} has no field ${field}`);
    const value = write.fields[field];
    if (value === undefined) continue;
    const fits = fields[field] === 'time' ? Number.isSafeInteger(value) : typeof value === 'string';
    if (!fits) throw new Error(`${field} of ${write.kind} is a ${fields[field]}`);
  }
}

export function sourceText({ source }: { readonly source: string | Uint8Array }): string {
  return typeof source === 'string' ? source : Buffer.from(source.buffer, source.byteOffset, source.length).toString();
}
