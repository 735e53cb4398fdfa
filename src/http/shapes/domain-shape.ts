import { CIPHERS } from '../../model/domain-spec.js';
import { characters } from '../json/characters.js';
import { rule } from './shape.js';

const NAME_LENGTH = 128;
const VALUE_LENGTH = 1024;

/** A map of texts. */
export const IsTextMap = ({ max }: { max: number }): PropertyDecorator =>
  rule({
    name: 'isTextMap',
    schema: {
      type: 'object',
      maxProperties: max,
      propertyNames: { minLength: 1, maxLength: NAME_LENGTH },
      additionalProperties: { type: 'string', maxLength: VALUE_LENGTH },
    },
    check: (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.keys(value).length <= max &&
      Object.entries(value).every(
        ([name, text]) =>
          name !== '' &&
          characters(name) <= NAME_LENGTH &&
          typeof text === 'string' &&
          characters(text) <= VALUE_LENGTH,
      ),
  });

const MOST_SUITES = 32;

const isCipher = (value: unknown): boolean => CIPHERS.some((name) => name === value);

/** Names of cipher suites, or arrays of such names: both shapes are in use. */
export const IsCipherSuites = (): PropertyDecorator => {
  const name = { enum: [...CIPHERS] };
  return rule({
    name: 'isCipherSuites',
    schema: {
      type: 'array',
      minItems: 1,
      maxItems: MOST_SUITES,
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema; nothing awaits it.
      items: { if: { type: 'array' }, then: { minItems: 1, maxItems: MOST_SUITES, items: name }, else: name },
    },
    check: (value) =>
      isArray(value) &&
      value.every((element) =>
        Array.isArray(element) ? isArray(element) && element.every(isCipher) : isCipher(element),
      ),
  });
};

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length >= 1 && value.length <= MOST_SUITES;
}
