import { applyDecorators, Controller, Get, Post } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AddKey, RemoveKey } from '../../commands/key.js';
import { type Kind, kindsWith } from '../../contract/kinds.js';
import { readInstant } from '../../model/instant.js';
import type { KeyHolder } from '../../model/key.js';
import { keyViewOf } from '../../model/views.js';
import { isoTime } from '../../platform/clock.js';
import { lowerCaseId } from '../../platform/text.js';
import { ListKeys } from '../../queries/key-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { AddKeyDto, RemoveKeyDto } from '../../shapes/key.js';
import { Guarded, type Needed, onOne, onSelfOr } from '../access.js';
import { Documented } from '../answers/documented.js';
import { refPathOf } from '../answers/paths.js';
import { sendIssuedKey, sendList } from '../answers/resource.js';
import { checkBody, checkQuery, noParameters } from '../errors/request-faults.js';
import { CHANGE_ERRORS, changeRequest, type RefPath } from '../resources.js';
import { RouteOfEachKind } from './each-kind.js';

/** Users change their own keys; nobody's permission but `manage` reaches those of another. */
function mayChange({ name, permissions }: Kind): Needed {
  return permissions.includes('addKey') ? onOne(name, 'addKey') : onSelfOr(name, 'manage');
}

function mayList({ name, permissions }: Kind): Needed {
  return onSelfOr(name, permissions.includes('addKey') ? 'view' : 'manage');
}

const HOLDERS = kindsWith('keys');

const addKeyFaults = compileShape(AddKeyDto);
const removeKeyFaults = compileShape(RemoveKeyDto);

function AddKeyOf(kind: Kind): MethodDecorator {
  const { name, schema, noun } = kind;
  return applyDecorators(
    Post(`${name}/:ref/-addKey`),
    Guarded(mayChange(kind)),
    Documented(`add${schema}Key`, {
      summary: `Issue a key of a ${noun}, shown this once`,
      path: refPathOf(kind),
      idempotent: true,
      body: { 'application/json': 'AddKeyDto' },
      answers: { 201: 'IssuedKey', 202: 'IssuedKey' },
      headers: { location: `the path of the ${noun}` },
      errors: ['not_found', 'idempotency_conflict', ...CHANGE_ERRORS],
    }),
  );
}

function RemoveKeyOf(kind: Kind): MethodDecorator {
  const { name, schema, noun } = kind;
  return applyDecorators(
    Post(`${name}/:ref/-removeKey`),
    Guarded(mayChange(kind)),
    Documented(`remove${schema}Key`, {
      summary: `Revoke a key of a ${noun}: it is worth nothing from now on`,
      path: refPathOf(kind),
      idempotent: true,
      body: { 'application/json': 'RemoveKeyDto' },
      answers: { 204: 'Nothing' },
      errors: ['not_found', 'builtin_resource', 'idempotency_conflict', ...CHANGE_ERRORS],
    }),
  );
}

function ListKeysOf(kind: Kind): MethodDecorator {
  const { name, schema, noun } = kind;
  return applyDecorators(
    Get(`${name}/:ref/-keys`),
    Guarded(mayList(kind)),
    Documented(`list${schema}Keys`, {
      summary: `List the keys of a ${noun}, the oldest first, without their secrets`,
      path: refPathOf(kind),
      answers: { 200: 'KeyList' },
      errors: ['validation_failed', 'not_found'],
    }),
  );
}

/** The keys by which users and service accounts speak. */
@Controller('org/:org')
@RouteOfEachKind(HOLDERS, ListKeysOf, 'list', 'listOf')
@RouteOfEachKind(HOLDERS, RemoveKeyOf, 'remove', 'removeOf')
@RouteOfEachKind(HOLDERS, AddKeyOf, 'add', 'addOf')
export class KeyController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  async add(request: FastifyRequest, reply: FastifyReply, kind: Kind): Promise<void> {
    checkQuery(noParameters, request);
    const { description, expires } = checkBody<AddKeyDto>(addKeyFaults, request.body);
    const until = expires === undefined ? undefined : readInstant(expires);
    const wanted = { description, ...(until !== undefined && { expires: isoTime(until) }) };
    const command = new AddKey(changeRequest(request), holderOf(request, kind), wanted);
    sendIssuedKey(reply, await this.commands.execute(command));
  }

  async remove(request: FastifyRequest, reply: FastifyReply, kind: Kind): Promise<void> {
    checkQuery(noParameters, request);
    const { id } = checkBody<RemoveKeyDto>(removeKeyFaults, request.body);
    await this.commands.execute(new RemoveKey(changeRequest(request), holderOf(request, kind), lowerCaseId(id)));
    reply.code(204).send();
  }

  async list(request: FastifyRequest, reply: FastifyReply, kind: Kind): Promise<void> {
    checkQuery(noParameters, request);
    const keys = await this.queries.execute(new ListKeys(holderOf(request, kind)));
    sendList(request, reply, 'key', { items: keys.map((key) => JSON.stringify(keyViewOf(key))) });
  }
}

function holderOf(request: FastifyRequest, { name }: Kind): KeyHolder {
  const { org, ref } = request.params as RefPath;
  return { org, kind: name as KeyHolder['kind'], ref };
}
