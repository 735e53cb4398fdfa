import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { column, kindOf } from './embedded-row.js';
import type { KindName } from './kinds.js';
import type { Retention } from './read-model.js';
import type { SearchQuery } from './search.js';

export type Limits = ReadonlyMap<string, number>;

export interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

const NONE: Limits = new Map();

/** Whether a document of this value, which the log took at this time, has expired. */
export function hasExpired(limits: Limits, value: unknown, time: number): boolean {
  const limit = limits.get(value as string);
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
    db.function('has_expired', { directOnly: true }, (value, time) =>
      Number(hasExpired(this.searched, value, Number(time))),
    );
  }

  limits(kind: KindName, org: string): Limits {
    return kindOf(kind).expiresBy === undefined ? NONE : this.retention.limits(kind, org);
  }

  orgs(kind: KindName): readonly string[] {
    return kindOf(kind).expiresBy === undefined ? [] : [...this.retention.orgs(kind)];
  }

  /** Leaves out what has expired. Holds for statements that run before the next condition is asked for. */
  condition(kind: KindName, { org, filters }: Pick<SearchQuery, 'org' | 'filters'>): readonly Condition[] {
    const limits = this.limits(kind, org);
    if (limits.size === 0) return [];
    const by = kindOf(kind).expiresBy ?? '';
    const one = filters.flatMap((filter) => (filter.field === by && filter.op === '=' ? String(filter.value) : []))[0];
    if (one === undefined) {
      this.searched = limits;
      return [{ sql: `NOT has_expired(${column(by)}, time)`, values: [] }];
    }
    const limit = limits.get(one);
    return limit === undefined ? [] : [{ sql: 'time >= ?', values: [limit] }];
  }
}
