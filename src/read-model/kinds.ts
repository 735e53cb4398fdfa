import { KINDS as RESOURCE_KINDS, type KindName as ResourceName, SERVICE_CONTEXT } from '../contract/kinds.js';
import { DENIED } from '../model/audit-event.js';

/**
 * The kinds of documents and their filterable fields: the one description from which every adapter makes its tables,
 * indices or mappings. Changing it changes `KINDS_VERSION`, and the read model is rebuilt.
 */
export interface Kind {
  readonly fields: Readonly<Record<string, 'keyword' | 'time'>>;
  /** Fields, besides the organization, that a list starts from; each list is then ordered by `sort` and the identifier. */
  readonly lists: readonly string[];
  readonly sort: string;
  /** Keywords, besides the `sort`, whose values hardly ever repeat. */
  readonly unique: readonly string[];
  /** Whether `order: 'received'` is served. */
  readonly received: boolean;
  /** The field by whose values `count` groups. */
  readonly countBy?: string;
  readonly expiresBy?: ExpiryClasses;
}

/** Documents share a retention limit on their records' time if they have the same value of a field, with one exception. */
export interface ExpiryClasses {
  /** The same as `countBy`. */
  readonly field: string;
  /** Documents with this value whose other field has the value `is` form a class of their own; no value equals its name. */
  readonly apart: {
    readonly value: string;
    readonly field: string;
    readonly is: string;
    readonly name: string;
  };
}

/** The class of denied attempts. The service records them in its own context, which otherwise never expires. */
export const DENIED_ATTEMPTS = 'svc/DENIED';

export const KINDS_VERSION = 5;

/**
 * The oldest version whose documents this program reads and writes unchanged: later versions only added fields. A read
 * model of such a version may serve until a new one is filled, without the filters that it lacks.
 */
export const SERVED_SINCE = 3;

/** The fields added since, with the version that added each. */
const ADDED: Readonly<Record<string, number>> = { publisher: 4 };

/** The version since which documents can be counted by every keyword that is not `unique`. */
export const STATS_SINCE = 5;

/** Whether a read model of this version of the kinds can be used until it is rebuilt. */
export function canServe(version: number): boolean {
  return version >= SERVED_SINCE && version <= KINDS_VERSION;
}

/** The version of the kinds that a filter by the field needs. */
export function neededBy(field: string): number {
  return ADDED[field] ?? SERVED_SINCE;
}

/** A control resource: by what names it, and by its id. */
const VIEW = {
  fields: { name: 'keyword', identifier: 'keyword' },
  lists: ['identifier'],
  sort: 'name',
  unique: ['identifier'],
  received: false,
} as const satisfies Kind;

export const KINDS = {
  auditevent: {
    fields: {
      eventTime: 'time',
      contextName: 'keyword',
      resourceId: 'keyword',
      resourceName: 'keyword',
      resourceType: 'keyword',
      location: 'keyword',
      gvcAlias: 'keyword',
      podId: 'keyword',
      publisher: 'keyword',
      actionType: 'keyword',
      subjectEmail: 'keyword',
      requestId: 'keyword',
      resultStatus: 'keyword',
    },
    lists: ['resourceName', 'resourceId', 'publisher'],
    sort: 'eventTime',
    unique: ['requestId'],
    received: true,
    countBy: 'contextName',
    expiresBy: {
      field: 'contextName',
      apart: { value: SERVICE_CONTEXT, field: 'resultStatus', is: DENIED, name: DENIED_ATTEMPTS },
    },
  },
  org: VIEW,
  ...(Object.fromEntries(RESOURCE_KINDS.map(({ name }) => [name, VIEW])) as Readonly<
    Record<ResourceName, typeof VIEW>
  >),
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;

export function kindOf(name: KindName): Kind {
  return KINDS[name];
}

export const KIND_NAMES = Object.keys(KINDS) as KindName[];
