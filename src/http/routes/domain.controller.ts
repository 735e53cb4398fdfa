import { Controller, Delete, Get, Patch, Post, Put, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CreateDomain, DeleteDomain, EditDomain } from '../../commands/domain.js';
import { LIMITS } from '../../contract/limits.js';
import { ControlState } from '../../control/state.js';
import type { DomainDocument } from '../../model/domain.js';
import { completedSpec, type SentDomainSpec } from '../../model/domain-spec.js';
import { Guarded, onAll, onOne, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { sendChanged, sendCreated } from '../answers/resource.js';
import { checkBody, checkQuery, noParameters } from '../errors/request-faults.js';
import { RegexCheck } from '../regex/regex.js';
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
import type { CreateDomainDto, DomainDto } from '../shapes/domain.js';
import { createDomainFaults, domainFaults } from '../shapes/domain-rules.js';
import { ResourceListDto } from '../shapes/resource.js';

const REF_PATH = { ...ORG_PATH, ref: 'name of the domain' };

/** The description defaults to the name, which may be longer than a description. */
function completed(name: string, document: DomainDto): DomainDocument {
  const { description = name.slice(0, LIMITS.description), tags = {}, spec } = document;
  return { description, tags, spec: completedSpec(spec as SentDomainSpec) };
}

/** A patch is tried on the stored document as often as others come first; what was found sound stays so. */
function revisable(name: string): Revisable<DomainDocument> {
  const regexes = new RegexCheck();
  return {
    kind: 'domain',
    faultsOf: (document) => domainFaults(document, regexes),
    complete: (body) => completed(name, body as unknown as DomainDto),
    identity: ['id', 'name', 'created'],
  };
}

/** Domains: host names, and where their traffic goes. The service records them; it does not provision. */
@Controller('org/:org/domain')
export class DomainController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly state: ControlState,
  ) {}

  @Post()
  @Guarded(onAll('domain', 'create'))
  @Documented({
    summary: 'Create a domain; its name is unique over all organizations',
    path: ORG_PATH,
    idempotent: true,
    body: { 'application/json': 'CreateDomainDto' },
    answers: { 201: 'Domain', 202: 'Domain' },
    headers: { location: 'the path of the domain', etag: 'its version' },
    errors: ['builtin_tag', 'already_exists', 'quota_exceeded', 'idempotency_conflict', ...CHANGE_ERRORS],
  })
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    const { name, ...document } = checkBody<CreateDomainDto>(
      (body) => createDomainFaults(body, new RegexCheck()),
      request.body,
    );
    const command = new CreateDomain(changeRequest(request), name, completed(name, document));
    sendCreated(reply, 'domain', await this.commands.execute(command), this.state.read);
  }

  @Get()
  @Guarded(onSome('domain', 'view'))
  @Documented({
    summary: 'List the domains, by name',
    path: ORG_PATH,
    query: ResourceListDto,
    answers: { 200: 'DomainList' },
    errors: ['validation_failed', 'invalid_cursor'],
  })
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return listResources(this.queries, 'domain', request, reply);
  }

  @Get(':ref')
  @Guarded(onOne('domain', 'view'))
  @Documented({
    summary: 'Read a domain',
    path: REF_PATH,
    answers: { 200: 'Domain' },
    headers: { etag: 'its version' },
    errors: ['validation_failed', 'not_found'],
  })
  get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return getResource(this.queries, 'domain', request, reply);
  }

  @Patch(':ref')
  @Guarded(onOne('domain', 'edit'))
  @Documented({
    summary: 'Change a domain: the body is merged into it (RFC 7396), and the whole is checked again',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'DomainPatch' },
    answers: { 200: 'Domain', 202: 'Domain' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async patch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    const command = new EditDomain(changeRequest(request), ref, patchOf(request, revisable(ref)));
    sendChanged(reply, 'domain', await this.commands.execute(command), this.state.read);
  }

  @Put(':ref')
  @Guarded(onOne('domain', 'edit'))
  @Documented({
    summary: 'Replace a domain: what the body leaves out gets its default',
    path: REF_PATH,
    conditional: true,
    body: { 'application/json': 'DomainReplacement' },
    answers: { 200: 'Domain', 202: 'Domain' },
    headers: { etag: 'its version' },
    errors: ['not_found', 'builtin_tag', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async replace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    const command = new EditDomain(changeRequest(request), ref, replacementOf(request, revisable(ref)));
    sendChanged(reply, 'domain', await this.commands.execute(command), this.state.read);
  }

  @Delete(':ref')
  @Guarded(onOne('domain', 'delete'))
  @Documented({
    summary: 'Delete a domain; the policies that name it lose it',
    path: REF_PATH,
    conditional: true,
    answers: { 204: 'Nothing' },
    errors: ['validation_failed', 'not_found', 'precondition_failed', ...CHANGE_ERRORS],
  })
  delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return deleteResource(this.commands, DeleteDomain, request, reply);
  }

  @Post('-query')
  @Guarded(onSome('domain', 'view'))
  @Documented({
    summary: 'Find domains',
    path: ORG_PATH,
    query: ResourceListDto,
    body: { 'application/json': 'QueryDto' },
    answers: { 200: 'DomainList' },
    errors: ['invalid_cursor'],
  })
  query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return queryResources(this.queries, this.state, 'domain', request, reply);
  }
}
