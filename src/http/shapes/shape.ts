import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { isDuration, isPlatformLink } from '../../model/domain-spec.js';
import { parseInstant } from '../../model/instant.js';
import { characters } from '../json/characters.js';

/**
 * The decorators that shapes are made of. Each says its rule twice, as a check for class-validator and as JSON Schema
 * for the compiled validator, side by side so that they stay the same; a property test holds them to it.
 */
interface Rule {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly check: (value: unknown) => boolean;
}

/** Names of all rules in use: their JSON Schema is what stands here, and nothing is to be derived from their types. */
export const ruleNames = new Set<string>();

export function rule({ name, schema, check }: Rule): PropertyDecorator {
  ruleNames.add(name);
  const validator = { validate: check, defaultMessage: () => name };
  return applyDecorators(ValidateBy({ name, validator }), JSONSchema(schema));
}

/** Absent is fine; `null` is not absent. */
export const Optional = (): PropertyDecorator => ValidateIf((_object, value) => value !== undefined);

/** Formats that the compiled validator knows beside JSON Schema's own. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  'no-control-characters': hasNoControlCharacters,
  trimmed: (text) => text.trim() === text,
  line: (text) => text.trim() === text && hasNoControlCharacters(text),
  email: isEmail,
  instant: (text) => parseInstant(text) !== undefined,
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

export function IsText({ min = 0, max = Number.POSITIVE_INFINITY, pattern, format }: TextRule = {}): PropertyDecorator {
  const regex = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const known = format === undefined ? undefined : FORMATS[format];
  return rule({
    name: 'isText',
    schema: {
      type: 'string',
      ...(min > 0 && { minLength: min }),
      ...(Number.isFinite(max) && { maxLength: max }),
      ...(pattern !== undefined && { pattern }),
      ...(format !== undefined && { format }),
    },
    check: (value) => {
      if (typeof value !== 'string') return false;
      const length = characters(value);
      return length >= min && length <= max && (regex?.test(value) ?? true) && (known?.(value) ?? true);
    },
  });
}

/** ISO 8601 to the millisecond; see `model/instant.ts`. */
export const IsInstant = (): PropertyDecorator => IsText({ format: 'instant' });

export interface WholeRule {
  readonly min: number;
  readonly max: number;
  readonly orNull?: boolean;
}

/** A whole number. */
export const IsWhole = ({ min, max, orNull = false }: WholeRule): PropertyDecorator =>
  rule({
    name: 'isWhole',
    schema: { type: orNull ? ['integer', 'null'] : 'integer', minimum: min, maximum: max },
    check: (value) => (orNull && value === null) || (Number.isInteger(value) && inRange(value as number, min, max)),
  });

function inRange(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

/** One of these words. */
export const IsOneOf = (words: readonly string[]): PropertyDecorator =>
  rule({ name: 'isOneOf', schema: { enum: [...words] }, check: (value) => words.includes(value as string) });

/** A string, a number or a boolean. */
export const IsScalar = (): PropertyDecorator =>
  rule({
    name: 'isScalar',
    schema: { type: ['string', 'number', 'boolean'], maxLength: 1024 },
    check: (value) =>
      typeof value === 'number' ||
      typeof value === 'boolean' ||
      (typeof value === 'string' && characters(value) <= 1024),
  });

export const IsFlag = (): PropertyDecorator =>
  rule({ name: 'isFlag', schema: { type: 'boolean' }, check: (value) => typeof value === 'boolean' });

export interface TextsRule {
  readonly min?: number;
  readonly max: number;
  /** Of each text. */
  readonly maxLength: number;
  readonly format?: string;
}

/** An array of texts. */
export function IsTexts({ min = 0, max, maxLength, format }: TextsRule): PropertyDecorator {
  const known = format === undefined ? undefined : FORMATS[format];
  return rule({
    name: 'isTexts',
    schema: {
      type: 'array',
      ...(min > 0 && { minItems: min }),
      maxItems: max,
      items: { type: 'string', maxLength, ...(format !== undefined && { format }) },
    },
    check: (value) =>
      Array.isArray(value) &&
      value.length >= min &&
      value.length <= max &&
      value.every((text) => typeof text === 'string' && characters(text) <= maxLength && (known?.(text) ?? true)),
  });
}

/** An array of objects of another shape. */
export function IsShapes(shape: () => new () => object, { max }: { max: number }): PropertyDecorator {
  return applyDecorators(
    ValidateNested({ each: true }),
    Type(shape),
    rule({
      name: 'isShapes',
      schema: { type: 'array', maxItems: max },
      check: (value) => Array.isArray(value) && value.length <= max && value.every(isObject),
    }),
  );
}

/** An array that the service does not look into. */
export const IsJsonArray = (): PropertyDecorator =>
  rule({ name: 'isJsonArray', schema: { type: 'array', items: {} }, check: (value) => Array.isArray(value) });

/** A JSON object whose members are the client's own affair. */
export const IsJsonObject = (): PropertyDecorator =>
  rule({ name: 'isJsonObject', schema: { type: 'object' }, check: isObject });

/** An object of another shape. */
export function IsShape(shape: () => new () => object): PropertyDecorator {
  return applyDecorators(ValidateNested(), Type(shape), rule({ name: 'isShape', schema: {}, check: isObject }));
}

/** Resource tags: at most 50, keys 1 to 128, values at most 1024 characters; `svc/` belongs to the service. */
export function IsTags(): PropertyDecorator {
  return rule({
    name: 'isTags',
    schema: {
      type: 'object',
      maxProperties: 50,
      propertyNames: { minLength: 1, maxLength: 128 },
      additionalProperties: { type: 'string', maxLength: 1024 },
    },
    check: (value) =>
      isObject(value) &&
      Object.keys(value).length <= 50 &&
      Object.entries(value).every(
        ([key, tag]) => key !== '' && characters(key) <= 128 && typeof tag === 'string' && characters(tag) <= 1024,
      ),
  });
}

/** A rule about a whole object, on the property that holds it; stands above `IsShape`. */
export function IsObjectThat(
  name: string,
  schema: Rule['schema'],
  check: (value: Record<string, unknown>) => boolean,
): PropertyDecorator {
  return rule({ name, schema, check: (value) => !isObject(value) || check(value) });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * What every mail server could take: one `@` with something on either side of it, and nothing that is invisible, or that
 * means something else where addresses stand in lists.
 */
function isEmail(text: string): boolean {
  return /^[^@\p{C}\p{Z}<>()[\]\\,;:"]+@[^@\p{C}\p{Z}<>()[\]\\,;:"]+$/u.test(text);
}

/** Unicode category Cc: C0, DEL and C1. */
function hasNoControlCharacters(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  }
  return true;
}
