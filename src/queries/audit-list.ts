import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../errors.js';
import type { Filter, Order, ReadModel, SearchQuery } from '../read-model/read-model.js';
import { READ_MODEL } from '../tokens.js';
import { BEGINNING, decodeCursor, encodeCursor, type Scope } from './cursor.js';

/** Pages by number reach this far; cursors have no limit. */
const DEEPEST_PAGE = 10_000;

const NEWEST: Order = { field: 'eventTime', direction: 'descending' };

/** The fields that lists filter by, equal to a value. */
export type AuditFilters = Readonly<
  Partial<
    Record<
      | 'contextName'
      | 'resourceId'
      | 'resourceName'
      | 'resourceType'
      | 'location'
      | 'gvcAlias'
      | 'podId'
      | 'actionType'
      | 'subjectEmail'
      | 'requestId'
      | 'resultStatus',
      string
    >
  >
>;

/** On `eventTime`, in milliseconds: from inclusive, to exclusive. */
export interface EventTimes {
  readonly from?: number;
  readonly to?: number;
}

export interface AuditPage {
  /** JSON texts of the events. */
  readonly items: readonly string[];
  /** Set while there is more now. */
  readonly next?: string;
  /** In the order received: where to go on later, also when there is nothing more now. */
  readonly resume?: string;
}

export class ListAuditEvents extends Query<AuditPage> {
  constructor(
    readonly org: string,
    readonly filters: AuditFilters,
    readonly options: EventTimes & {
      readonly order: 'newest' | 'received';
      readonly pageSize: number;
      readonly page?: number;
      readonly cursor?: string;
      /** In place of a page: so many events before the end of the order received. */
      readonly last?: number;
    },
  ) {
    super();
  }
}

/** One page of an organization's events: newest first by (eventTime, id), or in the order in which the log took them. */
@QueryHandler(ListAuditEvents)
export class ListAuditEventsHandler implements IQueryHandler<ListAuditEvents> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org, filters, options }: ListAuditEvents): Promise<AuditPage> {
    const scope = {
      org,
      filters: filtersOf(filters, options),
      order: options.order === 'received' ? options.order : NEWEST,
    };
    if (options.last !== undefined) return this.end(scope, options.last);
    const page = await this.model.search('auditevent', {
      ...scope,
      limit: options.pageSize,
      ...startOf(scope, options),
    });
    const cursor = page.cursor && encodeCursor(scope, page.cursor);
    return {
      items: page.items.map(({ source }) => source),
      ...(cursor !== undefined && page.more && { next: cursor }),
      ...(options.order === 'received' && { resume: cursor ?? encodeCursor(scope, BEGINNING) }),
    };
  }

  private async end({ order: _received, ...scope }: Scope, last: number): Promise<AuditPage> {
    const { items, cursor } = await this.model.last('auditevent', { ...scope, limit: last });
    return {
      items: items.map(({ source }) => source),
      resume: encodeCursor({ ...scope, order: 'received' }, cursor),
    };
  }
}

export function filtersOf(filters: AuditFilters, { from, to }: EventTimes): Filter[] {
  const list: Filter[] = [];
  for (const [field, value] of Object.entries(filters)) list.push({ field, op: '=', value });
  if (from !== undefined) list.push({ field: 'eventTime', op: '>=', value: from });
  if (to !== undefined) list.push({ field: 'eventTime', op: '<', value: to });
  return list;
}

function startOf(
  scope: Scope,
  { page = 1, pageSize, cursor }: ListAuditEvents['options'],
): Pick<SearchQuery, 'cursor' | 'offset'> {
  if (cursor !== undefined) return { cursor: decodeCursor(scope, cursor) };
  if (page * pageSize > DEEPEST_PAGE) {
    throw new ControlError(
      'page_too_deep',
      `pages reach the first ${DEEPEST_PAGE} events; follow the next links instead`,
    );
  }
  return { offset: (page - 1) * pageSize };
}
