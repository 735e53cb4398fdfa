import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { textWithReceivedTime } from '../../event-log/audit-record.js';
import type { RecordValues } from '../../event-log/event-log.js';
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
} from '../document.js';
import { KIND_NAMES, type KindName, kindOf } from '../kinds.js';
import { packed, unpacked } from './identifier.js';
import type { Texts } from './texts.js';

export type Row = Readonly<Record<string, unknown>>;

/**
 * Every column of a document but its fields and the checksum over all of them. `org` and `shard` are numbers of texts; a
 * `source` of NULL is that of the record at this place of the log.
 */
const COLUMNS = ['org', 'id', 'shard', 'offset', 'ordinal', 'time', 'hash', 'deleted', 'source'] as const;

/** Columns of fields are prefixed, so that a field may have any name. */
function columnName(field: string): string {
  return `f_${field}`;
}

/** All names in the SQL of this adapter come from `KINDS`, never from a caller. */
export function column(field: string): string {
  return `"${columnName(field)}"`;
}

/** How a field is stored: as its value, as the number of its text, or as an identifier. */
export type FieldForm = 'plain' | 'text' | 'identifier';

export function formOf(kind: KindName, field: string): FieldForm {
  const { fields, sort, unique } = kindOf(kind);
  if (fields[field] === 'time' || field === sort) return 'plain';
  return unique.includes(field) ? 'identifier' : 'text';
}

type TextOf = (number: unknown) => string;

interface Format {
  readonly fields: readonly { readonly field: string; readonly form: FieldForm }[];
  /** What the checksum covers, in its order. */
  readonly columns: readonly string[];
}

const FORMATS = Object.fromEntries(
  KIND_NAMES.map((kind): [KindName, Format] => {
    const names = Object.keys(kindOf(kind).fields);
    const fields = names.map((field) => ({ field, form: formOf(kind, field) }));
    return [kind, { fields, columns: [...COLUMNS, ...names.map(columnName)] }];
  }),
) as Readonly<Record<KindName, Format>>;

/** All columns of a kind as SQL, in the order of `valuesOf`. */
export function columnsOf(kind: KindName): readonly string[] {
  return [...FORMATS[kind].columns, 'crc'].map((name) => `"${name}"`);
}

/** How the documents of a kind are rows of one open database. */
export class RowFormat {
  private readonly format: Format;
  /** One number a column for the checksum. */
  private readonly scratch: Float64Array;

  constructor(
    readonly kind: KindName,
    readonly texts: Texts,
    private readonly records: RecordValues,
  ) {
    this.format = FORMATS[kind];
    this.scratch = new Float64Array(this.format.columns.length);
  }

  /** Throws for what no document of the kind may contain. */
  valuesOf(write: Write): SQLInputValue[] {
    checkWrite(write);
    const { texts } = this;
    const { org, id, place } = write;
    const isDeleted = write.op === 'delete';
    const values: (string | number | Uint8Array | null)[] = [
      texts.numberOf(org),
      packed(id),
      texts.numberOf(partitionName(place)),
      place.offset,
      place.ordinal,
      place.time,
      write.op === 'create' ? (write.hash ?? null) : null,
      isDeleted ? 1 : 0,
      isDeleted ? '' : write.recorded ? null : sourceText(write),
    ];
    const fields: Fields = isDeleted ? {} : write.fields;
    for (const { field, form } of this.format.fields) {
      const value = fields[field];
      if (value === undefined) values.push(null);
      else if (form === 'plain') values.push(value);
      else values.push(form === 'text' ? texts.numberOf(String(value)) : packed(String(value)));
    }
    values.push(this.checksum(values));
    return values;
  }

  /** Over all columns of a row, in their order, with their types and lengths. */
  private checksum(values: readonly unknown[]): number {
    let crc = 0;
    for (let index = 0; index < this.scratch.length; index += 1) {
      const value = values[index];
      if (typeof value === 'number') {
        this.scratch[index] = value;
      } else if (typeof value === 'string') {
        this.scratch[index] = value.length + 0.5;
        crc = crc32(value, crc);
      } else if (value instanceof Uint8Array) {
        this.scratch[index] = value.length + 0.25;
        crc = crc32(value, crc);
      } else {
        this.scratch[index] = Number.NaN;
      }
    }
    return crc32(new Uint8Array(this.scratch.buffer), crc);
  }

  /** Whether the row is unchanged since it was written. */
  isWhole(row: Row): boolean {
    return row.crc === this.checksum(this.valuesIn(row));
  }

  /**
   * Throws for a row that was altered, or that belongs to another organization: a damaged index may lead to any row, and a
   * reader must get neither.
   */
  documentOf(org: number, row: Row): Document {
    return this.documentIn(org, this.valuesIn(row), row.crc);
  }

  /** As `documentOf`, of the values of a row in the order of `columnsOf`. */
  documentIn(of: number, values: readonly unknown[], crc = values[this.format.columns.length]): Document {
    const [org, id, shard, offset, ordinal, time, , , source] = values;
    if (org !== of || crc !== this.checksum(values)) {
      throw new Error(
        `a document of ${this.kind} in the read model is damaged: repair it with \`svc reconcile --repair\``,
      );
    }
    const place = this.placeOf({ shard, offset, ordinal, time });
    return { id: unpacked(id), place, fields: this.fieldsIn(values), source: this.sourceOf(source, place) };
  }

  private sourceOf(source: unknown, { topic, partition, offset, time }: Position): string {
    return typeof source === 'string'
      ? source
      : textWithReceivedTime(this.records.value(topic, partition, offset), time);
  }

  private valuesIn(row: Row): unknown[] {
    return this.format.columns.map((name) => row[name]);
  }

  /** The row as it is, damaged or not. */
  storedOf(location: string, row: Row): StoredDocument {
    let isDamaged = !this.isWhole(row);
    const textOf: TextOf = (number) => {
      try {
        return this.textOf(number);
      } catch {
        isDamaged = true;
        return `damaged/${number}`;
      }
    };
    const org = textOf(row.org);
    const place = this.placeOf(row, textOf);
    const fields = this.fieldsOf(row, textOf);
    return {
      ...{ org, id: unpacked(row.id), place, fields },
      source: String(row.source ?? ''),
      ...(row.source === null && { recorded: true }),
      ...(typeof row.hash === 'string' && { hash: row.hash }),
      deleted: row.deleted !== 0,
      location,
      misplaced: isDamaged,
    };
  }

  placeOf({ shard, offset, ordinal, time }: Row, textOf = this.textOf): Position {
    const where = partitionIn(textOf(shard));
    return { ...where, offset: Number(offset), ordinal: Number(ordinal), time: Number(time) };
  }

  fieldsOf(row: Row, textOf = this.textOf): Fields {
    return this.fieldsIn(this.valuesIn(row), textOf);
  }

  private fieldsIn(values: readonly unknown[], textOf = this.textOf): Fields {
    const fields: Record<string, FieldValue> = {};
    for (const [index, { field, form }] of this.format.fields.entries()) {
      const value = values[COLUMNS.length + index];
      if (value === null || value === undefined) continue;
      fields[field] = form === 'plain' ? (value as FieldValue) : form === 'text' ? textOf(value) : unpacked(value);
    }
    return fields;
  }

  isAtPlace(row: Row | undefined, place: Position): boolean {
    return (
      row?.offset === place.offset &&
      row.ordinal === place.ordinal &&
      row.shard === this.texts.find(partitionName(place))
    );
  }

  private readonly textOf: TextOf = (number) => this.texts.textOf(Number(number));
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
