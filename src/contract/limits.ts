import { KINDS, type KindName } from './kinds.js';

/** What there may be only so much of: of each kind in an organization, and of organizations in the service. */
export type QuotaKind = KindName | 'org';

interface Quota {
  readonly setting: string;
  readonly usual: number;
  readonly plural: string;
  readonly isForGood?: true;
}

const ORGS: Quota = { setting: 'CONTROL_QUOTA_ORGS', usual: 100_000, plural: 'organizations', isForGood: true };

export const QUOTAS = Object.fromEntries([
  ['org', ORGS],
  ...KINDS.map(({ name, plural, quota }) => [name, { plural, ...quota }]),
]) as Readonly<Record<QuotaKind, Quota>>;

export const QUOTA_KINDS = Object.keys(QUOTAS) as QuotaKind[];

export type Quotas = Readonly<Record<QuotaKind, number>>;

export const USUAL_QUOTAS = Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, QUOTAS[kind].usual])) as Quotas;

/** Letters that may be sent: to an address within a day, whoever sends them, and by an organization within an hour. */
export interface MailLimits {
  readonly perAddress: number;
  readonly perOrg: number;
}
