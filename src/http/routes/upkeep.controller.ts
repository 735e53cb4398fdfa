import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StartRebuild, StartReconciliation, StartTlogCheck } from '../../commands/upkeep.js';
import { type JobName, type JobState, Jobs } from '../../commands/upkeep-jobs.js';
import { GetTlogStatus } from '../../queries/tlog.js';
import { compileShape } from '../../shapes/compiled.js';
import { ReconcileDto } from '../../shapes/upkeep.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { callerOf } from '../caller.js';
import { checkOptionalBody, checkQuery, noMembers, noParameters } from '../errors/request-faults.js';

const reconcileFaults = compileShape(ReconcileDto);

/** Jobs on the whole read model of the service. Each runs in the process that took the request; every process knows its state. */
@Controller()
export class MaintenanceController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly jobs: Jobs,
  ) {}

  /** Reads and writes go on meanwhile. */
  @Post('-rebuild')
  @HttpCode(202)
  @Guarded('root', { bodyOptional: true, whileUnready: true })
  @Documented('startRebuild', {
    summary: 'Begin to fill the read model anew from the log, in place of the one that serves',
    answers: { 202: 'RebuildJob' },
    headers: { location: 'where its state is read' },
    errors: ['validation_failed', 'conflict', 'log_unavailable', 'read_model_unavailable'],
  })
  async rebuild(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<JobBody> {
    checkQuery(noParameters, request);
    checkOptionalBody(noMembers, request.body);
    reply.header('location', '/-rebuild');
    return jobBody('rebuild', await this.commands.execute(new StartRebuild(callerOf(request))));
  }

  @Get('-rebuild')
  @Guarded('root', { whileUnready: true })
  @Documented('getRebuild', {
    summary: 'Read how far the last rebuild is, and its report',
    answers: { 200: 'RebuildJob' },
    errors: ['validation_failed', 'read_model_unavailable'],
  })
  async rebuildState(@Req() request: FastifyRequest): Promise<JobBody> {
    checkQuery(noParameters, request);
    return jobBody('rebuild', await this.jobs.state('rebuild'));
  }

  /** Only what was indexed when it begins is compared. With `repair`, what differs is written as the log says. */
  @Post('-reconcile')
  @HttpCode(202)
  @Guarded('root', { bodyOptional: true })
  @Documented('startReconciliation', {
    summary: 'Begin to compare the read model with the log, and to repair it if so asked',
    body: { 'application/json': 'ReconcileDto' },
    bodyOptional: true,
    answers: { 202: 'ReconcileJob' },
    headers: { location: 'where its state is read' },
    errors: ['conflict', 'log_unavailable', 'read_model_unavailable'],
  })
  async reconcile(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<JobBody> {
    checkQuery(noParameters, request);
    const range = checkOptionalBody<ReconcileDto>(reconcileFaults, request.body);
    reply.header('location', '/-reconcile');
    return jobBody('reconcile', await this.commands.execute(new StartReconciliation(range, callerOf(request))));
  }

  @Get('-reconcile')
  @Guarded('root')
  @Documented('getReconciliation', {
    summary: 'Read how far the last reconciliation is, and its report',
    answers: { 200: 'ReconcileJob' },
    errors: ['validation_failed', 'read_model_unavailable'],
  })
  async reconcileState(@Req() request: FastifyRequest): Promise<JobBody> {
    checkQuery(noParameters, request);
    return jobBody('reconcile', await this.jobs.state('reconcile'));
  }

  /** Reads all of the log that is sealed. Changes nothing. */
  @Post('-tlog-check')
  @HttpCode(202)
  @Guarded('root', { bodyOptional: true })
  @Documented('startTlogCheck', {
    summary: 'Begin to make the trees over the log anew, and to compare them with what was sealed',
    answers: { 202: 'TlogCheckJob' },
    headers: { location: 'where its state is read' },
    errors: ['validation_failed', 'conflict', 'read_model_unavailable'],
  })
  async checkTrees(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<JobBody> {
    checkQuery(noParameters, request);
    checkOptionalBody(noMembers, request.body);
    reply.header('location', '/-tlog-check');
    return jobBody('tlog-check', await this.commands.execute(new StartTlogCheck()));
  }

  @Get('-tlog-check')
  @Guarded('root')
  @Documented('getTlogCheck', {
    summary: 'Read how far the last check of the trees is, and its report',
    answers: { 200: 'TlogCheckJob' },
    errors: ['validation_failed', 'read_model_unavailable'],
  })
  async checkState(@Req() request: FastifyRequest): Promise<JobBody> {
    checkQuery(noParameters, request);
    return jobBody('tlog-check', await this.jobs.state('tlog-check'));
  }

  /** Of the sealed history, as far as the process that takes the request knows it. */
  @Get('-tlog-status')
  @Guarded('root', { whileUnready: true })
  @Documented('getTlogStatus', {
    summary: 'Read how far the log is sealed, who cosigned that, and where it is anchored',
    answers: { 200: 'TlogStatus' },
    errors: ['validation_failed', 'log_unavailable', 'read_model_unavailable'],
  })
  async tlogStatus(@Req() request: FastifyRequest): Promise<object> {
    checkQuery(noParameters, request);
    const status = await this.queries.execute(new GetTlogStatus());
    return { kind: 'tlogstatus', ...status, links: [{ rel: 'self', href: '/-tlog-status' }] };
  }
}

type JobBody = JobState & { readonly kind: 'job'; readonly name: JobName };

function jobBody(name: JobName, state: JobState): JobBody & { readonly links: readonly object[] } {
  return { kind: 'job', name, ...state, links: [{ rel: 'self', href: `/-${name}` }] };
}
