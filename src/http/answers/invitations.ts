import { ref } from './documented.js';
import { emailText, list, object, resource, text, time, uuid } from './parts.js';

/** Invitations, and who came by one. */
export function invitationSchemas(): Record<string, Record<string, unknown>> {
  const user = { kind: { const: 'user' }, ...resource, email: emailText, idp: text };
  const { version, created, lastModified, links } = resource;
  const invited = { id: uuid, email: emailText, group: text, expires: time };
  return {
    NewUser: object({ ...user, key: text }),
    Invited: object({
      invitations: { type: 'object', propertyNames: emailText, additionalProperties: text },
      errors: { type: 'object', propertyNames: emailText, additionalProperties: ref('Error') },
    }),
    Invitation: object({ kind: { const: 'invitation' }, ...invited, version, created, lastModified, links }, ['group']),
    InvitationList: list('invitation', 'Invitation'),
  };
}
