import { permissionsOn, TARGET_KINDS } from '../../model/permission.js';
import { array, object, text, time } from './parts.js';

/** What policies come to. */
export function accessSchemas(): Record<string, Record<string, unknown>> {
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
