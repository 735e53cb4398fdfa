import { Controller, Delete, Get, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CreatePolicy, DeletePolicy, EditPolicy } from '../../commands/policy.js';
import { ControlState } from '../../control/state.js';
import type { PolicyDocument } from '../../model/policy.js';
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
import { CreatePolicyDto, PolicyDto } from '../shapes/policy.js';
import { ResourceListDto } from '../shapes/resource.js';

const REF_PATH = { ...ORG_PATH, ref: 'name of the policy' };

const createFaults = compileShape(CreatePolicyDto);
const documentFaults = compileShape(PolicyDto);

/** The description defaults to the name. */
function completed(
  name: string,
  { description = name, tags = {}, bindings = [], ...rules }: Omit<PolicyDto, 'name'>,
): PolicyDocument {
  return { description, tags, bindings, ...rules };
}

function revisable(name: string): Revisable<PolicyDocument> {
  return {
    kind: 'policy',
    faultsOf: documentFaults,
    complete: (body) => completed(name, body as unknown as PolicyDto),
    identity: ['id', 'name', 'created', 'origin'],
    expand: (_document, patch) => ({ patch: { ...replacedTarget(patch), ...patch }, faults: [] }),
  };
}

/** Of `target` and `targetLinks` one stands in place of the other: a patch that gives one takes the other away. */
function replacedTarget({ target = null, targetLinks = null }: Readonly<Record<string, unknown>>): object {
  if (target !== null) return { targetLinks: null };
  return targetLinks === null ? {} : { target: null };
}

/** Policies: who may do what to which resources. */
@Controller('org/:org/policy')
export class PolicyController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly state: ControlState,
  ) {}

  @Post()
  @Guarded(onAll('policy', 'create'))
  @Documented({
    summary: 'Create a policy, which gives permissions on all resources of a kind, or on some of them',
    path: ORG_PATH,
    idempotent: true,
    body: { 'application/json': 'CreatePolicyDto' },
    answers: { 201: 'Policy', 202: 'Policy' },
    headers: { location: 'the path of the policy', etag: 'its version' },
    errors: ['builtin_tag', 'already_exists', 'quota_exceeded', 'idempotency_conflict', ...CHANGE_ERRORS],
  })
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    const { name, ...document } = checkBody<CreatePolicyDto>(createFaults, request.body);
    const command = new CreatePolicy(changeRequest(request), name, completed(name, document));
    sendCreated(reply, 'policy', await this.commands.execute(command), this.state.read);
  }

  @Get()
  @Guarded(onSome('policy', 'view'))
  @Documented({
    summary: 'List the policies, by name',
    path: ORG_PATH,
    query: ResourceListDto,
    answers: { 200: 'PolicyList' },
    errors: ['validation_failed', 'invalid_cursor'],
  })
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return listResources(this.queries, 'policy', request, reply);
  }

  @Get(':ref')
  @Guarded(onOne('policy', 'view'))
  @Documented({
    summary: 'Read a policy',
    path: REF_PATH,
    answers: { 200: 'Policy' },
    headers: { etag: 'its version' },
    errors: ['validation_failed', 'not_found'],
  })
  get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return getResource(this.queries, 'policy', request, reply);
  }

  @Patch(':ref')
  @Guarded(onOne('policy', 'edit'))
  @Documented({
    summary: 'Change a policy: the body is merged into it (RFC 7396); target takes the place of targetLinks and back',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'PolicyPatch' },
    answers: { 200: 'Policy', 202: 'Policy' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async patch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    const command = new EditPolicy(changeRequest(request), ref, patchOf(request, revisable(ref)));
    sendChanged(reply, 'policy', await this.commands.execute(command), this.state.read);
  }

  @Put(':ref')
  @Guarded(onOne('policy', 'edit'))
  @Documented({
    summary: 'Replace a policy: what the body leaves out gets its default',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'PolicyReplacement' },
    answers: { 200: 'Policy', 202: 'Policy' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async replace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    const command = new EditPolicy(changeRequest(request), ref, replacementOf(request, revisable(ref)));
    sendChanged(reply, 'policy', await this.commands.execute(command), this.state.read);
  }

  @Delete(':ref')
  @Guarded(onOne('policy', 'delete'))
  @Documented({
    summary: 'Delete a policy: what it alone granted is granted no more',
    path: REF_PATH,
    conditional: true,
    answers: { 204: 'Nothing' },
    errors: ['validation_failed', 'not_found', 'builtin_resource', 'precondition_failed', ...CHANGE_ERRORS],
  })
  delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return deleteResource(this.commands, DeletePolicy, request, reply);
  }

  @Post('-query')
  @Guarded(onSome('policy', 'view'))
  @Documented({
    summary: 'Find policies',
    path: ORG_PATH,
    query: ResourceListDto,
    body: { 'application/json': 'QueryDto' },
    answers: { 200: 'PolicyList' },
    errors: ['invalid_cursor'],
  })
  query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return queryResources(this.queries, this.state, 'policy', request, reply);
  }
}
