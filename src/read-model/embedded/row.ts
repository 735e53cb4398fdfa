import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import {
  checkWrite,
  type Document,
  type Fields,
  type FieldValue,
  type Position,
  partitionIn,
  partitionName,
  type StoredDocument,
  sourceText,
  type Write,
  type WriteContent,
} from '../document.js';
import { KIND_NAMES, type KindName, kindOf } from '../kinds.js';

export type Row = Readonly<Record<string, unknown>>;

/** Every column of a document but its fields and the checksum over all of them. */
const COLUMNS = ['org', 'id', 'shard', 'offset', 'ordinal', 'time', 'hash', 'deleted', 'source'] as const;
const SOURCE = COLUMNS.indexOf('source');

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
  /** What the checksum covers, in its order. */
  readonly columns: readonly string[];
}

const FORMATS = Object.fromEntries(
  KIND_NAMES.map((kind): [KindName, Format] => {
    const fields = Object.keys(kindOf(kind).fields);
    return [kind, { fields, columns: [...COLUMNS, ...fields.map(columnName)] }];
  }),
) as Readonly<Record<KindName, Format>>;

/** All columns of a kind as SQL, in the order of `valuesOf`. */
export function columnsOf(kind: KindName): readonly string[] {
  return [...FORMATS[kind].columns, 'crc'].map((name) => `"${name}"`);
}

/** Throws for what no document of the kind may contain. */
export function valuesOf(write: Write): SQLInputValue[] {
  checkWrite(write);
  const { fields } = FORMATS[write.kind];
  const content: WriteContent = write.op === 'delete' ? { fields: {}, source: '' } : write;
  const { org, id, place } = write;
  const values: (string | number | null)[] = [
    org,
    id,
    partitionName(place),
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

/** Over all columns of a row, in their order. The longest is included as it is, or as its UTF-8, not quoted as JSON again. */
function checksum(values: readonly unknown[], source: string | Uint8Array = String(values[SOURCE])): number {
  return crc32(source, crc32(JSON.stringify(values.toSpliced(SOURCE, 1))));
}

/** Whether the row is unchanged since it was written. */
export function isWhole(kind: KindName, row: Row): boolean {
  return row.crc === checksum(FORMATS[kind].columns.map((name) => row[name]));
}

/**
 * Throws for a row that was altered, or that belongs to another organization: a damaged index may lead to any row, and a
 * reader must get neither.
 */
export function documentOf(kind: KindName, org: string, row: Row): Document {
  if (row.org === org && isWhole(kind, row)) {
    return { id: String(row.id), place: placeOf(row), fields: fieldsOf(kind, row), source: String(row.source) };
  }
  throw new Error(`a document of ${kind} in the read model is damaged: repair it with \`svc reconcile --repair\``);
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

export function placeOf({ shard, offset, ordinal, time }: Row): Position {
  return { ...partitionIn(String(shard)), offset: Number(offset), ordinal: Number(ordinal), time: Number(time) };
}

export function fieldsOf(kind: KindName, row: Row): Fields {
  const fields: Record<string, FieldValue> = {};
  for (const field of FORMATS[kind].fields) {
    const value = row[columnName(field)];
    if (value !== null && value !== undefined) fields[field] = value as FieldValue;
  }
  return fields;
}

export function isAtPlace(row: Row | undefined, place: Position): boolean {
  return row?.shard === partitionName(place) && row.offset === place.offset && row.ordinal === place.ordinal;
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
