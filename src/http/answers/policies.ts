import { permissionsOn, TARGET_KINDS } from '../../model/permission.js';
import { array, list, object, patchedMap, patchedText, readBefore, resource, text, time } from './parts.js';

/** Policies, and what they come to. */
export function policySchemas(): Record<string, Record<string, unknown>> {
  const { name, description, tags } = resource;
  const targetKind = { enum: [...TARGET_KINDS] };
  const permissions = array({ enum: [...new Set(TARGET_KINDS.flatMap((kind) => permissionsOn(kind).map(nameOf)))] });
  const rules = {
    targetKind: { enum: [...TARGET_KINDS, '*'] },
    target: { const: 'all' },
    targetLinks: array(text),
    bindings: array(object({ permissions: array(text), principalLinks: array(text) })),
  };
  const policy = { kind: { const: 'policy' }, ...resource, origin: { enum: ['default', 'builtin'] }, ...rules };
  const read = { ...readBefore, kind: { const: 'policy' }, name, origin: text };
  const patch = {
    description: patchedText,
    tags: patchedMap,
    targetKind: rules.targetKind,
    target: { enum: ['all', null] },
    targetLinks: { ...rules.targetLinks, type: ['array', 'null'] },
    bindings: { ...rules.bindings, type: ['array', 'null'] },
  };
  const replacement = { ...read, description, tags, ...rules };
  const binding = { principalLink: text, policyLink: text, via: { enum: ['direct', 'group', 'query'] } };
  return {
    Policy: object(policy, ['target', 'targetLinks']),
    PolicyList: list('policy', 'Policy'),
    PolicyPatch: object({ ...read, ...patch }, [...Object.keys(read), ...Object.keys(patch)]),
    PolicyReplacement: object(
      replacement,
      Object.keys(replacement).filter((member) => member !== 'targetKind'),
    ),
    Permissions: object({
      kind: { const: 'permissions' },
      targetKind,
      items: array(object({ name: text, description: text, implies: permissions })),
    }),
    AccessReport: object(
      {
        kind: { const: 'accessreport' },
        target: text,
        at: time,
        permissions: array(
          object({
            name: text,
            description: text,
            bindings: array(object({ ...binding, grantedPermissions: permissions })),
          }),
        ),
      },
      ['at'],
    ),
  };
}

const nameOf = ({ name }: { readonly name: string }): string => name;
