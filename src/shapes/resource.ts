import { IsArray, IsIn } from 'class-validator';
import type { FieldFault } from '../contract/errors.js';
import { LIMITS } from '../contract/limits.js';
import { OPERATORS, type QuerySpec, type Term } from '../model/query.js';
import {
  Example,
  IsCursor,
  IsDescription,
  IsPageSize,
  IsScalar,
  IsShape,
  IsShapes,
  IsTags,
  IsText,
  Means,
  Optional,
} from './shape.js';

/** The query parameters of a list of resources, as text. */
export class ResourceListDto {
  @Optional() @IsPageSize() limit?: string;
  @Optional() @IsCursor() cursor?: string;
}

/** What every resource may be described by. */
export class DescribedDto {
  @Optional() @IsDescription() description?: string;
  @Optional() @IsTags() tags?: Record<string, string>;
}

@Means(
  'Compares exactly one of a property (by its path, such as `spec.dnsMode` or `spec.ports.0.number`), a tag and a relation; with `=` unless told otherwise. Texts compare exactly and are ordered by code point, numbers and times by value; `~` is "contains", in any case. What is missing matches `!=` and `!exists` only; what is an object or a list, `!=` and `exists` only. Relations take `=` and `!=`: of users `group`, of groups `member`, each by name, e-mail address, id or link.',
)
export class TermDto {
  @Optional() @Means('How to compare; `=` if left out.', '=') @IsIn(OPERATORS) op?: (typeof OPERATORS)[number];
  @Optional()
  @Means('Path of the property to compare.', 'spec.dnsMode')
  @IsText({ min: 1, max: 256 })
  property?: string;
  @Optional() @Means('Name of the tag to compare.', 'team') @IsText({ min: 1, max: LIMITS.tagName }) tag?: string;
  @Optional()
  @Means('Relation to compare: `group` of users, `member` of groups.', 'member')
  @IsText({ min: 1, max: 64 })
  rel?: string;
  @Optional() @Means('What to compare with; not for `exists` and `!exists`.', 'payments') @IsScalar() value?:
    | string
    | number
    | boolean;
}

@Means('By a property; those without it come last, equals by name. Without it: by name.')
export class SortDto {
  @Means('Path of the property to sort by.', 'created') @IsText({ min: 1, max: 256 }) by!: string;
  @Optional() @Means('`asc` if left out.', 'desc') @IsIn(['asc', 'desc']) order?: 'asc' | 'desc';
}

export class QuerySpecDto {
  @Optional()
  @Means('How many of the terms must match; `all` if left out.', 'all')
  @IsIn(['all', 'any', 'none'])
  match?: 'all' | 'any' | 'none';
  @Optional()
  @Means('What to compare; without terms, everything matches `all`.')
  @IsShapes(() => TermDto, { max: LIMITS.queryTerms })
  terms?: TermDto[];
  @Optional() @Means('How to sort; by name if left out.') @IsShape(() => SortDto) sort?: SortDto;
}

@Example(
  {
    spec: {
      match: 'all',
      terms: [{ tag: 'team', op: '=', value: 'payments' }],
      sort: { by: 'created', order: 'desc' },
    },
  },
  'What to find. The answer to an earlier query may be sent back as it is.',
)
export class QueryDto {
  @Optional() @Means('The kind that the path names.', 'user') @IsText({ max: 64 }) kind?: string;
  @Optional()
  @Means('Whether to return resources or only their links; `items` if left out.', 'items')
  @IsIn(['items', 'links'])
  fetch?: 'items' | 'links';
  @Optional()
  @Means('What to find, and in which order; everything by name if left out.')
  @IsShape(() => QuerySpecDto)
  spec?: QuerySpecDto;
  @Optional() @Means('Ignored.') @IsArray() links?: unknown[];
}

/**
 * What the shape of a query cannot say: a term compares one thing, and with a value where its operator needs one.
 * `propertyFault`: why the resources never have a property.
 */
export function specFaults(
  { terms = [], sort }: QuerySpec,
  kind: string,
  pointer: string,
  propertyFault: (path: string) => string | undefined,
): FieldFault[] {
  const faults = terms.flatMap((term, index) => termFaults(term, kind, `${pointer}/terms/${index}`));
  const paths = terms.map(({ property }, index) => ({ path: property, at: `terms/${index}/property` }));
  for (const { path, at } of [...paths, { path: sort?.by, at: 'sort/by' }]) {
    const reason = path === undefined ? undefined : propertyFault(path);
    if (reason !== undefined) faults.push({ pointer: `${pointer}/${at}`, reason });
  }
  return faults;
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
