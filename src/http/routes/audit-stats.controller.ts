import { Controller, Get, Req } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyRequest } from 'fastify';
import { type FieldFault, validationFailed } from '../../contract/errors.js';
import { GetAuditStats } from '../../queries/audit-stats.js';
import { AuditStatsDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { Guarded, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { ORG_PATH } from '../answers/paths.js';
import { checkQuery } from '../errors/request-faults.js';
import { eventTimes } from '../requests/query.js';

const statsFaults = compileShape(AuditStatsDto);

@Controller('audit/org/:org')
export class AuditStatsController {
  constructor(private readonly queries: QueryBus) {}

  @Get('-stats')
  @Guarded(onSome('auditctx', 'readAudit'))
  @Documented('countEvents', {
    summary: 'Count the audit events of the organization, by the values of a field and over time',
    path: ORG_PATH,
    query: AuditStatsDto,
    answers: { 200: 'AuditStats' },
    errors: ['validation_failed'],
  })
  async count(@Req() request: FastifyRequest): Promise<unknown> {
    const { org } = request.params as { org: string };
    const parameters = checkQuery<AuditStatsDto>(statsFaults, request);
    const { fromEvent: _from, toEvent: _to, by, top = '10', buckets = '0', ...filters } = parameters;
    const times = eventTimes(parameters);
    checkPeriod(times, Number(buckets));
    const options = { ...times, reach: request.reach, by, top: Number(top), buckets: Number(buckets) };
    const stats = await this.queries.execute(new GetAuditStats(org, filters, options));
    // Counting takes long, and who lost the permission meanwhile gets nothing.
    await request.server.access.requireStill(request);
    const { count, without, values, error, otherValues } = stats;
    const others = count - without - values.reduce((sum, value) => sum + value.count, 0);
    return {
      kind: 'auditstats',
      ...{ count, without, values, error },
      others: { count: others, ...(otherValues !== undefined && { values: otherValues }) },
      buckets: stats.buckets.map(({ from, count }) => ({ fromEvent: new Date(from).toISOString(), count })),
      query: { ...parameters, top, buckets },
      links: [{ rel: 'self', href: `/audit/org/${org}/-stats?${new URLSearchParams({ ...parameters })}` }],
    };
  }
}

function checkPeriod({ from, to }: { readonly from?: number; readonly to?: number }, buckets: number): void {
  if (buckets === 0) return;
  const faults: FieldFault[] = [];
  if (from === undefined || to === undefined) {
    faults.push({ pointer: '?buckets', reason: 'requires fromEvent and toEvent' });
  } else if (to <= from) {
    faults.push({ pointer: '?toEvent', reason: 'must be later than fromEvent' });
  }
  if (faults.length > 0) throw validationFailed(faults);
}
