import { ERRORS } from '../../contract/errors.js';
import { shapeSchemas } from '../../shapes/compiled.js';
import { accessSchemas } from './access.js';
import { auditSchemas } from './audit.js';
import { invitationSchemas } from './invitations.js';
import { keySchemas } from './keys.js';
import { kindSchemas } from './kinds.js';
import { count, object, resource, text } from './parts.js';
import { maintenanceSchemas } from './upkeep.js';

/** What the service answers with, by the names that the OpenAPI document gives them; request shapes included. */
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
