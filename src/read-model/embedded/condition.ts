import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { KindName } from '../kinds.js';
import { expiryOf, type Limits, limitsOf, limitsWithin, type Retention, valueOfClass } from '../retention.js';
import { type Filter, possibleValues, type SearchQuery } from '../search.js';
import { column } from './row.js';

/** A term of a `WHERE` clause. Values are always bound; names and operators in the SQL are this program's own. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

export function ofOrg(org: string): Condition {
  return { sql: 'org = ? AND deleted = 0', values: [org] };
}

export function conditionOf(kind: KindName, filter: Filter): Condition {
  const name = column(filter.field);
  // SQLite would convert one type to the other.
  const values = possibleValues(kind, filter);
  // One bound value, however many there are: the statement stays the same, and within the limit of its parameters.
  if (filter.op === 'in')
    return { sql: `${name} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(values)] };
  return values.length > 0 ? { sql: `${name} ${filter.op} ?`, values } : { sql: 'FALSE', values: [] };
}

/** Up to this many limits cost less in the SQL than one call a row. Most organizations have one. */
const FEW = 4;

/** The retention of one open database. */
export class RowExpiry {
  private searched: Limits = new Map();

  constructor(
    db: DatabaseSync,
    private readonly retention: Retention,
  ) {
    // SQLite would search a list in the SQL for each row; this looks up one of thousands of limits as fast as one.
    db.function('has_expired', { directOnly: true }, (name, time) =>
      Number(Number(time) < (this.searched.get(String(name)) ?? Number.NEGATIVE_INFINITY)),
    );
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
    if (limits.length <= FEW) return limits.map(([name, limit]) => notExpired(kind, name, limit));
    this.searched = new Map(limits);
    return [{ sql: `NOT has_expired(${classColumn(kind)}, time)`, values: [] }];
  }
}

function notExpired(kind: KindName, name: string, limit: number): Condition {
  const { field, apart } = expiryOf(kind);
  const value = valueOfClass(kind, name);
  const sql = [`${column(field)} IS ?`, 'time < ?'];
  const values: SQLInputValue[] = [value, limit];
  if (value === apart.value) {
    sql.push(`${column(apart.field)} IS ${name === apart.name ? '' : 'NOT '}?`);
    values.push(apart.is);
  }
  return { sql: `NOT (${sql.join(' AND ')})`, values };
}

/** The expiry class of a row, as SQL. */
export function classColumn(kind: KindName): string {
  const { field, apart } = expiryOf(kind);
  const isApart = `${column(field)} = '${apart.value}' AND ${column(apart.field)} = '${apart.is}'`;
  return `CASE WHEN ${isApart} THEN '${apart.name}' ELSE ${column(field)} END`;
}
