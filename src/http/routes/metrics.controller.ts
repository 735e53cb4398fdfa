import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Metrics } from '../../platform/metrics.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';

@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @Guarded('public')
  @Documented(
    'getMetrics',
    { summary: 'Counters for Prometheus', answers: { 200: { 'text/plain': 'Text' } }, errors: [] },
    true,
  )
  async read(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.metrics.exposition();
    reply.header('content-type', this.metrics.contentType).send(text);
  }
}
