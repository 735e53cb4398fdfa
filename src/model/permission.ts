import { KINDS, type Kind, PERMISSIONS, type Permission, type TargetKind } from '../contract/kinds.js';

export type { TargetKind };

export type PermissionName = Permission;

/** What a permission is granted on. */
export const TARGET_KINDS = KINDS.filter(({ permissions }: Kind) => permissions.length > 0).map(
  ({ name }) => name as TargetKind,
);

export interface PermissionInfo {
  readonly name: PermissionName;
  readonly description: string;
  readonly implies: readonly PermissionName[];
}

const INFOS: ReadonlyMap<string, readonly PermissionInfo[]> = new Map(
  KINDS.map(({ name, permissions }) => [name, infosOf(permissions)]),
);

/** `manage` implies all; every permission but `view` implies `view`. */
export function permissionsOn(kind: TargetKind): readonly PermissionInfo[] {
  return INFOS.get(kind) ?? [];
}

function infosOf(names: readonly PermissionName[]): readonly PermissionInfo[] {
  return names.map((name) => {
    const implies = names.filter((other) => other !== name && (name === 'manage' || other === 'view'));
    return { name, description: PERMISSIONS[name], implies };
  });
}

/** Everything that the permissions grant together on the kind, by what they imply, in the kind's order. */
export function implied(kind: TargetKind, granted: readonly string[]): readonly PermissionName[] {
  const infos = permissionsOn(kind);
  const given = infos.filter(({ name }) => granted.includes(name));
  return infos
    .map(({ name }) => name)
    .filter((name) => given.some((one) => one.name === name || one.implies.includes(name)));
}
