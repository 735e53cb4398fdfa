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
}

export const KINDS_VERSION = 1;

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
      actionType: 'keyword',
      subjectEmail: 'keyword',
      requestId: 'keyword',
      resultStatus: 'keyword',
    },
    lists: ['resourceName', 'resourceId'],
    sort: 'eventTime',
    received: true,
    countBy: 'contextName',
  },
  org: { fields: { name: 'keyword' }, lists: [], sort: 'name', received: false },
  serviceaccount: { fields: { name: 'keyword' }, lists: [], sort: 'name', received: false },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;
