/**
 * What there may be only so much of: of each kind in an organization, and of organizations in the service. `isForGood`:
 * nothing deletes it.
 */
export const QUOTAS = {
  org: { setting: 'CONTROL_QUOTA_ORGS', usual: 100_000, plural: 'organizations', isForGood: true },
  user: { setting: 'CONTROL_QUOTA_USERS', usual: 100_000, plural: 'users' },
  group: { setting: 'CONTROL_QUOTA_GROUPS', usual: 10_000, plural: 'groups' },
  serviceaccount: { setting: 'CONTROL_QUOTA_SERVICE_ACCOUNTS', usual: 10_000, plural: 'service accounts' },
  policy: { setting: 'CONTROL_QUOTA_POLICIES', usual: 10_000, plural: 'policies' },
  domain: { setting: 'CONTROL_QUOTA_DOMAINS', usual: 10_000, plural: 'domains' },
  invitation: { setting: 'CONTROL_QUOTA_INVITATIONS', usual: 10_000, plural: 'open invitations' },
  auditctx: {
    setting: 'CONTROL_QUOTA_AUDIT_CONTEXTS',
    usual: 10_000,
    plural: 'audit contexts with settings',
    isForGood: true,
  },
} as const;

export type QuotaKind = keyof typeof QUOTAS;

export const QUOTA_KINDS = Object.keys(QUOTAS) as QuotaKind[];

export type Quotas = Readonly<Record<QuotaKind, number>>;

export const USUAL_QUOTAS = Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, QUOTAS[kind].usual])) as Quotas;

/** Letters that may be sent: to an address within a day, whoever sends them, and by an organization within an hour. */
export interface MailLimits {
  readonly perAddress: number;
  readonly perOrg: number;
}
