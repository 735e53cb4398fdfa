import { Controller, Get, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EditAuditContext } from '../../commands/auditctx-edit.js';
import { ControlError } from '../../contract/errors.js';
import { SERVICE_CONTEXT } from '../../model/audit-event.js';
import { DENIED_RETENTION_DAYS } from '../../model/auditctx.js';
import { type AuditContext, GetAuditContext, ListAuditContexts } from '../../queries/auditctx.js';
import { Guarded, onOne, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { authorityOf, callerOf } from '../caller.js';
import {
  checkContextName,
  checkQuery,
  isLikeServiceContext,
  likeServiceContext,
  noParameters,
} from '../errors/request-faults.js';
import { changeOf, entityTag } from '../requests/preconditions.js';

const CONTEXT_PATH = { org: 'name of the organization', contextName: 'name of the audit context' };

interface ContextPath {
  readonly org: string;
  readonly contextName: string;
}

/** The audit contexts of an organization and their settings. */
@Controller('audit/org/:org/auditctx')
export class AuditContextController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Get()
  @Guarded(onSome('auditctx', 'readAudit'))
  @Documented({
    summary: 'List the audit contexts, with the number of events in each',
    path: { org: CONTEXT_PATH.org },
    answers: { 200: 'AuditContextList' },
    errors: ['validation_failed'],
  })
  async list(@Req() request: FastifyRequest): Promise<unknown> {
    const { org } = request.params as { org: string };
    checkQuery(noParameters, request);
    const contexts = await this.queries.execute(new ListAuditContexts(org, request.reach));
    const items = contexts.map((context) => contextBody(org, context));
    return { kind: 'list', itemKind: 'auditctx', items, links: [{ rel: 'self', href: `/audit/org/${org}/auditctx` }] };
  }

  @Get(':contextName')
  @Guarded(onOne('auditctx', 'readAudit'))
  @Documented({
    summary: 'Read an audit context: its settings, and how many events it serves',
    path: CONTEXT_PATH,
    answers: { 200: 'AuditContext' },
    errors: ['validation_failed', 'not_found'],
  })
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, contextName } = request.params as ContextPath;
    checkContextName(contextName);
    checkQuery(noParameters, request);
    sendContext(reply, org, await this.queries.execute(new GetAuditContext(org, contextName)));
  }

  /** 200 when reads show the setting; 202 when it is recorded, but the wait for the views ran out. */
  @Put(':contextName')
  @Guarded(onOne('auditctx', 'manage'))
  @Documented({
    summary:
      'Set for how many days the events of an audit context are served; null: for ever. Of `svc`, only `deniedRetentionDays`: for how many days denied attempts are',
    path: CONTEXT_PATH,
    conditional: true,
    body: { 'application/json': 'AuditContextReplacement' },
    answers: { 200: 'AuditContext', 202: 'AuditContext' },
    errors: ['conflict', 'quota_exceeded', 'precondition_failed', 'log_unavailable', 'outcome_unknown'],
  })
  async put(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, contextName: name } = request.params as ContextPath;
    checkContextName(name);
    if (isLikeServiceContext(name)) await this.requireThere(org, name);
    const change = changeOf(request, 'replace');
    const command = new EditAuditContext(org, name, change, callerOf(request), authorityOf(request));
    const searchable = await this.commands.execute(command);
    reply.code(searchable ? 200 : 202);
    sendContext(reply, org, await this.queries.execute(new GetAuditContext(org, name)));
  }

  /** One that has events from earlier keeps its settings; none is made. */
  private async requireThere(org: string, name: string): Promise<void> {
    try {
      await this.queries.execute(new GetAuditContext(org, name));
    } catch (error) {
      throw error instanceof ControlError && error.code === 'not_found' ? likeServiceContext(name) : error;
    }
  }
}

function sendContext(reply: FastifyReply, org: string, context: AuditContext): void {
  const body = contextBody(org, context);
  if (body.version !== undefined) reply.header('etag', entityTag(body.version));
  reply.send(body);
}

interface ContextBody {
  readonly kind: 'auditctx';
  readonly name: string;
  readonly version?: number;
}

function contextBody(org: string, { name, count, settings }: AuditContext): ContextBody {
  const self = `/audit/org/${org}/auditctx/${name}`;
  const links = [
    { rel: 'self', href: self },
    { rel: 'events', href: `/audit/org/${org}?contextName=${name}` },
  ];
  const denied = name === SERVICE_CONTEXT && { deniedRetentionDays: DENIED_RETENTION_DAYS };
  const set = { retentionDays: null, ...denied, ...(settings !== undefined && JSON.parse(settings)) };
  return { kind: 'auditctx', name, ...set, count, links };
}
