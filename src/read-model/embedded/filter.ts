import type { FieldValue } from '../document.js';
import type { KindName } from '../kinds.js';
import type { Filter } from '../search.js';
import type { Condition } from './expiry.js';
import { column, kindOf } from './row.js';

export function ofOrg(org: string): Condition {
  return { sql: 'org = ? AND deleted = 0', values: [org] };
}

export function conditionOf(kind: KindName, filter: Filter): Condition {
  const name = fieldColumn(kind, filter.field);
  // SQLite would convert one type to the other; here a number never equals a text.
  const type = kindOf(kind).fields[filter.field] === 'time' ? 'number' : 'string';
  if (filter.op === 'in') {
    // One value is bound, however many there are: the statement stays the same, and within the limit of its parameters.
    const values = filter.values.filter((value) => typeof value === type);
    return { sql: `${name} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(values)] };
  }
  const { op, value } = filter;
  return typeof value === type ? { sql: `${name} ${op} ?`, values: [value] } : { sql: 'FALSE', values: [] };
}

/** Whether no value that a document may have passes the filter. */
export function isImpossible(kind: KindName, filter: Filter): boolean {
  const type = kindOf(kind).fields[filter.field] === 'time' ? 'number' : 'string';
  const isPossible = (value: FieldValue) => typeof value === type;
  return filter.op === 'in' ? !filter.values.some(isPossible) : !isPossible(filter.value);
}

export function fieldColumn(kind: KindName, field: string): string {
  if (!Object.hasOwn(kindOf(kind).fields, field)) throw new Error(`${kind} has no field ${field}`);
  return column(field);
}

/** What a search that found nothing within its budget is refused with. */
export function spent({ budgetMs }: { readonly budgetMs?: number | undefined }): {
  readonly budgetMs: number;
  readonly remedy: string;
} {
  const remedy =
    'almost nothing that was looked at matches these filters: narrow fromEvent and toEvent, or add the name or id of a resource';
  return { budgetMs: budgetMs ?? 0, remedy };
}
