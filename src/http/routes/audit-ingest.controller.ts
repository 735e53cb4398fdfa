import { Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LIMITS } from '../../contract/limits.js';
import { ControlState } from '../../control/state.js';
import { auditContextStream } from '../../model/streams.js';
import { CLOCK, type Clock } from '../../platform/clock.js';
import { Turns } from '../../platform/turns.js';
import { AuditIngestDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { isTrue } from '../../shapes/shape.js';
import { Guarded, onOne } from '../access.js';
import { Documented } from '../answers/documented.js';
import { CONTEXT_PATH } from '../answers/paths.js';
import { checkContext, checkQuery } from '../errors/request-faults.js';
import { Ingest, type IngestResult } from '../ingest/ingest.js';
import { candidates } from '../ingest/sources/body.js';

const queryFaults = compileShape(AuditIngestDto);

interface ContextPath {
  readonly org: string;
  readonly contextName: string;
}

/** The way in for shippers: whatever they send is recorded. */
@Controller('audit/org/:org/auditctx/:contextName')
export class AuditIngestController {
  constructor(
    private readonly ingest: Ingest,
    private readonly state: ControlState,
    private readonly turns: Turns,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post('-ingest')
  @HttpCode(200)
  @Guarded(onOne('auditctx', 'writeAudit'), { maxBytes: LIMITS.ingest.bytes, packed: true })
  @Documented('ingestEvents', {
    summary: 'Record what a shipper sends: lines of any kind, a JSON array, or one object',
    path: CONTEXT_PATH,
    query: AuditIngestDto,
    idempotent: true,
    body: {
      'application/json': {
        description: 'one event, an array of events, or a batch of another format',
        examples: [{ file: '/var/log/app.log', offset: 3, message: 'restarted' }],
      },
      'application/x-ndjson': { type: 'string', description: 'one event a line; any other type is read as well' },
    },
    answers: { 200: 'IngestResult' },
    errors: ['log_unavailable', 'outcome_unknown'],
  })
  async record(@Req() request: FastifyRequest): Promise<IngestResult & { kind: 'ingestresult' }> {
    const { org, contextName } = request.params as ContextPath;
    checkContext(contextName);
    const { async } = checkQuery<AuditIngestDto>(queryFaults, request);
    const settings = this.state.read(auditContextStream(org, contextName))?.ingest;
    const arrival = { contextName, settings, now: this.clock.now() };
    const sent = await this.turns.run({ org }, candidates(request, arrival));
    return {
      kind: 'ingestresult',
      ...(await this.ingest.record(request, sent, isTrue(async) ? 'async' : 'sync')),
    };
  }
}
