import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { expires, expiryField, valueOfClass } from '../expiry-class.js';
import { KINDS, type Kind, type KindName } from '../kinds.js';
import type { Retention } from '../read-model.js';
import type { SearchQuery } from '../search.js';
import { column } from './row.js';

export type Limits = ReadonlyMap<string, number>;

export interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

const NONE: Limits = new Map();

/** Whether a document of this class, which the log took at this time, has expired. */
export function hasExpired(limits: Limits, name: unknown, time: number): boolean {
  const limit = limits.get(name as string);
  return limit !== undefined && time < limit;
}

/** What retention means for one open database. */
export class Expiry {
  private searched: Limits = NONE;

  constructor(
    db: DatabaseSync,
    private readonly retention: Retention,
  ) {
    // A list in the SQL would be searched through for each row; this looks up one of thousands of limits as fast as one.
    db.function('has_expired', { directOnly: true }, (name, time) =>
      Number(hasExpired(this.searched, name, Number(time))),
    );
  }

  limits(kind: KindName, org: string): Limits {
    return !expires(kind) ? NONE : this.retention.limits(kind, org);
  }

  orgs(kind: KindName): readonly string[] {
    return !expires(kind) ? [] : [...this.retention.orgs(kind)];
  }

  /** Leaves out what has expired. Holds for statements that run before the next condition is asked for. */
  condition(kind: KindName, { org, filters }: Pick<SearchQuery, 'org' | 'filters'>): readonly Condition[] {
    const by = expiryField(kind);
    const only = filters.flatMap((filter) => (filter.field === by && filter.op === '=' ? [filter.value] : []))[0];
    const limits = [...this.limits(kind, org)].filter(
      ([name, limit]) => limit > 0 && (only === undefined || only === valueOfClass(kind, name)),
    );
    if (limits.length <= FEW) return limits.map(([name, limit]) => notExpired(kind, name, limit));
    this.searched = new Map(limits);
    return [{ sql: `NOT has_expired(${classColumn(kind)}, time)`, values: [] }];
  }
}

/** So few limits cost less in the SQL than one call a row. Most organizations have one. */
const FEW = 4;

function notExpired(kind: KindName, name: string, limit: number): Condition {
  const { expiresBy }: Kind = KINDS[kind];
  if (!expiresBy) throw new Error(`${kind} does not expire`);
  const { field, apart } = expiresBy;
  const value = valueOfClass(kind, name);
  const sql = [`${column(field)} IS ?`, 'time < ?'];
  const values: SQLInputValue[] = [value, limit];
  if (value === apart.value) {
    sql.push(`${column(apart.field)} IS ${name === apart.name ? '' : 'NOT '}?`);
    values.push(apart.is);
  }
  return { sql: `NOT (${sql.join(' AND ')})`, values };
}

/** The class of a row, as SQL. */
export function classColumn(kind: KindName): string {
  const { expiresBy }: Kind = KINDS[kind];
  if (!expiresBy) throw new Error(`${kind} does not expire`);
  const { field, apart } = expiresBy;
  const isApart = `${column(field)} = '${apart.value}' AND ${column(apart.field)} = '${apart.is}'`;
  return `CASE WHEN ${isApart} THEN '${apart.name}' ELSE ${column(field)} END`;
}
