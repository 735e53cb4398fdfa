import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StartRebuild, StartReconciliation } from '../../commands/upkeep.js';
import { type JobName, type JobState, Jobs } from '../../commands/upkeep-jobs.js';
import { compileShape } from '../../shapes/compiled.js';
import { ReconcileDto } from '../../shapes/upkeep.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { callerOf } from '../caller.js';
import { checkOptionalBody, checkQuery, noMembers, noParameters } from '../errors/request-faults.js';

const reconcileFaults = compileShape(ReconcileDto);

/** Jobs on the whole read model of the service. Each runs in the process that took the request, which knows its state. */
@Controller()
export class MaintenanceController {
  constructor(
    private readonly commands: CommandBus,
    private readonly jobs: Jobs,
  ) {}

  /** Reads and writes go on meanwhile. */
  @Post('-rebuild')
  @HttpCode(202)
  @Guarded('root', { bodyOptional: true })
  @Documented({
    summary: 'Begin to fill the read model anew from the log, in place of the one that serves',
    answers: { 202: 'RebuildJob' },
    headers: { location: 'where its state is read' },
    errors: ['validation_failed', 'conflict', 'log_unavailable'],
  })
  async rebuild(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<JobBody> {
    checkQuery(noParameters, request);
    checkOptionalBody(noMembers, request.body);
    reply.header('location', '/-rebuild');
    return jobBody('rebuild', await this.commands.execute(new StartRebuild(callerOf(request))));
  }

  @Get('-rebuild')
  @Guarded('root')
  @Documented({
    summary: 'Read how far the last rebuild of this process is, and its report',
    answers: { 200: 'RebuildJob' },
    errors: ['validation_failed'],
  })
  rebuildState(@Req() request: FastifyRequest): JobBody {
    checkQuery(noParameters, request);
    return jobBody('rebuild', this.jobs.state('rebuild'));
  }

  /** Only what was indexed when it begins is compared. With `repair`, what differs is written as the log says. */
  @Post('-reconcile')
  @HttpCode(202)
  @Guarded('root', { bodyOptional: true })
  @Documented({
    summary: 'Begin to compare the read model with the log, and to repair it if so asked',
    body: { 'application/json': 'ReconcileDto' },
    bodyOptional: true,
    answers: { 202: 'ReconcileJob' },
    headers: { location: 'where its state is read' },
    errors: ['conflict', 'log_unavailable'],
  })
  async reconcile(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<JobBody> {
    checkQuery(noParameters, request);
    const range = checkOptionalBody<ReconcileDto>(reconcileFaults, request.body);
    reply.header('location', '/-reconcile');
    return jobBody('reconcile', await this.commands.execute(new StartReconciliation(range, callerOf(request))));
  }

  @Get('-reconcile')
  @Guarded('root')
  @Documented({
    summary: 'Read how far the last reconciliation of this process is, and its report',
    answers: { 200: 'ReconcileJob' },
    errors: ['validation_failed'],
  })
  reconcileState(@Req() request: FastifyRequest): JobBody {
    checkQuery(noParameters, request);
    return jobBody('reconcile', this.jobs.state('reconcile'));
  }
}

interface JobBody extends JobState {
  readonly kind: 'job';
  readonly name: JobName;
}

function jobBody(name: JobName, state: JobState): JobBody & { readonly links: readonly object[] } {
  return { kind: 'job', name, ...state, links: [{ rel: 'self', href: `/-${name}` }] };
}
