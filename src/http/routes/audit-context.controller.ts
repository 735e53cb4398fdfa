import { Controller, Get, Patch, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EditAuditContext } from '../../commands/auditctx-edit.js';
import { ControlError } from '../../contract/errors.js';
import { SERVICE_CONTEXT } from '../../contract/kinds.js';
import { DENIED_RETENTION_DAYS } from '../../model/auditctx.js';
import type { Change } from '../../model/change.js';
import { type AuditContext, GetAuditContext, ListAuditContexts } from '../../queries/auditctx.js';
import { Guarded, onOne, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { CONTEXT_PATH, ORG_PATH } from '../answers/paths.js';
import { authorityOf, callerOf } from '../caller.js';
import {
  checkContextName,
  checkQuery,
  isLikeServiceContext,
  likeServiceContext,
  noParameters,
} from '../errors/request-faults.js';
import { changeOf, entityTag, isKnownTag } from '../requests/preconditions.js';
import { sendNotModified } from '../server/streamed.js';

const ETAG = { etag: 'its version and its count, `"{version}-{count}"`; none if it has no settings' };

const EDIT = {
  path: CONTEXT_PATH,
  conditional: true,
  answers: { 200: 'AuditContext', 202: 'AuditContext' },
  headers: ETAG,
  errors: ['conflict', 'quota_exceeded', 'precondition_failed', 'log_unavailable', 'outcome_unknown'],
} as const;

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
  @Documented('listAuditContexts', {
    summary: 'List the audit contexts, with the number of events in each',
    path: ORG_PATH,
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
  @Documented('getAuditContext', {
    summary: 'Read an audit context: its settings, and how many events it serves',
    path: CONTEXT_PATH,
    revalidated: true,
    answers: { 200: 'AuditContext' },
    headers: ETAG,
    errors: ['validation_failed', 'not_found'],
  })
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, contextName } = request.params as ContextPath;
    checkContextName(contextName);
    checkQuery(noParameters, request);
    const body = contextBody(org, await this.queries.execute(new GetAuditContext(org, contextName)));
    const tag = tagOf(body);
    if (tag !== undefined && isKnownTag(request, tag)) return sendNotModified(reply.header('etag', tag));
    sendContext(reply, body);
  }

  @Put(':contextName')
  @Guarded(onOne('auditctx', 'manage'))
  @Documented('putAuditContext', {
    summary:
      'Set for how many days the events of an audit context are served (null: for ever), and how lines that are no events become events. A setting that is left out stays. Of `svc`, only `deniedRetentionDays`: for how many days denied attempts are served',
    ...EDIT,
    body: { 'application/json': 'AuditContextReplacement' },
  })
  put(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.edit(request, reply, 'replace');
  }

  @Patch(':contextName')
  @Guarded(onOne('auditctx', 'manage'))
  @Documented('patchAuditContext', {
    summary: 'Change the settings of an audit context: the body is merged into them (RFC 7396)',
    ...EDIT,
    body: { 'application/json': 'AuditContextPatch' },
  })
  patch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.edit(request, reply, 'merge');
  }

  /** 200 when reads show the setting; 202 when it is recorded, but the wait for the views ran out. */
  private async edit(request: FastifyRequest, reply: FastifyReply, how: Change['how']): Promise<void> {
    const { org, contextName: name } = request.params as ContextPath;
    checkContextName(name);
    if (isLikeServiceContext(name)) await this.requireThere(org, name);
    const change = changeOf(request, how);
    const command = new EditAuditContext(org, name, change, callerOf(request), authorityOf(request));
    const searchable = await this.commands.execute(command);
    reply.code(searchable ? 200 : 202);
    sendContext(reply, contextBody(org, await this.queries.execute(new GetAuditContext(org, name))));
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

function sendContext(reply: FastifyReply, body: ContextBody): void {
  const tag = tagOf(body);
  if (tag !== undefined) reply.header('etag', tag);
  reply.send(body);
}

/** The count changes without another version, so a caller has a context only if both are the same. */
function tagOf({ version, count }: ContextBody): string | undefined {
  return version === undefined ? undefined : entityTag(version, count);
}

interface ContextBody {
  readonly kind: 'auditctx';
  readonly name: string;
  readonly version?: number;
  readonly count: number;
}

function contextBody(org: string, { name, count, settings }: AuditContext): ContextBody {
  const self = `/audit/org/${org}/auditctx/${name}`;
  const links = [
    { rel: 'self', href: self },
    { rel: 'events', href: `/audit/org/${org}?contextName=${name}` },
  ];
  const own = name === SERVICE_CONTEXT ? { deniedRetentionDays: DENIED_RETENTION_DAYS } : { ingest: null };
  const set = { retentionDays: null, ...own, ...(settings !== undefined && JSON.parse(settings)) };
  return { kind: 'auditctx', name, ...set, count, links };
}
