import { KINDS, type KindName } from './kinds.js';

const KIB = 1024;

/** What a request may hold at most, unless it says otherwise. Lengths of text are in characters (code points). */
export const LIMITS = {
  /** Of one event, and of every body but a bulk. */
  bodyBytes: 256 * KIB,
  bulkBytes: 8 * KIB * KIB,
  bulkEvents: 1_000,
  /** Of one request of a shipper, unpacked. */
  ingest: { bytes: 20 * KIB * KIB, lines: 20_000 },
  /** Objects and arrays in one another; the outermost value is the first level. */
  depth: 32,
  /** Faults that a refusal names. */
  faults: 100,
  idempotencyKey: 255,

  /** Items of a page: the default and the maximum. */
  page: { usual: 50, most: 1_000 },
  /** Events that can be reached by page number. */
  pagedEvents: 10_000,
  cursor: 16_384,
  /** Of one count of events. */
  stats: { values: 1_000, buckets: 1_000 },
  queryTerms: 50,

  name: { min: 2, max: 63 },
  description: 250,
  /** Of people. */
  fullName: 250,
  email: 254,
  /** What lists filter by, and links: kept short enough for every index. */
  text: 1_024,
  /** Codes and identifiers that the service made. */
  identifier: 128,
  tags: 50,
  tagName: 128,

  members: 200,
  invitedAtOnce: 10,
  keys: 100,
  policy: { bindings: 50, permissions: 50, links: 200 },
  /** 100 years. */
  retentionDays: 36_500,
  /** At least: denied attempts stay long enough to be looked at, whatever anybody sets. */
  deniedRetentionDays: 7,

  hostName: 253,
  hostLabel: 63,
  domain: {
    ports: 10,
    routes: 150,
    origins: 100,
    corsNames: 100,
    corsName: 128,
    headers: 50,
    cipherSuites: 32,
    regex: 1_024,
  },
} as const;

/** Whether the text is a whole number within the bounds, in digits and without leading zeros. */
export function isWholeNumber(text: string, minimum: number, maximum: number): boolean {
  return /^(0|[1-9][0-9]{0,15})$/.test(text) && Number(text) >= minimum && Number(text) <= maximum;
}

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
