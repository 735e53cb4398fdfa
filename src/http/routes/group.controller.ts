import { Controller, Delete, Get, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CreateGroup, DeleteGroup, EditGroup } from '../../commands/group.js';
import { ControlState } from '../../control/state.js';
import type { GroupDocument } from '../../model/group.js';
import type { MemberQuery } from '../../model/member-query.js';
import { memberLink, usersOf } from '../../model/principals.js';
import { Guarded, onAll, onOne, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { sendChanged, sendCreated } from '../answers/resource.js';
import { checkBody, checkQuery, noParameters } from '../errors/request-faults.js';
import { patchedList } from '../json/merge-patch.js';
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
import { CreateGroupDto, GroupDto, type MemberQueryDto } from '../shapes/group.js';
import { specFaults } from '../shapes/query-body.js';
import { ResourceListDto } from '../shapes/resource.js';

const REF_PATH = { ...ORG_PATH, ref: 'name of the group' };

const groupShape = compileShape(GroupDto);
const groupFaults = (document: unknown) => {
  const faults = groupShape(document);
  const { memberQuery } = document as Partial<GroupDocument>;
  return faults.length > 0 || !memberQuery ? faults : specFaults(memberQuery.spec, 'user', '/memberQuery/spec');
};
const createShape = compileShape(CreateGroupDto);
const createFaults = (body: unknown) => {
  const faults = createShape(body);
  if (faults.length > 0) return faults;
  const { name: _name, ...document } = body as CreateGroupDto;
  return groupFaults(document);
};

/** The description defaults to the name. */
function completed(
  name: string,
  { description = name, tags = {}, memberLinks = [], memberQuery }: GroupDto,
): GroupDocument {
  return { description, tags, memberLinks, ...(memberQuery && { memberQuery: completedQuery(memberQuery) }) };
}

function completedQuery({ kind, spec }: MemberQueryDto): MemberQuery {
  return { kind, fetch: 'items', spec: { match: 'all', terms: [], ...spec } };
}

/** `keys` tells which member a link names: one user has several links, by e-mail address and by id. */
function revisable(name: string, keys?: () => (link: string) => string): Revisable<GroupDocument> {
  return {
    kind: 'group',
    faultsOf: groupFaults,
    complete: (body) => completed(name, body),
    identity: ['id', 'name', 'created', 'origin'],
    expand: ({ memberLinks }, patch) => {
      const patched = patchedList(memberLinks, patch.memberLinks, '/memberLinks', keys?.());
      if (!patched) return { patch, faults: [] };
      return { patch: { ...patch, memberLinks: patched.list }, faults: patched.faults };
    },
  };
}

/** Groups: principals that share what they may do. */
@Controller('org/:org/group')
export class GroupController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly state: ControlState,
  ) {}

  @Post()
  @Guarded(onAll('group', 'create'))
  @Documented({
    summary: 'Create a group',
    path: ORG_PATH,
    idempotent: true,
    body: { 'application/json': 'CreateGroupDto' },
    answers: { 201: 'Group', 202: 'Group' },
    headers: { location: 'the path of the group', etag: 'its version' },
    errors: ['builtin_tag', 'already_exists', 'quota_exceeded', 'idempotency_conflict', ...CHANGE_ERRORS],
  })
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    const { name, ...document } = checkBody<CreateGroupDto>(createFaults, request.body);
    const command = new CreateGroup(changeRequest(request), name, completed(name, document));
    sendCreated(reply, 'group', await this.commands.execute(command), this.state.read);
  }

  @Get()
  @Guarded(onSome('group', 'view'))
  @Documented({
    summary: 'List the groups, by name',
    path: ORG_PATH,
    query: ResourceListDto,
    answers: { 200: 'GroupList' },
    errors: ['validation_failed', 'invalid_cursor'],
  })
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return listResources(this.queries, 'group', request, reply);
  }

  @Get(':ref')
  @Guarded(onOne('group', 'view'))
  @Documented({
    summary: 'Read a group',
    path: REF_PATH,
    answers: { 200: 'Group' },
    headers: { etag: 'its version' },
    errors: ['validation_failed', 'not_found'],
  })
  get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return getResource(this.queries, 'group', request, reply);
  }

  @Patch(':ref')
  @Guarded(onOne('group', 'edit'))
  @Documented({
    summary:
      'Change a group: the body is merged into it (RFC 7396); memberLinks also takes $append, $drop and $replace',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'GroupPatch' },
    answers: { 200: 'Group', 202: 'Group' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async patch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, ref } = request.params as RefPath;
    const keys = () => {
      const findUser = usersOf(this.state.read, org);
      return (link: string) => memberLink(this.state.read, org, link, findUser) ?? link;
    };
    const command = new EditGroup(changeRequest(request), ref, patchOf(request, revisable(ref, keys)));
    sendChanged(reply, 'group', await this.commands.execute(command), this.state.read);
  }

  @Put(':ref')
  @Guarded(onOne('group', 'edit'))
  @Documented({
    summary: 'Replace a group: what the body leaves out gets its default',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'GroupReplacement' },
    answers: { 200: 'Group', 202: 'Group' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async replace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    const command = new EditGroup(changeRequest(request), ref, replacementOf(request, revisable(ref)));
    sendChanged(reply, 'group', await this.commands.execute(command), this.state.read);
  }

  @Delete(':ref')
  @Guarded(onOne('group', 'delete'))
  @Documented({
    summary: 'Delete a group; the policies that name it lose it',
    path: REF_PATH,
    conditional: true,
    answers: { 204: 'Nothing' },
    errors: ['validation_failed', 'not_found', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return deleteResource(this.commands, DeleteGroup, request, reply);
  }

  @Post('-query')
  @Guarded(onSome('group', 'view'))
  @Documented({
    summary: 'Find groups',
    path: ORG_PATH,
    query: ResourceListDto,
    body: { 'application/json': 'QueryDto' },
    answers: { 200: 'GroupList' },
    errors: ['invalid_cursor'],
  })
  query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return queryResources(this.queries, this.state, 'group', request, reply);
  }
}
