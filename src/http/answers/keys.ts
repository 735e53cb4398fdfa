import { TARGET_KINDS } from '../../model/permission.js';
import {
  array,
  count,
  day,
  emailText,
  kind,
  link,
  links,
  linksOf,
  list,
  object,
  refTo,
  text,
  time,
  uuid,
  word,
} from './parts.js';

const issued = {
  id: uuid('Identifier of the key; it is no secret.'),
  description: text('What the key is for, or where it is kept.', 'laptop'),
  created: time('When it was issued.'),
  expires: time('When it stops working.'),
};

/** A key, without its secret. */
const shownKey = () =>
  object({ ...issued, lastUsed: day('The last day on which it was used.') }, ['expires', 'lastUsed']);

const secret = text('The key itself, shown this once.', 'svc_0a1b2c');

/** Schemas of keys and of `whoami`. */
export function keySchemas(): Record<string, Record<string, unknown>> {
  const principal = object(
    {
      kind: word(['user', 'serviceaccount', 'root'], 'What the caller is.'),
      name: text('Name of the caller.', 'ci'),
      email: emailText('E-mail address, of a user.'),
      link: link('Link of the caller; the root key has none.'),
    },
    ['email', 'link'],
  );
  const held = {
    oneOf: [
      { type: 'string', const: 'all', description: 'On all resources of the kind.' },
      object({
        total: count('How many resources it is held on.'),
        links: linksOf('Some of them.'),
      }),
    ],
  };
  const permissions = {
    description: 'What the caller may do: by kind and permission, on which resources.',
    type: 'object',
    propertyNames: { enum: TARGET_KINDS },
    additionalProperties: { type: 'object', additionalProperties: held },
  };
  return {
    ShownKey: shownKey(),
    IssuedKey: object({ ...kind('key'), ...issued, ...links, key: secret }, ['expires']),
    KeyList: list('key', array({ $ref: '#/components/schemas/ShownKey' }, 'The keys, the oldest first.')),
    WhoAmI: object(
      {
        ...kind('whoami'),
        principal: { ...principal, description: 'The caller.' },
        org: text('Name of the organization of the key; the root key has none.', 'acme'),
        key: refTo('ShownKey', 'The key of the request.'),
        permissions,
      },
      ['org', 'key', 'permissions'],
    ),
  };
}
