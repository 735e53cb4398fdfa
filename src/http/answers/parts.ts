import { LIMITS } from '../../contract/limits.js';
import { ref } from './documented.js';

export const text = { type: 'string' };
export const time = { type: 'string', format: 'date-time' };
export const day = { type: 'string', format: 'date' };
export const uuid = { type: 'string', format: 'uuid' };
export const count = { type: 'integer', minimum: 0 };
export const array = (items: object) => ({ type: 'array', items });
export const emailText = { type: 'string', format: 'email', maxLength: LIMITS.email };
export const origin = { enum: ['default', 'builtin'] };
export const map = { type: 'object', additionalProperties: text };

/** An object of these members and no others. */
export function object(properties: Record<string, object>, optional: readonly string[] = []): Record<string, unknown> {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

export const resource = {
  id: uuid,
  name: text,
  description: text,
  tags: map,
  version: { type: 'integer', minimum: 1 },
  created: time,
  lastModified: time,
  links: array(ref('Link')),
};

/** Of a resource that was read, in the body of a change: repeated, or as what the change rests on. */
export const readBefore = {
  id: text,
  version: { type: 'integer' },
  created: text,
  lastModified: text,
  links: array({}),
};

/** The envelope of a list, of resources or of their links. */
export function list(itemKind: string, itemSchema: string): Record<string, unknown> {
  const items = { anyOf: [array(ref(itemSchema)), array(text)] };
  return object({ kind: { const: 'list' }, itemKind: { const: itemKind }, items, links: array(ref('Link')) });
}
