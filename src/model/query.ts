import { isFinerThanMs, parseInstant } from './instant.js';

export const OPERATORS = ['=', '!=', '>', '>=', '<', '<=', '~', 'exists', '!exists'] as const;
type Operator = (typeof OPERATORS)[number];

export type Scalar = string | number | boolean;

/** Compares one thing of a resource: a property, a tag, or whether it is related to another resource. */
export interface Term {
  readonly op?: Operator;
  readonly property?: string;
  readonly tag?: string;
  readonly rel?: string;
  readonly value?: Scalar;
}

export interface QuerySpec {
  readonly match?: 'all' | 'any' | 'none';
  readonly terms?: readonly Term[];
  readonly sort?: { readonly by: string; readonly order?: 'asc' | 'desc' };
}

/** What is asked whether it matches. */
export interface Candidate {
  readonly resource: Readonly<Record<string, unknown>>;
  /** Whether the relation holds between the resource and what the value names. */
  related(rel: string, value: string): boolean;
}

export function matches({ match = 'all', terms = [] }: QuerySpec, candidate: Candidate): boolean {
  const holds = (term: Term) => termHolds(term, candidate);
  switch (match) {
    case 'all':
      return terms.every(holds);
    case 'any':
      return terms.some(holds);
    case 'none':
      return !terms.some(holds);
  }
}

/** What is missing matches `!=` and `!exists` only; what is there and no scalar, `!=` and `exists` only. */
function termHolds({ op = '=', property, tag, rel, value }: Term, candidate: Candidate): boolean {
  if (rel !== undefined) return candidate.related(rel, String(value)) === (op !== '!=');
  const found = tag === undefined ? memberAt(candidate.resource, property ?? '') : tagOf(candidate, tag);
  if (op === 'exists' || op === '!exists') return (found !== undefined) === (op === 'exists');
  if (!isScalar(found) || value === undefined) return op === '!=';
  return compares(op, found, value);
}

/** A member of the resource by its path, such as `spec.dnsMode` or `spec.ports.0.number`; undefined where there is none. */
function memberAt(resource: Candidate['resource'], path: string): unknown {
  let at: unknown = resource;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.prototype.propertyIsEnumerable.call(at, name))
      return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function tagOf({ resource: { tags } }: Candidate, name: string): string | undefined {
  if (typeof tags !== 'object' || tags === null || !Object.hasOwn(tags, name)) return undefined;
  const value = (tags as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

function compares(op: Exclude<Operator, 'exists' | '!exists'>, found: Scalar, value: Scalar): boolean {
  if (op === '~') return String(found).toLowerCase().includes(String(value).toLowerCase());
  const order = compareScalars(found, value);
  switch (op) {
    case '=':
      return order === 0;
    case '!=':
      return order !== 0;
    case '>':
      return order !== undefined && order > 0;
    case '>=':
      return order !== undefined && order >= 0;
    case '<':
      return order !== undefined && order < 0;
    case '<=':
      return order !== undefined && order <= 0;
  }
}

/** Numbers and instants by value, all else by code point; undefined for what has no order with the other. */
function compareScalars(found: Scalar, value: Scalar): number | undefined {
  if (typeof found === 'number') return sign(found, typeof value === 'number' ? value : numberOf(value));
  if (typeof found === 'boolean') return String(found) === String(value) ? 0 : undefined;
  const instant = wholeInstant(found);
  const other = instant === undefined ? undefined : wholeInstant(String(value));
  if (instant !== undefined && other !== undefined) return sign(instant, other);
  return compareText(found, String(value));
}

/** Finer instants would be the same by their milliseconds: they are compared as texts. */
function wholeInstant(text: string): number | undefined {
  return isFinerThanMs(text) ? undefined : parseInstant(text);
}

function numberOf(value: Scalar): number {
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}

function sign(a: number, b: number): number | undefined {
  return Number.isNaN(b) ? undefined : Math.sign(a - b);
}

/** What a resource is sorted by: a property, where it is a scalar. */
export function sortKeyOf(resource: Candidate['resource'], path: string): Scalar | undefined {
  const found = memberAt(resource, path);
  return isScalar(found) ? found : undefined;
}

const TYPES = ['boolean', 'number', 'string'];

/** One order of all scalars, for sorting: booleans (false first), numbers, texts by code point. */
export function compareSortKeys(a: Scalar, b: Scalar): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (typeof a === typeof b) return Math.sign(Number(a) - Number(b));
  return Math.sign(TYPES.indexOf(typeof a) - TYPES.indexOf(typeof b));
}

/** By code point, as the read models order text; JavaScript's own operators compare UTF-16 code units. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const left = a[Symbol.iterator]();
  const right = b[Symbol.iterator]();
  for (;;) {
    const [one, other] = [left.next(), right.next()];
    if (one.done || other.done) return one.done ? -1 : 1;
    const difference = (one.value.codePointAt(0) ?? 0) - (other.value.codePointAt(0) ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
}
