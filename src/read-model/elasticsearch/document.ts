import { createHash } from 'node:crypto';
import { hasTime, timeOf } from '../../platform/ids.js';
import {
  type Document,
  type FieldValue,
  isSamePosition,
  type Position,
  partitionIn,
  partitionName,
  type StoredDocument,
  type Write,
} from '../document.js';
import { classFields } from '../retention.js';
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

const MOST_ID_BYTES = 512;

/** Two organizations may use the same identifier for different documents. */
export function documentId(org: string, id: string): string {
  const whole = `${/[%/]/.test(org) ? org.replaceAll('%', '%25').replaceAll('/', '%2F') : org}/${id}`;
  // No character takes more than three bytes for each of its units.
  if (whole.length * 3 <= MOST_ID_BYTES || Buffer.byteLength(whole) <= MOST_ID_BYTES) return whole;
  return createHash('sha256').update(whole).digest('base64url');
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The month of an identifier that has one. */
export function monthIn(id: string): string | undefined {
  return hasTime(id) ? monthOf(timeOf(id)) : undefined;
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

/** The month in which a document of a monthly kind is stored. */
export function homeOf({ id, place }: { readonly id: string; readonly place: Position }): string {
  return monthIn(id) ?? monthOf(place.time);
}

/** The document as it is stored. */
export function bodyOf(write: Write): SmileObject {
  if (write.op === 'delete') return { ...placed(write), deleted: true, fields: {}, source: '' };
  const { org, id, place, fields, source } = write;
  const { offset, ordinal, time } = place;
  const hash = write.op === 'create' ? write.hash : undefined;
  // No spread: this runs for each event, and a spread would create another object first.
  return { org, id, partition: partitionName(place), offset, ordinal, time, hash, fields, source };
}

/** For a keyed event: in which month it is stored, its hash, and what its expiry depends on. */
export function pointerBodyOf(write: Write & { readonly op: 'create' }): SmileObject {
  const fields = Object.fromEntries(classFields(write.kind).map((field) => [field, write.fields[field]]));
  return { ...placed(write), hash: write.hash, fields };
}

function placed({ org, id, place }: Write) {
  const { offset, ordinal, time } = place;
  return { org, id, partition: partitionName(place), offset, ordinal, time };
}

export function placeIn({ partition, offset, ordinal, time }: Stored): Position {
  return { ...partitionIn(partition), offset, ordinal, time };
}

export function isAt(stored: Stored, place: Position): boolean {
  return isSamePosition(placeIn(stored), place);
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
