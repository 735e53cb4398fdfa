import { applyDecorators } from '@nestjs/common';
import { Ajv, type ValidateFunction } from 'ajv';
import { Type } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsObject,
  IsString,
  Matches,
  MaxLength,
  MinLength,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  type ValidationOptions,
} from 'class-validator';
import { JSONSchema, type validationMetadatasToSchemas } from 'class-validator-jsonschema';
import { isWholeNumber, LIMITS } from '../contract/limits.js';
import { isDuration, isPlatformLink } from '../model/domain-spec.js';
import { readInstant } from '../model/instant.js';
import { NAME_PATTERN } from '../model/resource.js';

/*
 * The decorators that shapes are made of, beside those that they take from class-validator as they are. `compiled.ts` turns
 * them into JSON Schema, which is what runs; a property test compares it with class-validator's own verdict.
 */

type Schema = Readonly<Record<string, unknown>>;
type Converters = NonNullable<NonNullable<Parameters<typeof validationMetadatasToSchemas>[0]>['additionalConverters']>;

type Documenting = ReturnType<typeof JSONSchema>;

/** Documents a member for the OpenAPI document, in place of what a decorator below says of it. */
export const Means = (description: string, example?: unknown): Documenting =>
  JSONSchema({ description, ...(example !== undefined && { examples: [example] }) });

/** Documents a body by an example. */
export const Example = (example: object, description?: string): Documenting =>
  JSONSchema({ examples: [example], ...(description !== undefined && { description }) });

/** Absent is fine; `null` is not absent. */
export const Optional = (): PropertyDecorator => ValidateIf((_object, value) => value !== undefined);

/** Formats that the compiled validator knows beside JSON Schema's own. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  'no-control-characters': hasNoControlCharacters,
  trimmed: (text) => text.trim() === text,
  line: (text) => text.trim() === text && hasNoControlCharacters(text),
  email: isEmail,
  instant: (text) => readInstant(text) !== undefined,
  'platform-link': isPlatformLink,
  'go-duration': isDuration,
  'http-token': (text) => TOKEN.test(text),
};

/** RFC 9110, section 5.6.2: names of methods and headers; `*` is one. */
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

export interface TextRule {
  /** In characters (code points). */
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export function IsText({ min = 0, max, pattern, format }: TextRule = {}): PropertyDecorator {
  return applyDecorators(
    IsString(),
    ...(min > 0 ? [MinLength(min)] : []),
    ...(max === undefined ? [] : [MaxLength(max)]),
    ...(pattern === undefined ? [] : [Matches(pattern, 'u')]),
    ...(format === undefined ? [] : [HasFormat(format)]),
  );
}

/** The type of a query parameter, which comes as text and stays text. */
export type ParameterType =
  | { readonly type: 'boolean' }
  | { readonly type: 'integer'; readonly minimum: number; readonly maximum: number };

export function isTextOf(text: string, type: ParameterType): boolean {
  return type.type === 'boolean' ? /^(true|false)$/i.test(text) : isWholeNumber(text, type.minimum, type.maximum);
}

function IsTextOf(type: ParameterType): PropertyDecorator {
  const validate = (value: unknown) => typeof value === 'string' && isTextOf(value, type);
  return ValidateBy({ name: 'textOf', constraints: [type], validator: { validate } });
}

/** A query parameter that is `true` or `false`, in any case: Python writes `True`. */
export const IsFlag = (): PropertyDecorator => IsTextOf({ type: 'boolean' });

export const isTrue = (flag: string | undefined): boolean => flag?.toLowerCase() === 'true';

/** A query parameter that is a whole number. */
export const IsWholeNumber = (minimum: number, maximum: number): PropertyDecorator =>
  IsTextOf({ type: 'integer', minimum, maximum });

/** A query parameter: the number of items in a page. */
export const IsPageSize = (): PropertyDecorator =>
  applyDecorators(
    IsWholeNumber(1, LIMITS.page.most),
    Means(`How many items a page has at most; ${LIMITS.page.usual} if left out.`, 100),
  );

/** A query parameter: the number of a page. */
export const IsPage = (): PropertyDecorator =>
  applyDecorators(IsWholeNumber(1, 999_999_999), Means('Number of the page, from 1; not with a `cursor`.', 1));

/** Of a group, a service account, a policy or an organization. */
export const IsName = (): PropertyDecorator =>
  applyDecorators(
    IsText({ ...LIMITS.name, pattern: NAME_PATTERN }),
    Means('Name, unique among resources of this kind in the organization.', 'devs'),
  );

/** Of people. */
export const IsFullName = (): PropertyDecorator =>
  applyDecorators(
    IsText({ min: 1, max: LIMITS.fullName, format: 'line' }),
    Means('Full name of the person.', 'Ann Example'),
  );

export const IsDescription = (): PropertyDecorator =>
  applyDecorators(
    IsText({ max: LIMITS.description, format: 'trimmed' }),
    Means('What it is for, in words; the name if left out.', 'Deploys to production'),
  );

export const IsCursor = (): PropertyDecorator =>
  applyDecorators(
    IsText({ min: 1, max: LIMITS.cursor }),
    Means('Where to continue: the `cursor` in a link of an earlier answer, unchanged. Opaque.'),
  );

/** ISO 8601; finer digits than milliseconds are allowed, see `model/instant.ts`. */
export const IsInstant = (): PropertyDecorator => IsText({ format: 'instant' });

export interface TextsRule {
  readonly min?: number;
  readonly max: number;
  /** Of each text. */
  readonly maxLength: number;
  readonly format?: string;
}

/** An array of texts. */
export function IsTexts({ min = 0, max, maxLength, format }: TextsRule): PropertyDecorator {
  const each = { each: true };
  return applyDecorators(
    IsArray(),
    ...(min > 0 ? [ArrayMinSize(min)] : []),
    ArrayMaxSize(max),
    IsString(each),
    MaxLength(maxLength, each),
    ...(format === undefined ? [] : [HasFormat(format, each)]),
  );
}

/** An object of another shape. */
export const IsShape = (shape: () => new () => object): PropertyDecorator =>
  applyDecorators(Type(shape), ValidateNested(), IsObject());

/** An array of objects of another shape. */
export function IsShapes(shape: () => new () => object, { max }: { max: number }): PropertyDecorator {
  const each = { each: true };
  return applyDecorators(Type(shape), ValidateNested(each), IsObject(each), IsArray(), ArrayMaxSize(max));
}

/** An object of texts, each under a name of its own. */
export const IsTextMap = ({ max }: { max: number }): PropertyDecorator =>
  Satisfies({
    type: 'object',
    maxProperties: max,
    propertyNames: { minLength: 1, maxLength: LIMITS.tagName },
    additionalProperties: { type: 'string', maxLength: LIMITS.text },
  });

/** Resource tags; `svc/` belongs to the service. */
export const IsTags = (): PropertyDecorator =>
  applyDecorators(
    IsTextMap({ max: LIMITS.tags }),
    Means('Labels: a text by its name. Names that begin with `svc/` belong to the service.', { team: 'payments' }),
  );

/** A string, a number or a boolean. */
export const IsScalar = (): PropertyDecorator =>
  Satisfies({ type: ['string', 'number', 'boolean'], maxLength: LIMITS.text });

/** JSON Schema for what class-validator has no decorator for; it asks the same schema. */
export function Satisfies(schema: Schema): PropertyDecorator {
  let compiled: ValidateFunction | undefined;
  const validate = (value: unknown) => {
    compiled ??= new Ajv({ strictTypes: false }).compile(schema);
    return compiled(value);
  };
  return ValidateBy({ name: 'satisfies', constraints: [schema], validator: { validate } });
}

/** One of `FORMATS`, of a text. */
function HasFormat(name: string, options?: ValidationOptions): PropertyDecorator {
  const validate = (value: unknown) => typeof value !== 'string' || FORMATS[name]?.(value) === true;
  return ValidateBy({ name: 'hasFormat', constraints: [name], validator: { validate } }, options);
}

/**
 * JSON Schema of the decorators above, and of those of class-validator that would state a type a second time: another type
 * then got two faults.
 */
export const CONVERTERS: Converters = {
  satisfies: ({ constraints: [schema] }) => schema,
  hasFormat: ({ constraints: [format] }) => ({ format }),
  textOf: ({ constraints: [type] }) => ({ type: 'string', textOf: type }),
  matches: ({ constraints: [pattern] }) => ({ pattern }),
  isIn: ({ constraints: [words] }) => ({ enum: words }),
  min: ({ constraints: [minimum] }) => ({ minimum }),
  max: ({ constraints: [maximum] }) => ({ maximum }),
  // The schema of another shape says that it is an object.
  isObject: ({ target, propertyName }) =>
    defaultMetadataStorage.findTypeMetadata(target as () => void, propertyName)
      ? {}
      : { type: 'object', additionalProperties: true },
};

/**
 * What every mail server could take: one `@` with something on either side of it, and nothing that is invisible, or that
 * means something else where addresses stand in lists.
 */
function isEmail(text: string): boolean {
  return /^[^@\p{C}\p{Z}<>()[\]\\,;:"]+@[^@\p{C}\p{Z}<>()[\]\\,;:"]+$/u.test(text);
}

/** Unicode category Cc: C0, DEL and C1. */
export function hasNoControlCharacters(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  }
  return true;
}
