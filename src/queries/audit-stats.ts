import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { Reach } from '../model/access.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import type { Stats } from '../read-model/stats.js';
import { type AuditFilters, type EventTimes, filtersOf, withinReach } from './audit-list.js';

export interface AuditStats extends Omit<Stats, 'buckets'> {
  /** Each begins at `from`, in milliseconds, and ends where the next begins; the last ends at the end of the period. */
  readonly buckets: readonly { readonly from: number; readonly count: number }[];
}

/** How many events match, by the values of a field and over time. Only those that the caller may read are counted. */
export class GetAuditStats extends Query<AuditStats> {
  constructor(
    readonly org: string,
    readonly filters: AuditFilters,
    readonly options: EventTimes & {
      /** The contexts that the caller may read. */
      readonly reach: Reach;
      readonly by: string;
      readonly top: number;
      /** Into how many parts of one length to divide the period, which then has both bounds. */
      readonly buckets: number;
    },
  ) {
    super();
  }
}

@QueryHandler(GetAuditStats)
export class GetAuditStatsHandler implements IQueryHandler<GetAuditStats> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    @Inject(CONFIG) private readonly config: Pick<Config, 'requestBudgetMs'>,
  ) {}

  async execute({ org, filters, options }: GetAuditStats): Promise<AuditStats> {
    const { reach, by, top } = options;
    const bounds = boundsOf(options);
    const { buckets, ...stats } = await this.model.stats('auditevent', {
      ...{ org, by, top, bounds },
      filters: withinReach(filtersOf(filters, options), reach),
      budgetMs: this.config.requestBudgetMs,
    });
    return { ...stats, buckets: buckets.map((count, index) => ({ from: bounds[index] ?? 0, count })) };
  }
}

/** To the millisecond: where a length is no whole number of them, parts differ by one. */
function boundsOf({ from, to, buckets }: GetAuditStats['options']): number[] {
  if (from === undefined || to === undefined || buckets === 0) return [];
  return Array.from({ length: buckets + 1 }, (_, index) => from + Math.floor((index * (to - from)) / buckets));
}
