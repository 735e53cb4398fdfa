/**
 * The kinds of documents and their filterable fields: the one description from which every adapter makes its tables,
 * indices or mappings. Changing it changes `KINDS_VERSION`, and the read model is rebuilt.
 */
export interface Kind {
  readonly fields: Readonly<Record<string, 'keyword' | 'time'>>;
  /** Fields, besides the organization, that a list starts from; each list is then ordered by `sort` and the identifier. */
  readonly lists: readonly string[];
  readonly sort: string;
  /** Whether `order: 'received'` is served. */
  readonly received: boolean;
  /** The field whose values `count` tells apart. */
  readonly countBy?: string;
  /** The field whose values have a retention limit each, on the time of the document's record. */
  readonly expiresBy?: string;
}

export const KINDS_VERSION = 4;

/**
 * The oldest version whose documents this program reads and writes as they are: since then fields were added, and nothing
 * else. A read model of such a version may serve until a new one is filled, without the filters that it lacks.
 */
const SERVED_SINCE = 3;

/** Fields that were added since, by the version that added them. */
const ADDED: Readonly<Record<string, number>> = { publisher: 4 };

/** Whether a read model of this version of the kinds can be used until it is rebuilt. */
export function canServe(version: number): boolean {
  return version >= SERVED_SINCE && version <= KINDS_VERSION;
}

export function isAdded(field: string): boolean {
  return Object.hasOwn(ADDED, field);
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
    received: true,
    countBy: 'contextName',
    expiresBy: 'contextName',
  },
  org: VIEW,
  auditctx: VIEW,
  user: VIEW,
  group: VIEW,
  serviceaccount: VIEW,
  policy: VIEW,
  invitation: VIEW,
  domain: VIEW,
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;

export const KIND_NAMES = Object.keys(KINDS) as KindName[];
