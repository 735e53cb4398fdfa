import { Ajv, type ErrorObject, type KeywordDefinition, type ValidateFunction } from 'ajv';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { validationMetadatasToSchemas } from 'class-validator-jsonschema';
import { type FieldFault } from '../contract/errors.js';
import { LIMITS } from '../contract/limits.js';
import { escapePointer } from '../platform/text.js';
import type { VerbatimShape } from '../platform/verbatim-json.js';
import { CONVERTERS, FORMATS, isTextOf, type ParameterType } from './shape.js';

/**
 * Compiles a shape, when the first value comes, into a function that returns all faults of a value: none if the value has
 * the shape. It follows the same rules as class-validator on the same class, at a fraction of the cost. All members are
 * named; others are refused.
 */
export function compileShape(shape: new () => object): (value: unknown) => FieldFault[] {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= compile(shape);
    return validate(value) ? [] : faultsOf(validate.errors ?? []);
  };
}

/** The JSON Schemas of all shapes loaded so far, by class name. */
export function shapeSchemas(refPointerPrefix: string): Record<string, Record<string, unknown>> {
  const schemas = validationMetadatasToSchemas({
    classTransformerMetadataStorage: defaultMetadataStorage,
    refPointerPrefix,
    additionalConverters: CONVERTERS,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { ...schema, additionalProperties: false }]),
  );
}

/** What of a shape's values must be read to check them. Throws for a shape that is not of texts and objects. */
export function verbatimShape(shape: new () => object): VerbatimShape {
  const schemas = shapeSchemas('') as Readonly<
    Record<string, { readonly properties: Readonly<Record<string, Property>> }>
  >;
  const typeOf = ({ $ref, type }: Property): VerbatimShape[string] => {
    if ($ref !== undefined) return membersOf($ref);
    if (type === 'string') return 'text';
    if (type === 'object') return 'free';
    throw new Error(`a member of ${shape.name} is no text and no object`);
  };
  const membersOf = (name: string): VerbatimShape =>
    Object.fromEntries(
      Object.entries(schemas[name]?.properties ?? {}).map(([member, property]) => [member, typeOf(property)]),
    );
  return membersOf(shape.name);
}

interface Property {
  readonly $ref?: string;
  readonly type?: string;
}

function compile(shape: new () => object): ValidateFunction {
  // The schemas are the program's own: to check them against the schema of schemas costs more than to compile them.
  const own = { meta: false, validateSchema: false };
  const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false, strictTypes: false, ...own });
  for (const [name, format] of Object.entries(FORMATS)) ajv.addFormat(name, format);
  ajv.addKeyword(TEXT_OF);
  return ajv.compile({ definitions: shapeSchemas('#/definitions/'), $ref: `#/definitions/${shape.name}` });
}

/** The text is that of a value of the type, which the fault names. */
const TEXT_OF: KeywordDefinition = {
  keyword: 'textOf',
  type: 'string',
  compile(type: ParameterType) {
    const check: TextCheck = (text) => {
      check.errors = [{ keyword: 'textOf', params: type }];
      return isTextOf(text, type);
    };
    return check;
  },
};

interface TextCheck {
  (text: string): boolean;
  errors?: Partial<ErrorObject>[];
}

function faultsOf(errors: readonly ErrorObject[]): FieldFault[] {
  const faults = new Map<string, FieldFault>();
  for (const error of errors.slice(0, LIMITS.faults)) {
    const fault = faultOf(error);
    if (fault) faults.set(`${fault.pointer} ${fault.reason}`, fault);
  }
  return [...faults.values()];
}

/** Words a fault so that it names the remedy; undefined if another fault explains it better. */
function faultOf({ instancePath: pointer, keyword, params, schemaPath }: ErrorObject): FieldFault | undefined {
  if (schemaPath.includes('/anyOf/') || schemaPath.includes('/oneOf/')) return undefined;
  switch (keyword) {
    case 'additionalProperties':
      return {
        pointer: `${pointer}/${escapePointer(params.additionalProperty)}`,
        reason: 'is not a known field; remove it',
      };
    case 'required':
      return { pointer: `${pointer}/${escapePointer(params.missingProperty)}`, reason: 'is required' };
    case 'type':
      return { pointer, reason: `must be ${typeReason(params.type)}` };
    case 'enum':
      return { pointer, reason: `must be one of ${params.allowedValues.join(', ')}` };
    case 'maxItems':
      return { pointer, reason: `may have at most ${params.limit} elements` };
    case 'minItems':
      return { pointer, reason: `must have at least ${params.limit} elements` };
    case 'minimum':
      return { pointer, reason: `must be at least ${params.limit}` };
    case 'maximum':
      return { pointer, reason: `must be at most ${params.limit}` };
    case 'maxLength':
      return { pointer, reason: `may have at most ${params.limit} characters` };
    case 'minLength':
      return { pointer, reason: `must have at least ${params.limit} characters` };
    case 'pattern':
      return { pointer, reason: `must match ${params.pattern}` };
    case 'maxProperties':
      return { pointer, reason: `may have at most ${params.limit} members` };
    case 'textOf':
      return {
        pointer,
        reason:
          params.type === 'boolean'
            ? 'must be true or false'
            : `must be a whole number from ${params.minimum} to ${params.maximum}`,
      };
    case 'propertyNames':
      return {
        pointer,
        reason: `the name ${JSON.stringify(params.propertyName)} must have 1 to ${LIMITS.tagName} characters`,
      };
    // The faults of the chosen branch are reported instead.
    case 'if':
      return undefined;
    case 'anyOf':
      return { pointer, reason: 'requires an id or a name that is not empty' };
    case 'oneOf':
      return {
        pointer,
        reason: 'must be a JSON pointer such as /user/name, {"value": "a text"}, or an array of 1 to 10 of these',
      };
    case 'format':
      return { pointer, reason: FORMAT_REASONS[params.format] ?? `must be a ${params.format}` };
    default:
      return { pointer, reason: `does not follow the rule "${keyword}"` };
  }
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'an array',
  integer: 'a whole number',
  null: 'null',
};

function typeReason(types: string | readonly string[]): string {
  return [types]
    .flat()
    .map((type) => TYPES[type] ?? `a ${type}`)
    .join(' or ');
}

const FORMAT_REASONS: Readonly<Record<string, string>> = {
  instant:
    'must be an ISO 8601 instant with Z or an offset, such as 2026-01-31T12:00:00.000Z, in the years 0001 to 9999; if it has no offset, add one, such as Z for UTC',
  trimmed: 'must not begin or end with white space',
  line: 'must not begin or end with white space, or contain control characters',
  email: 'must be an e-mail address such as someone@example.com',
  'no-control-characters': 'must not contain control characters',
  'platform-link': 'must be a link: /org/{org}/... or //..., of path segments as in a URL',
  'go-duration': 'must be a duration such as 24h, 1h30m or 90s (units h, m, s, ms, us, ns), not negative',
  'http-token': 'must be an HTTP header name (letters, digits, hyphens) or *',
};
