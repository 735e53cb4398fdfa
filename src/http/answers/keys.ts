import { TARGET_KINDS } from '../../model/permission.js';
import { ref } from './documented.js';
import { array, count, day, object, text, time, uuid } from './parts.js';

const issued = { id: uuid, description: text, created: time, expires: time };

/** A key, without its secret. */
export const shownKey = () => object({ ...issued, lastUsed: day }, ['expires', 'lastUsed']);

/** Schemas of keys and of `whoami`. */
export function keySchemas(): Record<string, Record<string, unknown>> {
  const caller = object({ kind: { enum: ['user', 'serviceaccount', 'root'] }, name: text, email: text, link: text }, [
    'email',
    'link',
  ]);
  const held = { oneOf: [{ const: 'all' }, object({ total: count, links: array(text) })] };
  const permissions = {
    type: 'object',
    propertyNames: { enum: TARGET_KINDS },
    additionalProperties: { type: 'object', additionalProperties: held },
  };
  return {
    IssuedKey: object({ kind: { const: 'key' }, ...issued, links: array(ref('Link')), key: text }, ['expires']),
    KeyList: object({
      kind: { const: 'list' },
      itemKind: { const: 'key' },
      items: array(shownKey()),
      links: array(ref('Link')),
    }),
    WhoAmI: object({ kind: { const: 'whoami' }, principal: caller, org: text, key: shownKey(), permissions }, [
      'org',
      'key',
      'permissions',
    ]),
  };
}
