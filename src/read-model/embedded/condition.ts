import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { KIND_NAMES, type KindName, kindOf } from '../kinds.js';
import { expiryOf, type Limits, limitsOf, limitsWithin, type Retention, valueOfClass } from '../retention.js';
import { type Filter, possibleValues, type SearchQuery } from '../search.js';
import { packed, unpacked } from './identifier.js';
import { column, formOf } from './row.js';
import type { Texts } from './texts.js';

/** A term of a `WHERE` clause. Values are always bound; names and operators in the SQL are this program's own. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

const NOTHING: Condition = { sql: 'FALSE', values: [] };

export function ofOrg(texts: Texts, org: string): Condition {
  return { sql: 'org = ? AND deleted = 0', values: [texts.find(org)] };
}

export function conditionOf(kind: KindName, texts: Texts, filter: Filter): Condition {
  if (filter.op === 'ends') return endsWith(Buffer.from(filter.value, 'hex'));
  const name = column(filter.field);
  // SQLite would convert one type to the other.
  const values = possibleValues(kind, filter);
  const form = formOf(kind, filter.field);
  if (filter.op === 'in') return among(name, form, values);
  const [value] = values;
  if (value === undefined) return NOTHING;
  if (form === 'plain') return { sql: `${name} ${filter.op} ?`, values };
  const isText = form === 'text';
  if (filter.op !== '=') return { sql: `${isText ? textOf(name) : `unpacked(${name})`} ${filter.op} ?`, values };
  return { sql: `${name} = ?`, values: [isText ? texts.find(String(value)) : packed(String(value))] };
}

/** Of a UUID, which is stored as bytes. */
function endsWith(bytes: Buffer): Condition {
  return { sql: "typeof(id) = 'blob' AND substr(id, ?) = ?", values: [-bytes.length, bytes] };
}

/** One bound value, however many there are: the statement stays the same, and within the limit of its parameters. */
function among(name: string, form: ReturnType<typeof formOf>, values: readonly unknown[]): Condition {
  const list = '(SELECT value FROM json_each(?))';
  const sql = {
    plain: `${name} IN ${list}`,
    text: `${name} IN (SELECT id FROM texts WHERE text IN ${list})`,
    identifier: `unpacked(${name}) IN ${list}`,
  };
  return { sql: sql[form], values: [JSON.stringify(values)] };
}

/** The text of a column that has its number. */
export function textOf(name: string): string {
  return `(SELECT text FROM texts WHERE texts.id = ${name})`;
}

/** Up to this many limits cost less in the SQL than one call a row. Most organizations have one. */
const FEW = 4;

/** The retention of one open database. */
export class RowExpiry {
  /** By the number of the class. */
  private searched: ReadonlyMap<number, number> = new Map();

  constructor(
    db: DatabaseSync,
    private readonly texts: Texts,
    private readonly retention: Retention,
  ) {
    // SQLite would search a list in the SQL for each row; this looks up one of thousands of limits as fast as one.
    db.function('has_expired', { directOnly: true }, (name, time) =>
      Number(Number(time) < (this.searched.get(Number(name)) ?? Number.NEGATIVE_INFINITY)),
    );
    db.function('unpacked', { deterministic: true, directOnly: true }, (id) => (id === null ? null : unpacked(id)));
  }

  limits(kind: KindName, org: string): Limits {
    return limitsOf(this.retention, kind, org);
  }

  orgs(kind: KindName): Iterable<string> {
    return this.retention.orgs(kind);
  }

  /** Excludes expired rows. Holds for statements that run before the next condition is asked for. */
  condition(kind: KindName, { org, filters }: Pick<SearchQuery, 'org' | 'filters'>): readonly Condition[] {
    const limits = limitsWithin(kind, this.limits(kind, org), filters);
    if (limits.length <= FEW) return limits.map(([name, limit]) => this.notExpired(kind, name, limit));
    const numbers = limits.map(([name, limit]) => [this.texts.find(name), limit] as const);
    this.searched = new Map(numbers);
    return [{ sql: `NOT has_expired(${classColumn(kind)}, time)`, values: [] }];
  }

  private notExpired(kind: KindName, name: string, limit: number): Condition {
    const { field, apart } = expiryOf(kind);
    const value = valueOfClass(kind, name);
    const sql = [`${column(field)} IS ?`, 'time < ?'];
    if (value === apart.value) {
      sql.push(`${column(apart.field)} IS ${name === apart.name ? '' : 'NOT '}${NUMBERS.get(apart.is)}`);
    }
    return { sql: `NOT (${sql.join(' AND ')})`, values: [this.texts.find(value), limit] };
  }
}

/** Texts that the tables of every file name, with their numbers. */
export const NUMBERS: ReadonlyMap<string, number> = new Map(
  KIND_NAMES.flatMap((kind) => {
    const { apart } = kindOf(kind).expiresBy ?? {};
    return apart ? [apart.value, apart.is, apart.name] : [];
  }).map((text, index) => [text, index + 1]),
);

/** The number of the expiry class of a row, as SQL. */
export function classColumn(kind: KindName): string {
  const { field, apart } = expiryOf(kind);
  const isApart = `${column(field)} = ${NUMBERS.get(apart.value)} AND ${column(apart.field)} = ${NUMBERS.get(apart.is)}`;
  return `CASE WHEN ${isApart} THEN ${NUMBERS.get(apart.name)} ELSE ${column(field)} END`;
}
