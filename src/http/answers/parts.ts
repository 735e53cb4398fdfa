import { LIMITS } from '../../contract/limits.js';
import { ref } from './documented.js';

type Schema = Record<string, unknown>;

/*
 * The parts that schemas of answers are made of. Each takes the description of the member that it is the schema of.
 */

const typed = (schema: Schema) => (description: string, example?: unknown) => ({
  description,
  ...schema,
  ...(example !== undefined && { examples: [example] }),
});

export const text = typed({ type: 'string' });
export const flag = typed({ type: 'boolean' });
export const time = typed({ type: 'string', format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] });
export const day = typed({ type: 'string', format: 'date', examples: ['2026-01-31'] });
export const uuid = typed({ type: 'string', format: 'uuid', examples: ['01890a5d-ac96-774b-bcce-b302099a8057'] });
export const count = typed({ type: 'integer', minimum: 0 });
export const texts = typed({ type: 'object', additionalProperties: { type: 'string' } });
export const anything = typed({ type: 'object', additionalProperties: true });
export const version = typed({ type: 'integer', minimum: 1, examples: [3] });
export const link = typed({ type: 'string', examples: ['/org/acme/serviceaccount/ci'] });
export const emailText = typed({
  type: 'string',
  format: 'email',
  maxLength: LIMITS.email,
  examples: ['ann@example.com'],
});

export const refTo = (schema: string, description: string) => ({ ...ref(schema), description });
export const array = (items: object, description: string) => ({ type: 'array', description, items });
export const linksOf = (description: string) => array({ type: 'string' }, description);

/** One of these words, and of no others. */
export const oneOf = (words: readonly unknown[], description: string) => ({ description, enum: [...words] });

/** One of these words, or of those that a later version adds: a client takes every text. */
export const word = (words: readonly string[], description: string) => ({
  description,
  type: 'string',
  'x-extensible-enum': [...words],
});

export const kind = (name: string) => ({ kind: { description: 'What this is.', const: name } });
export const links = { links: array(ref('Link'), 'Where to go from here.') };

export const origin = oneOf(
  ['default', 'builtin'],
  '`builtin`: made with the organization, and needed by it; `default`: made by a request.',
);

/** An object of these members and no others. */
export function object(properties: Record<string, object>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

/** When a resource was made and last changed, and where it is. */
export const changed = {
  version: version('Number of the version, from 1.'),
  created: time('When it was made.'),
  lastModified: time('When it was last changed.'),
  ...links,
};

export const resource = {
  id: uuid('Identifier; it never changes.'),
  name: text('Name.', 'devs'),
  description: text('What it is for, in words.', 'Deploys to production'),
  tags: texts('Labels: a text by its name.', { team: 'payments' }),
  ...changed,
};

/** Of a resource that was read, in the body of a change: repeated, or as what the change rests on. */
export const readBefore = {
  id: text('As it was read: refused if different.'),
  version: { description: 'As it was read: refused with 412 if there is a newer one.', type: 'integer' },
  created: text('As it was read: refused if different.'),
  lastModified: text('Ignored.'),
  links: array({}, 'Ignored.'),
};

/** The envelope of a list. */
export function list(itemKind: string, items: object): Schema {
  return object({
    ...kind('list'),
    itemKind: { description: 'What the items are.', const: itemKind },
    items: { description: 'The items.', ...items },
    ...links,
  });
}
