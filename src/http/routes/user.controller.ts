import { Controller, Delete, Get, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DeleteUser, EditUser } from '../../commands/user.js';
import { ControlState } from '../../control/state.js';
import type { UserDocument } from '../../model/user.js';
import { Guarded, onOne, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { sendChanged } from '../answers/resource.js';
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
import { ResourceListDto } from '../shapes/resource.js';
import { UserDto } from '../shapes/user.js';

const REF_PATH = { ...ORG_PATH, ref: 'e-mail address of the user, in any case, or its id' };

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
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return listResources(this.queries, 'user', request, reply);
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
  get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return getResource(this.queries, 'user', request, reply);
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
    const { ref } = request.params as RefPath;
    const command = new EditUser(changeRequest(request), ref, patchOf(request, USER));
    sendChanged(reply, 'user', await this.commands.execute(command), this.state.read);
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
    const { ref } = request.params as RefPath;
    const command = new EditUser(changeRequest(request), ref, replacementOf(request, USER));
    sendChanged(reply, 'user', await this.commands.execute(command), this.state.read);
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
  delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return deleteResource(this.commands, DeleteUser, request, reply);
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
  query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return queryResources(this.queries, this.state, 'user', request, reply);
  }
}
