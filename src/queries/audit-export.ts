import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { Reach } from '../model/access.js';
import { turnOfTheLoop } from '../platform/waiting.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import type { Cursor } from '../read-model/search.js';
import { type AuditFilters, type EventTimes, filtersOf, withinReach } from './audit-list.js';
import { BEGINNING, Cursors, type Scope } from './cursor.js';

/** A page is in memory twice while it is sent: as events, and as what waits for the client. */
export const EXPORT_PAGE = { limit: 500, maxBytes: 256 * 1024 };

export interface ExportPage {
  /** The lines, for the reader to take out: JSON texts of the events, and what proves them. */
  readonly items: string[];
  /** How many of the lines are events. */
  readonly count: number;
  /** Behind this page. It is good for the list in the order received as well, and the other way round. */
  readonly cursor: string;
}

/**
 * All of an organization's events in the order received, page by page: each is read when it is asked for, and the last
 * is the first behind which there is nothing more. At least one page. Throws `invalid_cursor` before the first.
 */
export class ExportAuditEvents extends Query<AsyncGenerator<ExportPage, void>> {
  constructor(
    readonly org: string,
    readonly filters: AuditFilters,
    /** `reach`: the contexts that the caller may read, when the export begins. */
    readonly options: EventTimes & { readonly reach: Reach; readonly cursor?: string },
  ) {
    super();
  }
}

@QueryHandler(ExportAuditEvents)
export class ExportAuditEventsHandler implements IQueryHandler<ExportAuditEvents> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    private readonly cursors: Cursors,
  ) {}

  async execute({ org, filters, options }: ExportAuditEvents): Promise<AsyncGenerator<ExportPage, void>> {
    const scope = { org, filters: filtersOf(filters, options), order: 'received' } as const;
    const start = options.cursor === undefined ? BEGINNING : this.cursors.decode(scope, options.cursor);
    return this.pages(scope, options.reach, start);
  }

  private async *pages(scope: Scope, reach: Reach, start: Cursor): AsyncGenerator<ExportPage, void> {
    const filters = withinReach(scope.filters, reach);
    for (let cursor = start; ; ) {
      const page = await this.model.search('auditevent', {
        ...scope,
        filters,
        ...EXPORT_PAGE,
        cursor,
      });
      cursor = page.cursor ?? cursor;
      const items = page.items.map(({ source }) => source);
      yield { items, count: items.length, cursor: this.cursors.encode(scope, cursor) };
      if (!page.more) return;
      // Neither reading nor a fast client ever waits: other requests would not get a turn until the end.
      await turnOfTheLoop();
    }
  }
}
