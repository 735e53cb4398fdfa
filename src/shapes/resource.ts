import { IsArray, IsIn } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { FieldFault } from '../contract/errors.js';
import { LIMITS, PAGE_SIZE_PATTERN } from '../contract/limits.js';
import { OPERATORS, type Term } from '../model/query.js';
import { IsCursor, IsDescription, IsScalar, IsShape, IsShapes, IsTags, IsText, Optional } from './shape.js';

/** The query parameters of a list of resources, as text. */
export class ResourceListDto {
  @Optional() @IsText({ pattern: PAGE_SIZE_PATTERN }) limit?: string;
  @Optional() @IsCursor() cursor?: string;
}

/** What every resource may be described by. */
export class DescribedDto {
  @Optional() @IsDescription() description?: string;
  @Optional() @IsTags() tags?: Record<string, string>;
}

@JSONSchema({
  description:
    'Compares exactly one of a property (by its path, such as `spec.dnsMode` or `spec.ports.0.number`), a tag and a relation; with `=` unless told otherwise. Texts compare exactly and are ordered by code point, numbers and times by value; `~` is "contains", in any case. What is missing matches `!=` and `!exists` only; what is an object or a list, `!=` and `exists` only. Relations take `=` and `!=`: of users `group`, of groups `member`, each by name, e-mail address, id or link.',
})
export class TermDto {
  @Optional() @IsIn(OPERATORS) op?: (typeof OPERATORS)[number];
  @Optional() @IsText({ min: 1, max: 256 }) property?: string;
  @Optional() @IsText({ min: 1, max: LIMITS.tagName }) tag?: string;
  @Optional() @IsText({ min: 1, max: 64 }) rel?: string;
  @Optional() @IsScalar() value?: string | number | boolean;
}

@JSONSchema({ description: 'By a property; those without it come last, equals by name. Without it: by name.' })
export class SortDto {
  @IsText({ min: 1, max: 256 }) by!: string;
  @Optional() @IsIn(['asc', 'desc']) order?: 'asc' | 'desc';
}

export class QuerySpecDto {
  @Optional() @IsIn(['all', 'any', 'none']) match?: 'all' | 'any' | 'none';
  @Optional() @IsShapes(() => TermDto, { max: LIMITS.queryTerms }) terms?: TermDto[];
  @Optional() @IsShape(() => SortDto) sort?: SortDto;
}

/** The body of a query; what it was answered may be sent back with it. */
export class QueryDto {
  @Optional() @IsText({ max: 64 }) kind?: string;
  @Optional() @IsIn(['items', 'links']) fetch?: 'items' | 'links';
  @Optional() @IsShape(() => QuerySpecDto) spec?: QuerySpecDto;
  @Optional() @IsArray() links?: unknown[];
}

/** What the shape of a query cannot say: a term compares one thing, and with a value where its operator needs one. */
export function specFaults(spec: { readonly terms?: readonly Term[] }, kind: string, pointer: string): FieldFault[] {
  return (spec.terms ?? []).flatMap((term, index) => termFaults(term, kind, `${pointer}/terms/${index}`));
}

function termFaults({ op = '=', property, tag, rel, value }: Term, kind: string, pointer: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const compared = [property, tag, rel].filter((one) => one !== undefined);
  if (compared.length !== 1) faults.push({ pointer, reason: 'requires exactly one of property, tag and rel' });
  const isValueless = op === 'exists' || op === '!exists';
  if (!isValueless && value === undefined) faults.push({ pointer: `${pointer}/value`, reason: 'is required' });
  if (rel === undefined) return faults;
  const known = RELATIONS[kind];
  if (rel !== known)
    faults.push({ pointer: `${pointer}/rel`, reason: known ? `must be ${known}` : 'is not known here' });
  if (op !== '=' && op !== '!=') faults.push({ pointer: `${pointer}/op`, reason: 'must be = or != for a relation' });
  return faults;
}

/** By kind; all other kinds have none. */
const RELATIONS: Readonly<Record<string, string | undefined>> = { user: 'group', group: 'member' };
