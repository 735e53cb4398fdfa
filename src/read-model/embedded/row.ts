import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Topic } from '../../event-log/event-log.js';
import {
  type Document,
  type Fields,
  type FieldValue,
  type Position,
  type StoredDocument,
  sourceText,
  type Write,
  type WriteContent,
} from '../document.js';
import { KINDS, type Kind, type KindName } from '../kinds.js';

export type Row = Readonly<Record<string, unknown>>;

/** Every column of a document besides its fields and the checksum over all of them. */
const COLUMNS = ['org', 'id', 'shard', 'offset', 'ordinal', 'time', 'hash', 'deleted', 'source'] as const;
const SOURCE = COLUMNS.indexOf('source');

export function kindOf(name: KindName): Kind {
  return KINDS[name];
}

/** Columns of fields are prefixed, so that a field may have any name. */
function columnName(field: string): string {
  return `f_${field}`;
}

/** All names in the SQL of this adapter come from `KINDS`, never from a caller. */
export function column(field: string): string {
  return `"${columnName(field)}"`;
}

interface Format {
  readonly fields: readonly string[];
  readonly known: ReadonlySet<string>;
  /** What the checksum is over, in its order. */
  readonly columns: readonly string[];
}

const FORMATS = Object.fromEntries(Object.entries(KINDS).map(([name, kind]) => [name, formatOf(kind)])) as Readonly<
  Record<KindName, Format>
>;

function formatOf(kind: Kind): Format {
  const fields = Object.keys(kind.fields);
  return { fields, known: new Set(fields), columns: [...COLUMNS, ...fields.map(columnName)] };
}

/** All columns of a kind as SQL, in the order of `valuesOf`. */
export function columnsOf(kind: KindName): readonly string[] {
  return [...FORMATS[kind].columns, 'crc'].map((name) => `"${name}"`);
}

export function shardOf(place: { readonly topic: Topic; readonly partition: number }): string {
  return `${place.topic}/${place.partition}`;
}

/** Throws for a field that the kind does not have. */
export function valuesOf(write: Write): SQLInputValue[] {
  const { fields, known } = FORMATS[write.kind];
  const content: WriteContent = write.op === 'delete' ? { fields: {}, source: '' } : write;
  for (const field in content.fields) {
    if (!known.has(field)) throw new Error(`${write.kind} has no field ${field}`);
  }
  const { org, id, place } = write;
  const values: (string | number | null)[] = [
    org,
    id,
    shardOf(place),
    place.offset,
    place.ordinal,
    place.time,
    write.op === 'create' ? (write.hash ?? null) : null,
    write.op === 'delete' ? 1 : 0,
    sourceText(content),
  ];
  for (const field of fields) values.push(content.fields[field] ?? null);
  values.push(checksum(values, content.source));
  return values;
}

/** Over all columns of a row, in their order; the longest as it is, or its UTF-8, not quoted once more. */
function checksum(values: readonly unknown[], source: string | Uint8Array = String(values[SOURCE])): number {
  return crc32(source, crc32(JSON.stringify(values.toSpliced(SOURCE, 1))));
}

/** Whether it is as it was written. */
export function isWhole(kind: KindName, row: Row): boolean {
  return row.crc === checksum(FORMATS[kind].columns.map((name) => row[name]));
}

/**
 * Throws for a row that is not as it was written, or that is not the organization's: a damaged index may lead to any row,
 * and it is better not served than altered, or served to another.
 */
export function documentOf(kind: KindName, org: string, row: Row): Document {
  if (row.org === org && isWhole(kind, row)) {
    return { id: String(row.id), place: placeOf(row), fields: fieldsOf(kind, row), source: String(row.source) };
  }
  throw new Error(`the read model is damaged at a document of ${kind}: \`svc reconcile --repair\` mends it`);
}

/** The row as it is, damaged or not. */
export function storedOf(kind: KindName, location: string, row: Row): StoredDocument {
  return {
    org: String(row.org),
    id: String(row.id),
    place: placeOf(row),
    fields: fieldsOf(kind, row),
    source: String(row.source),
    ...(typeof row.hash === 'string' && { hash: row.hash }),
    deleted: row.deleted !== 0,
    location,
    misplaced: !isWhole(kind, row),
  };
}

export function placeOf(row: Row): Position {
  const shard = String(row.shard);
  const slash = shard.lastIndexOf('/');
  return {
    topic: shard.slice(0, slash) as Topic,
    partition: Number(shard.slice(slash + 1)),
    offset: Number(row.offset),
    ordinal: Number(row.ordinal),
    time: Number(row.time),
  };
}

function fieldsOf(kind: KindName, row: Row): Fields {
  const fields: Record<string, FieldValue> = {};
  for (const field of FORMATS[kind].fields) {
    const value = row[columnName(field)];
    if (value !== null && value !== undefined) fields[field] = value as FieldValue;
  }
  return fields;
}

/** The value of a field of a row that has not been checked. */
export function fieldIn(row: Row, field: string): unknown {
  return row[columnName(field)];
}

export function isAtPlace(row: Row | undefined, place: Position): boolean {
  return row?.shard === shardOf(place) && row.offset === place.offset && row.ordinal === place.ordinal;
}

/** Reads rows that may be damaged: a number that JavaScript does not have is read as one near it. */
export function rowReader(db: DatabaseSync, kind: KindName): (rowid: number) => Row | undefined {
  const statement = db.prepare(`SELECT rowid, * FROM "${kind}" WHERE rowid = ?`);
  statement.setReadBigInts(true);
  return (rowid) => {
    const row = statement.get(rowid);
    const numbers = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
    return row && Object.fromEntries(Object.entries(row).map(([name, value]) => [name, numbers(value)]));
  };
}
