import { applyDecorators, Controller, Get, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ControlError } from '../../contract/errors.js';
import { type Kind, kindsWith } from '../../contract/kinds.js';
import { readInstant } from '../../model/instant.js';
import type { TargetKind } from '../../model/permission.js';
import { isoTime } from '../../platform/clock.js';
import { type AccessReport, ReportAccess } from '../../queries/access-report.js';
import { compileShape } from '../../shapes/compiled.js';
import { AccessReportDto } from '../../shapes/resource-history.js';
import { Guarded, onOne } from '../access.js';
import { Documented } from '../answers/documented.js';
import { CONTEXT_PATH, refPathOf } from '../answers/paths.js';
import { checkContextName, checkQuery } from '../errors/request-faults.js';
import type { OrgPath, RefPath } from '../resources.js';
import { sendJsonPieces } from '../server/streamed.js';
import { RouteOfEachKind } from './each-kind.js';

const reportFaults = compileShape(AccessReportDto);

function AccessReportOf(kind: Kind): MethodDecorator {
  const { name, schema, noun } = kind;
  return applyDecorators(
    Get(`org/:org/${name}/:ref/-accessreport`),
    Guarded(onOne(name, 'view'), { large: true }),
    Documented(`reportAccessTo${schema}`, {
      summary: `Show who may do what to a ${noun}, and why; now, or as it was at an instant`,
      path: refPathOf(kind),
      query: AccessReportDto,
      answers: { 200: 'AccessReport' },
      errors: ['validation_failed', 'not_found'],
    }),
  );
}

/** Who may see a resource may see who else may do what to it. */
@Controller()
@RouteOfEachKind(kindsWith('accessreport'), AccessReportOf, 'ofResource')
export class AccessReportController {
  constructor(private readonly queries: QueryBus) {}

  ofResource(request: FastifyRequest, reply: FastifyReply, { name }: Kind): Promise<void> {
    const { org, ref } = request.params as RefPath;
    return this.send(request, reply, { kind: name, org, ref });
  }

  /** Of a context that has no event yet as well: policies may name it before. */
  @Get('audit/org/:org/auditctx/:contextName/-accessreport')
  @Guarded(onOne('auditctx', 'readAudit'), { large: true })
  @Documented('reportAccessToAuditContext', {
    summary: 'Show who may do what to an audit context, and why; now, or as it was at an instant',
    path: CONTEXT_PATH,
    query: AccessReportDto,
    answers: { 200: 'AccessReport' },
    errors: ['validation_failed', 'not_found'],
  })
  ofAuditContext(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, contextName } = request.params as OrgPath & { readonly contextName: string };
    checkContextName(contextName);
    return this.send(request, reply, { kind: 'auditctx', org, ref: contextName });
  }

  private async send(
    request: FastifyRequest,
    reply: FastifyReply,
    { kind, org, ref }: { readonly kind: string; readonly org: string; readonly ref: string },
  ): Promise<void> {
    const { at: text } = checkQuery<AccessReportDto>(reportFaults, request);
    const at = text === undefined ? undefined : readInstant(text);
    const report = await this.queries.execute(new ReportAccess(kind as TargetKind, org, ref, at, gone(reply)));
    // A report on the past takes as long as the log is long.
    await request.server.access.requireStill(request);
    const time = at === undefined ? {} : { at: isoTime(at) };
    sendJsonPieces(reply, reportTexts(report, time), bindingsIn(report) < STREAMED_BINDINGS);
  }
}

/** Aborts when the client closed the connection, so that nothing is worked out for nobody. */
function gone({ raw }: FastifyReply): AbortSignal {
  const stop = new AbortController();
  raw.once('close', () => stop.abort(new ControlError('request_timeout', 'the client closed the connection')));
  return stop.signal;
}

/** A report with more is streamed, and made into text meanwhile. */
const STREAMED_BINDINGS = 2_000;

function bindingsIn({ permissions }: AccessReport): number {
  return permissions.reduce((sum, { bindings }) => sum + bindings.length, 0);
}

function* reportTexts({ target, permissions }: AccessReport, time: object): Generator<string> {
  yield `${JSON.stringify({ kind: 'accessreport', target, ...time }).slice(0, -1)},"permissions":[`;
  for (const [index, { name, description, bindings }] of permissions.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify({ name, description }).slice(0, -1)},"bindings":[`;
    for (const [at, binding] of bindings.entries()) yield `${at === 0 ? '' : ','}${JSON.stringify(binding)}`;
    yield ']}';
  }
  yield ']}';
}
