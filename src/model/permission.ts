/** What a permission is granted on. */
export const TARGET_KINDS = ['user', 'group', 'serviceaccount', 'policy', 'domain', 'auditctx'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

export interface PermissionInfo {
  readonly name: PermissionName;
  readonly description: string;
  readonly implies: readonly PermissionName[];
}

const MANAGED = ['view', 'create', 'edit', 'delete', 'manage'] as const;

const NAMES = {
  user: ['view', 'edit', 'delete', 'invite', 'manage'],
  group: MANAGED,
  serviceaccount: ['view', 'create', 'edit', 'delete', 'addKey', 'manage'],
  policy: MANAGED,
  domain: MANAGED,
  auditctx: ['readAudit', 'writeAudit', 'manage'],
} as const satisfies Record<TargetKind, readonly string[]>;

export type PermissionName = (typeof NAMES)[TargetKind][number];

const DESCRIPTIONS: Readonly<Record<PermissionName, string>> = {
  view: 'Read the resource, and find it in lists',
  create: 'Create resources of this kind',
  edit: 'Change the resource',
  delete: 'Delete the resource',
  invite: 'Invite users to the organization',
  addKey: 'Issue and revoke keys of the service account',
  readAudit: 'Read the audit events of the context',
  writeAudit: 'Publish audit events into the context',
  manage: 'Everything, the access to the resource included',
};

const PERMISSIONS: Readonly<Record<TargetKind, readonly PermissionInfo[]>> = {
  user: infosOf(NAMES.user),
  group: infosOf(NAMES.group),
  serviceaccount: infosOf(NAMES.serviceaccount),
  policy: infosOf(NAMES.policy),
  domain: infosOf(NAMES.domain),
  auditctx: infosOf(NAMES.auditctx),
};

/** `manage` implies all; every permission but `view` implies `view`. */
export function permissionsOn(kind: TargetKind): readonly PermissionInfo[] {
  return PERMISSIONS[kind];
}

function infosOf(names: readonly PermissionName[]): readonly PermissionInfo[] {
  return names.map((name) => {
    const implies = names.filter((other) => other !== name && (name === 'manage' || other === 'view'));
    return { name, description: DESCRIPTIONS[name], implies };
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
