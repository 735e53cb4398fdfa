import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from '../../contract/limits.js';
import { ControlState } from '../../control/state.js';
import { auditContextStream } from '../../model/streams.js';
import { CLOCK, type Clock } from '../../platform/clock.js';
import { Turns } from '../../platform/turns.js';
import { AuditPublishDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { isTrue } from '../../shapes/shape.js';
import { Guarded, onOne } from '../access.js';
import { Documented } from '../answers/documented.js';
import { CONTEXT_PATH } from '../answers/paths.js';
import { isProtobuf, otlpHeaders, otlpRefusal } from '../errors/otlp.js';
import { checkContext, checkQuery } from '../errors/request-faults.js';
import { Ingest } from '../ingest/ingest.js';
import { OTLP_JSON } from '../ingest/sources/otlp/json.js';
import { PROTOBUF } from '../ingest/sources/otlp/protobuf.js';
import { otlpCandidates } from '../ingest/sources/otlp.js';
import type { PackedBody } from '../server/unpacked.js';

const queryFaults = compileShape(AuditPublishDto);

/** The way in for exporters of OpenTelemetry: an event for each log record. */
@Controller('otlp/org/:org/auditctx/:contextName/v1/logs')
export class OtlpController {
  constructor(
    private readonly ingest: Ingest,
    private readonly state: ControlState,
    private readonly turns: Turns,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Every log record is recorded, so there is no partial success. */
  @Post()
  @Guarded(onOne('auditctx', 'writeAudit'), {
    ...{ maxBytes: LIMITS.ingest.bytes, packed: true, refusalAs: otlpRefusal },
  })
  @Documented('exportLogs', {
    summary: 'Record the log records of an OpenTelemetry exporter (OTLP/HTTP)',
    path: CONTEXT_PATH,
    query: AuditPublishDto,
    idempotent: true,
    body: {
      'application/x-protobuf': { type: 'string', format: 'binary', description: 'an `ExportLogsServiceRequest`' },
      'application/json': {
        type: 'object',
        additionalProperties: true,
        description: 'the same in JSON',
        examples: [{ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'order cancelled' } }] }] }] }],
      },
    },
    answers: { 200: { 'application/x-protobuf': 'Bytes', 'application/json': 'OtlpResponse' } },
    refusals: { 'application/x-protobuf': 'Bytes', 'application/json': 'OtlpStatus' },
    errors: ['malformed_protobuf', 'log_unavailable', 'outcome_unknown'],
  })
  async export(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, contextName } = request.params as { readonly org: string; readonly contextName: string };
    checkContext(contextName);
    const { async } = checkQuery<AuditPublishDto>(queryFaults, request);
    const isBinary = isProtobuf(request);
    const { bytes } = request.body as PackedBody;
    const settings = this.state.read(auditContextStream(org, contextName))?.ingest;
    const arrival = { contextName, settings, now: this.clock.now() };
    const logs = otlpCandidates(bytes, isBinary ? PROTOBUF : OTLP_JSON, arrival);
    await this.ingest.record(request, await this.turns.run({ org }, logs), isTrue(async) ? 'async' : 'sync');
    reply
      .code(200)
      .headers(otlpHeaders(isBinary))
      .send(isBinary ? Buffer.alloc(0) : '{}');
  }
}
