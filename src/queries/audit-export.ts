import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { Cursor, ReadModel } from '../read-model/read-model.js';
import { READ_MODEL } from '../tokens.js';
import { type AuditFilters, type EventTimes, filtersOf } from './audit-list.js';
import { BEGINNING, decodeCursor, encodeCursor, type Scope } from './cursor.js';

/** Few enough that even a page of the largest events is no burden to the memory. */
const PAGE_SIZE = 100;

export interface ExportPage {
  /** JSON texts of the events. */
  readonly items: readonly string[];
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
    readonly options: EventTimes & { readonly cursor?: string },
  ) {
    super();
  }
}

@QueryHandler(ExportAuditEvents)
export class ExportAuditEventsHandler implements IQueryHandler<ExportAuditEvents> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org, filters, options }: ExportAuditEvents): Promise<AsyncGenerator<ExportPage, void>> {
    const scope = { org, filters: filtersOf(filters, options), order: 'received' } as const;
    return this.pages(scope, options.cursor === undefined ? BEGINNING : decodeCursor(scope, options.cursor));
  }

  private async *pages(scope: Scope, start: Cursor): AsyncGenerator<ExportPage, void> {
    for (let cursor = start; ; ) {
      const page = await this.model.search('auditevent', { ...scope, limit: PAGE_SIZE, cursor });
      cursor = page.cursor ?? cursor;
      yield { items: page.items.map(({ source }) => source), cursor: encodeCursor(scope, cursor) };
      if (!page.more) return;
      // Neither reading nor a fast client ever waits: other requests would not get a turn until the end.
      await turnOfTheLoop();
    }
  }
}
