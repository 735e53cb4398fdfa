import { applyDecorators, Controller, Delete, Get, Patch, Post, Put, Req, Res, type Type } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CreateResource, DeleteResource, EditResource } from '../../commands/resource.js';
import type { Operation } from '../../contract/kinds.js';
import { ControlState } from '../../control/state.js';
import type { ShapedKind } from '../../kinds/shaped-kind.js';
import type { Change } from '../../model/change.js';
import type { Json } from '../../model/json.js';
import type { ViewKind } from '../../model/views.js';
import { ResourceListDto } from '../../shapes/resource.js';
import { Guarded, onAll, onOne, onSome } from '../access.js';
import { type Documentation, Documented } from '../answers/documented.js';
import { ORG_PATH, refPathOf } from '../answers/paths.js';
import { sendChanged, sendCreated } from '../answers/resource.js';
import { checkBody, checkQuery, noParameters } from '../errors/request-faults.js';
import { changeOf, preconditionOf } from '../requests/preconditions.js';
import {
  CHANGE_ERRORS,
  changeRequest,
  getResource,
  listResources,
  queryResources,
  type RefPath,
} from '../resources.js';

const ETAG = { etag: 'its version' };

/** The routes of a kind: those of its operations. */
export function resourceController(of: ShapedKind): Type {
  const { schema, noun, plural, says, ...kind } = of.kind;
  const name = kind.name as Exclude<ViewKind, 'org' | 'auditctx' | 'invitation'>;
  const refPath = refPathOf(of.kind);
  const builtin = (operation: Operation) => (kind.builtin.includes(operation) ? (['builtin_resource'] as const) : []);
  const offered = (operation: Operation, ...decorators: MethodDecorator[]) =>
    applyDecorators(...(kind.operations.includes(operation) ? decorators : []));
  const several = plural.replace(/(?:^| )./g, (initial) => initial.trim().toUpperCase());
  const listed: Pick<Documentation, 'path' | 'query'> = { path: ORG_PATH, query: ResourceListDto };
  const edited = (body: string, ...types: readonly string[]): Omit<Documentation, 'summary'> => ({
    path: refPath,
    conditional: true,
    body: Object.fromEntries(['application/json', ...types].map((type) => [type, body])),
    answers: { 200: schema, 202: schema },
    headers: ETAG,
    errors: ['not_found', 'builtin_tag', ...builtin('edit'), 'precondition_failed', ...CHANGE_ERRORS],
  });
  const [whole, into] = says.edited ? [`${says.edited} of a ${noun}`, 'them'] : [`a ${noun}`, 'it'];

  @Controller(`org/:org/${name}`)
  class ResourceController {
    constructor(
      private readonly commands: CommandBus,
      private readonly queries: QueryBus,
      private readonly state: ControlState,
    ) {}

    @offered(
      'create',
      Post(),
      Guarded(onAll(name, 'create')),
      Documented(`create${schema}`, {
        summary: `Create a ${noun}${says.create ?? ''}`,
        path: ORG_PATH,
        idempotent: true,
        body: { 'application/json': `Create${schema}Dto` },
        answers: { 201: schema, 202: schema },
        headers: { location: `the path of the ${noun}`, ...ETAG },
        errors: ['builtin_tag', 'already_exists', 'quota_exceeded', 'idempotency_conflict', ...CHANGE_ERRORS],
      }),
    )
    async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      checkQuery(noParameters, request);
      const check = of.newCreationCheck?.() ?? (() => []);
      const body = checkBody<Json & { name: string }>((sent) => [...check(sent)], request.body);
      const command = new CreateResource(name, changeRequest(request), body);
      sendCreated(reply, name, await this.commands.execute(command), this.state.read);
    }

    @offered(
      'list',
      Get(),
      Guarded(onSome(name, 'view')),
      Documented(`list${several}`, {
        summary: `List the ${plural}, by ${kind.ref === 'email' ? 'e-mail address' : 'name'}`,
        ...listed,
        answers: { 200: `${schema}List` },
        errors: ['validation_failed', 'invalid_cursor'],
      }),
    )
    list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      return listResources(this.queries, name, request, reply);
    }

    @offered(
      'get',
      Get(':ref'),
      Guarded(onOne(name, 'view')),
      Documented(`get${schema}`, {
        summary: `Read a ${noun}${says.get ?? ''}`,
        path: refPath,
        revalidated: !kind.shown.includes('keys'),
        answers: { 200: schema },
        headers: ETAG,
        errors: ['validation_failed', 'not_found'],
      }),
    )
    get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      return getResource(this.queries, name, request, reply);
    }

    @offered(
      'edit',
      Patch(':ref'),
      Guarded(onOne(name, 'edit')),
      Documented(`patch${schema}`, {
        summary: `Change ${whole}: the body is merged into ${into} (RFC 7396)${says.patch ?? ''}`,
        ...edited(`${schema}Patch`, 'application/merge-patch+json'),
      }),
    )
    patch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      return this.edit(request, reply, 'merge');
    }

    @offered(
      'edit',
      Put(':ref'),
      Guarded(onOne(name, 'edit')),
      Documented(`replace${schema}`, {
        summary: `Replace ${whole}: what the body leaves out gets its default`,
        ...edited(`${schema}Replacement`),
      }),
    )
    replace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      return this.edit(request, reply, 'replace');
    }

    @offered(
      'delete',
      Delete(':ref'),
      Guarded(onOne(name, 'delete')),
      Documented(`delete${schema}`, {
        summary: `Delete a ${noun}${says.delete ?? ''}`,
        path: refPath,
        conditional: true,
        answers: { 204: 'Nothing' },
        errors: ['validation_failed', 'not_found', ...builtin('delete'), 'precondition_failed', ...CHANGE_ERRORS],
      }),
    )
    async delete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      const { ref } = request.params as RefPath;
      checkQuery(noParameters, request);
      await this.commands.execute(new DeleteResource(name, changeRequest(request), ref, preconditionOf(request)));
      reply.code(204).send();
    }

    @offered(
      'query',
      Post('-query'),
      Guarded(onSome(name, 'view')),
      Documented(`query${several}`, {
        summary: `Find ${plural}`,
        ...listed,
        body: { 'application/json': 'QueryDto' },
        answers: { 200: `${schema}Found` },
        errors: ['invalid_cursor'],
      }),
    )
    query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      return queryResources(this.queries, this.state, name, request, reply);
    }

    private async edit(request: FastifyRequest, reply: FastifyReply, how: Change['how']): Promise<void> {
      const { ref } = request.params as RefPath;
      const change = changeOf(request, how);
      const command = new EditResource(name, changeRequest(request), ref, change);
      sendChanged(reply, name, await this.commands.execute(command), this.state.read);
    }
  }
  // The name is the tag of the operations.
  Object.defineProperty(ResourceController, 'name', { value: `${schema}Controller` });
  return ResourceController;
}
