import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CreateOrg, RecoverOrg } from '../../commands/org.js';
import { GetOrg } from '../../queries/org-get.js';
import { ListOrgs } from '../../queries/org-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { CreateOrgDto } from '../../shapes/org.js';
import { ResourceListDto } from '../../shapes/resource.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { ORG_PATH } from '../answers/paths.js';
import { sendIssuedKey, sendList } from '../answers/resource.js';
import { callerOf } from '../caller.js';
import {
  checkBody,
  checkIdempotencyKey,
  checkOptionalBody,
  checkQuery,
  noMembers,
  noParameters,
} from '../errors/request-faults.js';
import { changeRequest, pageAsked } from '../resources.js';

const bodyFaults = compileShape(CreateOrgDto);

@Controller('org')
export class OrgController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  /** 201 when the organization can be read; 202 when it is made, but the wait for the views ran out. */
  @Post()
  @Guarded('root')
  @Documented('createOrg', {
    summary: "Create an organization, its service account `admin`, and that account's first key, shown this once",
    idempotent: true,
    body: { 'application/json': 'CreateOrgDto' },
    answers: { 201: 'CreatedOrg', 202: 'CreatedOrg' },
    headers: { location: 'the path of the organization' },
    errors: [
      'builtin_tag',
      'already_exists',
      'quota_exceeded',
      'conflict',
      'idempotency_conflict',
      'log_unavailable',
      'outcome_unknown',
    ],
  })
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    const body = checkBody<CreateOrgDto>(bodyFaults, request.body);
    const idempotencyKey = checkIdempotencyKey(request);
    const created = await this.commands.execute(new CreateOrg(body, callerOf(request), idempotencyKey));
    const { org, serviceAccount, key } = created;
    const href = `/org/${org.name}`;
    reply
      .code(created.searchable ? 201 : 202)
      .header('location', href)
      .header('cache-control', 'no-store')
      .send({ kind: 'org', ...org, links: [{ rel: 'self', href }], serviceAccount, key });
  }

  @Post(':org/-recover')
  @Guarded('root', { bodyOptional: true })
  @Documented('recoverOrg', {
    summary:
      'Give an organization that has lost its last key a new one of its service account `admin`, shown this once',
    path: ORG_PATH,
    idempotent: true,
    answers: { 201: 'IssuedKey', 202: 'IssuedKey' },
    headers: { location: 'the path of the service account' },
    errors: ['not_found', 'conflict', 'idempotency_conflict', 'log_unavailable', 'outcome_unknown'],
  })
  async recover(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    checkOptionalBody(noMembers, request.body);
    sendIssuedKey(reply, await this.commands.execute(new RecoverOrg(changeRequest(request))));
  }

  @Get()
  @Guarded('root')
  @Documented('listOrgs', {
    summary: 'List the organizations, by name',
    query: ResourceListDto,
    answers: { 200: 'OrgList' },
    errors: ['validation_failed', 'invalid_cursor'],
  })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { limit, cursor } = pageAsked(request);
    sendList(request, reply, 'org', await this.queries.execute(new ListOrgs(limit, cursor)));
  }

  @Get(':org')
  @Guarded('memberOrRoot')
  @Documented('getOrg', {
    summary: 'Read an organization',
    path: ORG_PATH,
    answers: { 200: 'Org' },
    errors: ['validation_failed', 'not_found'],
  })
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org } = request.params as { org: string };
    checkQuery(noParameters, request);
    const text = await this.queries.execute(new GetOrg(org));
    reply.header('content-type', 'application/json; charset=utf-8').send(text);
  }
}
