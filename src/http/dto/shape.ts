import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { parseInstant } from '../../model/instant.js';
import { characters } from '../characters.js';

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

function rule({ name, schema, check }: Rule): PropertyDecorator {
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
  instant: (text) => parseInstant(text) !== undefined,
};

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

/** `true` or `false`. */
export const IsFlag = (): PropertyDecorator =>
  rule({ name: 'isFlag', schema: { type: 'boolean' }, check: (value) => typeof value === 'boolean' });

/** An array of texts. */
export const IsTexts = ({ min, max }: { readonly min: number; readonly max: number }): PropertyDecorator =>
  rule({
    name: 'isTexts',
    schema: { type: 'array', items: { type: 'string' }, minItems: min, maxItems: max },
    check: (value) =>
      Array.isArray(value) && inRange(value.length, min, max) && value.every((text) => typeof text === 'string'),
  });

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

/** Unicode category Cc: C0, DEL and C1. */
function hasNoControlCharacters(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  }
  return true;
}
