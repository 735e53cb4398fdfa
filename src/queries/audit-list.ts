import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { LIMITS } from '../contract/limits.js';
import { namesWithin, type Reach } from '../model/access.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { lowerCaseId } from '../platform/text.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import type { Filter, Order, SearchQuery } from '../read-model/search.js';
import { BEGINNING, Cursors, type Scope } from './cursor.js';
import { PAGE_BYTES } from './reading.js';

/** Pages by number reach this far; cursors have no limit. */

export const NEWEST: Order = { field: 'eventTime', direction: 'descending' };

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
      | 'publisher'
      | 'actionType'
      | 'subjectEmail'
      | 'requestId'
      | 'resultStatus'
      | 'idEnding',
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
      /** The contexts that the caller may read. */
      readonly reach: Reach;
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

/**
 * One page of an organization's events: newest first by (eventTime, id), or in the order in which the log took them. Each
 * page shows what may be read when it is asked for. A cursor is valid for every caller: a change of policies
 * neither ends a list in progress nor shows more than the caller may read by then.
 */
@QueryHandler(ListAuditEvents)
export class ListAuditEventsHandler implements IQueryHandler<ListAuditEvents> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    @Inject(CONFIG) private readonly config: Pick<Config, 'requestBudgetMs'>,
    private readonly cursors: Cursors,
  ) {}

  async execute({ org, filters, options }: ListAuditEvents): Promise<AuditPage> {
    const scope = {
      org,
      filters: filtersOf(filters, options),
      order: options.order === 'received' ? options.order : NEWEST,
    };
    const readable = withinReach(scope.filters, options.reach);
    if (options.last !== undefined) return this.end(scope, readable, options.last);
    const page = await this.model.search('auditevent', {
      ...scope,
      filters: readable,
      limit: options.pageSize,
      ...this.bounds,
      ...this.startOf(scope, options),
    });
    const cursor = page.cursor && this.cursors.encode(scope, page.cursor);
    return {
      items: page.items.map(({ source }) => source),
      ...(cursor !== undefined && page.more && { next: cursor }),
      ...(options.order === 'received' && { resume: cursor ?? this.cursors.encode(scope, BEGINNING) }),
    };
  }

  private get bounds(): Pick<SearchQuery, 'maxBytes' | 'budgetMs'> {
    return { maxBytes: PAGE_BYTES, budgetMs: this.config.requestBudgetMs };
  }

  private startOf(
    scope: Scope,
    { page = 1, pageSize, cursor }: ListAuditEvents['options'],
  ): Pick<SearchQuery, 'cursor' | 'offset'> {
    if (cursor !== undefined) return { cursor: this.cursors.decode(scope, cursor) };
    return { offset: offsetOf(page, pageSize) };
  }

  private async end(scope: Scope, filters: readonly Filter[], limit: number): Promise<AuditPage> {
    const { items, cursor } = await this.model.last('auditevent', { org: scope.org, filters, limit, ...this.bounds });
    return { items: items.map(({ source }) => source), resume: this.cursors.encode(scope, cursor) };
  }
}

/** Only what is in contexts that the caller may read. */
export function withinReach(filters: readonly Filter[], reach: Reach): readonly Filter[] {
  const values = namesWithin(reach);
  return values === undefined ? filters : [...filters, { field: 'contextName', op: 'in', values }];
}

export function filtersOf(filters: AuditFilters, { from, to }: EventTimes): Filter[] {
  const list: Filter[] = [];
  const { idEnding, ...equal } = filters;
  if (idEnding !== undefined) list.push({ field: 'id', op: 'ends', value: idEnding });
  for (const [field, value] of Object.entries(equal)) {
    // A client may have recorded a UUID in capitals: it is found, too.
    const lower = lowerCaseId(value);
    list.push(lower === value ? { field, op: '=', value } : { field, op: 'in', values: [value, lower] });
  }
  if (from !== undefined) list.push({ field: 'eventTime', op: '>=', value: from });
  if (to !== undefined) list.push({ field: 'eventTime', op: '<', value: to });
  return list;
}

/** How many events come before the page. Throws `page_too_deep`. */
export function offsetOf(page: number, pageSize: number): number {
  if (page * pageSize > LIMITS.pagedEvents) {
    throw new ControlError(
      'page_too_deep',
      `pages reach the first ${LIMITS.pagedEvents} events; follow the next links to go deeper`,
    );
  }
  return (page - 1) * pageSize;
}
