import { Controller, Delete, Get, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ControlState } from '../commands/control-state.js';
import { DeleteUser, EditUser } from '../commands/user.js';
import type { UserDocument } from '../model/user.js';
import { viewOf } from '../model/views.js';
import { GetResource } from '../queries/resource-get.js';
import { ListResources } from '../queries/resource-list.js';
import { QueryResources } from '../queries/resource-query.js';
import { Guarded, onOne, onSome } from './access.js';
import { Documented } from './documented.js';
import { compileShape } from './dto/compiled.js';
import { ResourceListDto } from './dto/resource.js';
import { UserDto } from './dto/user.js';
import { preconditionOf } from './preconditions.js';
import { checkQueryBody } from './query-body.js';
import { checkQuery, noParameters } from './request-faults.js';
import {
  changeRequest,
  ORG_PATH,
  type OrgPath,
  pageOf,
  type RefPath,
  sendChanged,
  sendList,
  sendResource,
  viewableBy,
} from './resources.js';
import { patchOf, type Revisable, type Revision, replacementOf } from './revision.js';

const REF_PATH = { ...ORG_PATH, ref: 'e-mail address of the user, in any case, or its id' };
const CHANGE_ERRORS = ['conflict', 'log_unavailable', 'outcome_unknown'] as const;

/** The description defaults to the full name. */
const USER: Revisable<UserDocument> = {
  kind: 'user',
  faultsOf: compileShape(UserDto),
  complete: (body) => {
    const { name, description = name, tags = {} } = body as unknown as UserDto;
    return { name, description, tags };
  },
  identity: ['id', 'email', 'idp', 'created'],
};

/** Users: people of the organization. They come by invitation. */
@Controller('org/:org/user')
export class UserController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly state: ControlState,
  ) {}

  @Get()
  @Guarded(onSome('user', 'view'))
  @Documented({
    summary: 'List the users, by e-mail address',
    path: ORG_PATH,
    query: ResourceListDto,
    answers: { 200: 'UserList' },
    errors: ['validation_failed', 'invalid_cursor'],
  })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org } = request.params as OrgPath;
    const options = { ...pageOf(request), reach: request.reach };
    sendList(request, reply, 'user', await this.queries.execute(new ListResources('user', org, options)));
  }

  @Get(':ref')
  @Guarded(onOne('user', 'view'))
  @Documented({
    summary: 'Read a user',
    path: REF_PATH,
    answers: { 200: 'User' },
    headers: { etag: 'its version' },
    errors: ['validation_failed', 'not_found'],
  })
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, ref } = request.params as RefPath;
    checkQuery(noParameters, request);
    sendResource(reply, await this.queries.execute(new GetResource('user', org, ref)));
  }

  @Patch(':ref')
  @Guarded(onOne('user', 'edit'))
  @Documented({
    summary: 'Change the full name, description and tags of a user: the body is merged into them (RFC 7396)',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'UserPatch' },
    answers: { 200: 'User', 202: 'User' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async patch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    return this.edit(request, reply, patchOf(request, USER));
  }

  @Put(':ref')
  @Guarded(onOne('user', 'edit'))
  @Documented({
    summary: 'Replace the full name, description and tags of a user: what the body leaves out gets its default',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'UserReplacement' },
    answers: { 200: 'User', 202: 'User' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async replace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    return this.edit(request, reply, replacementOf(request, USER));
  }

  @Delete(':ref')
  @Guarded(onOne('user', 'delete'))
  @Documented({
    summary: 'Delete a user, with its memberships, policy bindings and keys',
    path: REF_PATH,
    conditional: true,
    answers: { 204: 'Nothing' },
    errors: ['validation_failed', 'not_found', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    checkQuery(noParameters, request);
    await this.commands.execute(new DeleteUser(changeRequest(request), ref, preconditionOf(request)));
    reply.code(204).send();
  }

  @Post('-query')
  @Guarded(onSome('user', 'view'))
  @Documented({
    summary: 'Find users',
    path: ORG_PATH,
    query: ResourceListDto,
    body: { 'application/json': 'QueryDto' },
    answers: { 200: 'UserList' },
    errors: ['invalid_cursor'],
  })
  async query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org } = request.params as OrgPath;
    const { spec, fetch } = checkQueryBody(request, 'user');
    const options = { ...pageOf(request), reach: request.reach, mayView: viewableBy(request, this.state) };
    const page = await this.queries.execute(new QueryResources('user', org, spec, options));
    sendList(request, reply, 'user', page, fetch);
  }

  private async edit(request: FastifyRequest, reply: FastifyReply, revision: Revision<UserDocument>): Promise<void> {
    const { ref } = request.params as RefPath;
    const { state, searchable } = await this.commands.execute(new EditUser(changeRequest(request), ref, revision));
    sendChanged(reply, viewOf('user', state, this.state.read), searchable);
  }
}
