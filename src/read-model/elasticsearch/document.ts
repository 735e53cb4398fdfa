import { createHash } from 'node:crypto';
import type { Topic } from '../../event-log/event-log.js';
import type { Document, Fields, FieldValue, Position, StoredDocument, Write } from '../document.js';
import { classFields, expiryClass } from '../expiry-class.js';
import { KINDS, type Kind, type KindName } from '../kinds.js';
import type { SmileObject } from './smile.js';

/** A document, or a pointer to one, as it is stored. */
export interface Stored {
  readonly org: string;
  readonly id: string;
  /** `topic/partition` */
  readonly partition: string;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
  readonly hash?: string;
  readonly deleted?: boolean;
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** The text as a string, so that Elasticsearch neither parses nor indexes nor alters it. */
  readonly source: string;
}

export type Limits = ReadonlyMap<string, number>;

const MOST_ID_BYTES = 512;

/** Identifiers are those of an organization: the same one of two are two documents. */
export function documentId(org: string, id: string): string {
  const whole = `${/[%/]/.test(org) ? org.replaceAll('%', '%25').replaceAll('/', '%2F') : org}/${id}`;
  // No character takes more than three bytes for each of its units.
  if (whole.length * 3 <= MOST_ID_BYTES || Buffer.byteLength(whole) <= MOST_ID_BYTES) return whole;
  return createHash('sha256').update(whole).digest('base64url');
}

const DAY_MS = 24 * 60 * 60 * 1_000;

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether an identifier tells its month by itself: a UUIDv7 begins with its time. */
export function tellsMonth(id: string): boolean {
  return UUID_V7.test(id);
}

/** The month that an identifier tells. */
export function monthIn(id: string): string | undefined {
  return tellsMonth(id) ? monthOf(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)) : undefined;
}

/** `YYYY.MM` */
export function monthOf(ms: number): string {
  const day = Math.floor(ms / DAY_MS);
  // Documents of one day follow each other.
  if (day !== last.day) {
    const time = new Date(ms);
    const [year, month] = [time.getUTCFullYear(), time.getUTCMonth() + 1];
    last = { day, month: `${String(year).padStart(4, '0')}.${String(month).padStart(2, '0')}` };
  }
  return last.month;
}

let last = { day: 0, month: '1970.01' };

/** Where a document of a kind that is stored by month belongs. */
export function homeOf({ id, place }: { readonly id: string; readonly place: Position }): string {
  return monthIn(id) ?? monthOf(place.time);
}

export function partitionName({ topic, partition }: { readonly topic: Topic; readonly partition: number }): string {
  return `${topic}/${partition}`;
}

/** Throws for what no document of the kind may hold. */
export function checkWrite(write: Write): void {
  const { fields } = KINDS[write.kind] as Kind;
  const { offset, ordinal, time, partition } = write.place;
  if (![offset, ordinal, time, partition].every(Number.isSafeInteger)) throw new Error('a place is of whole numbers');
  if (write.op === 'delete') return;
  for (const field in write.fields) {
    if (!Object.hasOwn(fields, field)) throw new Error(`${write.kind} has no field ${field}`);
    const value = write.fields[field];
    if (value === undefined) continue;
    const fits = fields[field] === 'time' ? Number.isSafeInteger(value) : typeof value === 'string';
    if (!fits) throw new Error(`${field} of ${write.kind} is a ${fields[field]}`);
  }
}

/** The document as it is stored. */
export function bodyOf(write: Write): SmileObject {
  if (write.op === 'delete') return { ...placed(write), deleted: true, fields: {}, source: '' };
  const { org, id, place, fields, source } = write;
  const { offset, ordinal, time } = place;
  const hash = write.op === 'create' ? write.hash : undefined;
  // In one piece: made for each event, where a spread would make another object first.
  return { org, id, partition: partitionName(place), offset, ordinal, time, hash, fields, source };
}

/** What tells of a keyed event where it stands, what it is, and when it expires. */
export function pointerBodyOf(write: Write & { readonly op: 'create' }): SmileObject {
  const fields = Object.fromEntries(classFields(write.kind).map((field) => [field, write.fields[field]]));
  return { ...placed(write), hash: write.hash, fields };
}

function placed({ org, id, place }: Write) {
  const { offset, ordinal, time } = place;
  return { org, id, partition: partitionName(place), offset, ordinal, time };
}

export function placeIn({ partition, offset, ordinal, time }: Stored): Position {
  const slash = partition.lastIndexOf('/');
  const topic = partition.slice(0, slash) as Topic;
  return { topic, partition: Number(partition.slice(slash + 1)), offset, ordinal, time };
}

export function isAt(stored: Pick<Stored, 'partition' | 'offset' | 'ordinal'>, place: Position): boolean {
  return (
    stored.partition === partitionName(place) && stored.offset === place.offset && stored.ordinal === place.ordinal
  );
}

/** Whether a document with these fields, which the log took at this time, has expired. */
export function hasExpired(kind: KindName, limits: Limits, fields: Fields, time: number): boolean {
  if (limits.size === 0) return false;
  const name = expiryClass(kind, (field) => fields[field]);
  const limit = name === undefined ? undefined : limits.get(name);
  return limit !== undefined && time < limit;
}

export function documentOf(stored: Stored): Document {
  return { id: stored.id, place: placeIn(stored), fields: stored.fields, source: stored.source };
}

export function storedDocument(stored: Stored, location: Location, misplaced: boolean): StoredDocument {
  const { org, hash, deleted = false } = stored;
  return {
    org,
    ...documentOf(stored),
    ...(hash !== undefined && { hash }),
    deleted,
    location: locationText(location),
    misplaced,
  };
}

export interface Location {
  readonly index: string;
  readonly id: string;
}

function locationText({ index, id }: Location): string {
  return `${index}/${id}`;
}

export function locationIn(text: string): Location {
  const slash = text.indexOf('/');
  return { index: text.slice(0, slash), id: text.slice(slash + 1) };
}

/** The name of a kind's field in the index. */
export function termField(field: string): string {
  return `fields.${field}`;
}
