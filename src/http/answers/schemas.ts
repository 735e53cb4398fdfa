import { ERRORS } from '../../contract/errors.js';
import { permissionsOn, TARGET_KINDS } from '../../model/permission.js';
import { shapeSchemas } from '../../shapes/compiled.js';
import { auditSchemas } from './audit.js';
import { ref } from './documented.js';
import { keySchemas } from './keys.js';
import { kindSchemas } from './kinds.js';
import { array, count, emailText, list, object, resource, text, time, uuid } from './parts.js';
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
      status: count,
      message: text,
      code: { type: 'string', enum: Object.keys(ERRORS) },
      details: { type: 'object' },
      id: text,
    }),
    Link: object({ rel: text, href: text }),
    Text: text,
    OpenApi: { type: 'object' },
    Backup: { type: 'string', contentMediaType: 'application/vnd.sqlite3' },
    Health: object({ status: text }),
    ...auditSchemas(properties),
    Org: object({ kind: { const: 'org' }, ...resource }),
    CreatedOrg: object({ kind: { const: 'org' }, ...resource, serviceAccount: text, key: text }),
  };
}

/** Schemas of permissions and access reports. */
function accessSchemas(): Record<string, Record<string, unknown>> {
  const permissions = array({ enum: [...new Set(TARGET_KINDS.flatMap((kind) => permissionsOn(kind).map(nameOf)))] });
  const binding = { principalLink: text, policyLink: text, via: { enum: ['direct', 'group', 'query'] } };
  const bindings = array(object({ ...binding, grantedPermissions: permissions }));
  const reported = array(object({ name: text, description: text, bindings }));
  return {
    Permissions: object({
      kind: { const: 'permissions' },
      targetKind: { enum: [...TARGET_KINDS] },
      items: array(object({ name: text, description: text, implies: permissions })),
    }),
    AccessReport: object({ kind: { const: 'accessreport' }, target: text, at: time, permissions: reported }, ['at']),
  };
}

const nameOf = ({ name }: { readonly name: string }): string => name;

/** Schemas of invitations, and of the users who accept them. */
function invitationSchemas(): Record<string, Record<string, unknown>> {
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
