import { Controller, Delete, Get, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CreateServiceAccount, DeleteServiceAccount, EditServiceAccount } from '../../commands/service-account.js';
import { ControlState } from '../../control/state.js';
import type { ServiceAccountDocument } from '../../model/service-account.js';
import { Guarded, onAll, onOne, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { sendChanged, sendCreated } from '../answers/resource.js';
import { checkBody, checkQuery, noParameters } from '../errors/request-faults.js';
import {
  CHANGE_ERRORS,
  changeRequest,
  deleteResource,
  getResource,
  listResources,
  ORG_PATH,
  queryResources,
  type RefPath,
} from '../resources.js';
import { patchOf, type Revisable, replacementOf } from '../revision.js';
import { compileShape } from '../shapes/compiled.js';
import { DescribedDto, ResourceListDto } from '../shapes/resource.js';
import { CreateServiceAccountDto } from '../shapes/service-account.js';

const REF_PATH = { ...ORG_PATH, ref: 'name of the service account' };

const createFaults = compileShape(CreateServiceAccountDto);
const documentFaults = compileShape(DescribedDto);

/** The description defaults to the name. */
function completed(name: string, { description = name, tags = {} }: DescribedDto): ServiceAccountDocument {
  return { description, tags };
}

function revisable(name: string): Revisable<ServiceAccountDocument> {
  return {
    kind: 'serviceaccount',
    faultsOf: documentFaults,
    complete: (body) => completed(name, body),
    identity: ['id', 'name', 'created', 'origin'],
    shown: ['keys'],
  };
}

/** Service accounts: programs of the organization. They speak by their keys. */
@Controller('org/:org/serviceaccount')
export class ServiceAccountController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly state: ControlState,
  ) {}

  @Post()
  @Guarded(onAll('serviceaccount', 'create'))
  @Documented({
    summary: 'Create a service account; it has no key yet',
    path: ORG_PATH,
    idempotent: true,
    body: { 'application/json': 'CreateServiceAccountDto' },
    answers: { 201: 'ServiceAccount', 202: 'ServiceAccount' },
    headers: { location: 'the path of the service account', etag: 'its version' },
    errors: ['builtin_tag', 'already_exists', 'quota_exceeded', 'idempotency_conflict', ...CHANGE_ERRORS],
  })
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    const { name, ...document } = checkBody<CreateServiceAccountDto>(createFaults, request.body);
    const command = new CreateServiceAccount(changeRequest(request), name, completed(name, document));
    sendCreated(reply, 'serviceaccount', await this.commands.execute(command), this.state.read);
  }

  @Get()
  @Guarded(onSome('serviceaccount', 'view'))
  @Documented({
    summary: 'List the service accounts, by name',
    path: ORG_PATH,
    query: ResourceListDto,
    answers: { 200: 'ServiceAccountList' },
    errors: ['validation_failed', 'invalid_cursor'],
  })
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return listResources(this.queries, 'serviceaccount', request, reply);
  }

  @Get(':ref')
  @Guarded(onOne('serviceaccount', 'view'))
  @Documented({
    summary: 'Read a service account, and which keys it has',
    path: REF_PATH,
    answers: { 200: 'ServiceAccount' },
    headers: { etag: 'its version' },
    errors: ['validation_failed', 'not_found'],
  })
  get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return getResource(this.queries, 'serviceaccount', request, reply);
  }

  @Patch(':ref')
  @Guarded(onOne('serviceaccount', 'edit'))
  @Documented({
    summary: 'Change the description and tags of a service account: the body is merged into them (RFC 7396)',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'ServiceAccountPatch' },
    answers: { 200: 'ServiceAccount', 202: 'ServiceAccount' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async patch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    const command = new EditServiceAccount(changeRequest(request), ref, patchOf(request, revisable(ref)));
    sendChanged(reply, 'serviceaccount', await this.commands.execute(command), this.state.read);
  }

  @Put(':ref')
  @Guarded(onOne('serviceaccount', 'edit'))
  @Documented({
    summary: 'Replace the description and tags of a service account: what the body leaves out gets its default',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'ServiceAccountReplacement' },
    answers: { 200: 'ServiceAccount', 202: 'ServiceAccount' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async replace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    const command = new EditServiceAccount(changeRequest(request), ref, replacementOf(request, revisable(ref)));
    sendChanged(reply, 'serviceaccount', await this.commands.execute(command), this.state.read);
  }

  @Delete(':ref')
  @Guarded(onOne('serviceaccount', 'delete'))
  @Documented({
    summary: 'Delete a service account, with its memberships, policy bindings and keys',
    path: REF_PATH,
    conditional: true,
    answers: { 204: 'Nothing' },
    errors: ['validation_failed', 'not_found', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return deleteResource(this.commands, DeleteServiceAccount, request, reply);
  }

  @Post('-query')
  @Guarded(onSome('serviceaccount', 'view'))
  @Documented({
    summary: 'Find service accounts',
    path: ORG_PATH,
    query: ResourceListDto,
    body: { 'application/json': 'QueryDto' },
    answers: { 200: 'ServiceAccountList' },
    errors: ['invalid_cursor'],
  })
  query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return queryResources(this.queries, this.state, 'serviceaccount', request, reply);
  }
}
