import { LIMITS } from '../../contract/limits.js';
import { ref } from './documented.js';
import { shownKey } from './keys.js';
import { array, list, object, patchedMap, patchedText, readBefore, resource, text, time, uuid } from './parts.js';

const emailText = { type: 'string', format: 'email', maxLength: LIMITS.email };

/** Users, invitations and service accounts. */
export function principalSchemas(): Record<string, Record<string, unknown>> {
  const { name, description, tags } = resource;
  const user = { kind: { const: 'user' }, ...resource, email: emailText, idp: text };
  const userRead = { ...readBefore, kind: { const: 'user' }, email: text, idp: text };
  const account = { kind: { const: 'serviceaccount' }, ...resource, origin: { enum: ['default', 'builtin'] } };
  const accountRead = { ...readBefore, kind: { const: 'serviceaccount' }, name, origin: text, keys: array({}) };
  return {
    User: object(user),
    UserList: list('user', 'User'),
    UserPatch: object({ ...userRead, name, description: patchedText, tags: patchedMap }, [
      ...Object.keys(userRead),
      'name',
      'description',
      'tags',
    ]),
    UserReplacement: object({ ...userRead, name, description, tags }, [
      ...Object.keys(userRead),
      'description',
      'tags',
    ]),
    NewUser: object({ ...user, key: text }),
    Invited: object({
      invitations: { type: 'object', propertyNames: emailText, additionalProperties: text },
      errors: { type: 'object', propertyNames: emailText, additionalProperties: ref('Error') },
    }),
    Invitation: object(
      {
        kind: { const: 'invitation' },
        id: uuid,
        email: emailText,
        group: text,
        expires: time,
        version: resource.version,
        created: time,
        lastModified: time,
        links: array(ref('Link')),
      },
      ['group'],
    ),
    InvitationList: list('invitation', 'Invitation'),
    ServiceAccount: object({ ...account, keys: array(shownKey()) }),
    ServiceAccountList: list('serviceaccount', 'ServiceAccount'),
    ServiceAccountPatch: object({ ...accountRead, description: patchedText, tags: patchedMap }, [
      ...Object.keys(accountRead),
      'description',
      'tags',
    ]),
    ServiceAccountReplacement: object({ ...accountRead, description, tags }, [
      ...Object.keys(accountRead),
      'description',
      'tags',
    ]),
  };
}
