import { ERRORS } from '../../contract/errors.js';
import { permissionsOn, TARGET_KINDS } from '../../model/permission.js';
import { shapeSchemas } from '../../shapes/compiled.js';
import { auditSchemas } from './audit.js';
import { ref } from './documented.js';
import { keySchemas } from './keys.js';
import { kindSchemas } from './kinds.js';
import {
  anything,
  array,
  changed,
  emailText,
  kind,
  link,
  list,
  object,
  oneOf,
  resource,
  text,
  time,
  uuid,
  word,
} from './parts.js';
import { maintenanceSchemas } from './upkeep.js';

/** The schemas of all requests and responses, by their names in the OpenAPI document. */
export function schemas(): Record<string, Record<string, unknown>> {
  const shapes = shapeSchemas('#/components/schemas/');
  const { properties } = shapes.AuditEventDto as { properties: Record<string, object> };
  return {
    ...shapes,
    ...maintenanceSchemas(),
    ...invitationSchemas(),
    ...keySchemas(),
    ...accessSchemas(),
    ...kindSchemas(shapes),
    Error: object({
      status: { description: 'HTTP status of the answer.', type: 'integer', examples: [404] },
      message: text('What happened, why, and what to do next; for people.', 'no such event exists'),
      code: word(Object.keys(ERRORS), 'What happened; for programs. A later version may add codes.'),
      details: anything('What there is to know besides, by code: `docs/errors.md`.'),
      id: text('Identifier of the request, also in the log of the service.', '01890a5d-ac96-774b-bcce-b302099a8057'),
    }),
    Link: object({
      rel: text('What it leads to: `self`, `next`, `resume`, ...', 'next'),
      href: text('A path on this API, with its query.', '/org/acme/user?cursor=...'),
    }),
    Text: { type: 'string' },
    Bytes: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' },
    OpenApi: anything('An OpenAPI document.'),
    Backup: { type: 'string', format: 'binary', contentMediaType: 'application/vnd.sqlite3' },
    Health: object(
      {
        status: text('`ok`.', 'ok'),
        warnings: array({ type: 'string' }, 'What needs attention, though everything is served.'),
      },
      ['warnings'],
    ),
    ...auditSchemas(properties),
    Org: object({ ...kind('org'), ...resource }),
    OrgList: list('org', array(ref('Org'), 'The organizations.')),
    CreatedOrg: object({
      ...kind('org'),
      ...resource,
      serviceAccount: link('Link of the service account that owns the organization.'),
      key: text('The first key of that service account, shown this once.'),
    }),
  };
}

/** Schemas of permissions and access reports. */
function accessSchemas(): Record<string, Record<string, unknown>> {
  const names = [...new Set(TARGET_KINDS.flatMap((target) => permissionsOn(target).map(nameOf)))];
  const permissions = (description: string) => array(word(names, 'Name of a permission.'), description);
  const binding = {
    principalLink: link('Link of a user, service account or group.'),
    policyLink: link('Link of the policy that grants it.', '/org/acme/policy/deployers'),
    via: word(['direct', 'group', 'query'], 'How the principal is bound: itself, as a member, or by a query.'),
  };
  const granted = { ...binding, grantedPermissions: permissions('What the policy grants.') };
  const permission = {
    name: text('Name of the permission.', 'edit'),
    description: text('What it lets its holder do.'),
  };
  return {
    Permissions: object({
      ...kind('permissions'),
      targetKind: oneOf(TARGET_KINDS, 'The kind of resources.'),
      items: array(object({ ...permission, implies: permissions('What it gives besides.') }), 'The permissions.'),
    }),
    AccessReport: object(
      {
        ...kind('accessreport'),
        target: link('Link of the resource.'),
        at: time('The instant that the report is about, if one was asked for.'),
        permissions: array(
          object({ ...permission, bindings: array(object(granted), 'Who has it, and why.') }),
          'The permissions on the resource.',
        ),
      },
      ['at'],
    ),
  };
}

const nameOf = ({ name }: { readonly name: string }): string => name;

/** Schemas of invitations, and of the users who accept them. */
function invitationSchemas(): Record<string, Record<string, unknown>> {
  const email = emailText('E-mail address, in lower case.');
  const user = { ...kind('user'), ...resource, email, idp: text('Identity provider of the user.') };
  const invited = {
    id: uuid('Identifier of the invitation.'),
    email,
    group: text('The group that the user becomes a member of.', 'devs'),
    expires: time('When the code stops working.'),
  };
  const byAddress = { type: 'object', propertyNames: { format: 'email' } };
  return {
    AcceptedUser: object({ ...user, key: text('The first key of the user, shown this once.') }),
    Invited: object({
      invitations: {
        description: 'Link of the invitation, by e-mail address.',
        ...byAddress,
        additionalProperties: { type: 'string' },
      },
      errors: {
        description: 'Why an address was not invited, by e-mail address.',
        ...byAddress,
        additionalProperties: ref('Error'),
      },
    }),
    Invitation: object({ ...kind('invitation'), ...invited, ...changed }, ['group']),
    InvitationList: list('invitation', array(ref('Invitation'), 'The invitations, the oldest first.')),
  };
}
