import { applyDecorators, Controller, Get, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AddKey, ListKeys, RemoveKey } from '../../commands/key.js';
import { parseInstant } from '../../model/instant.js';
import type { KeyHolder } from '../../model/key.js';
import { keyViewOf } from '../../model/views.js';
import { isoTime } from '../../platform/clock.js';
import { Guarded, type Needed, onOne, onSelfOr } from '../access.js';
import { Documented } from '../answers/documented.js';
import { sendList } from '../answers/resource.js';
import { checkBody, checkQuery, noParameters } from '../errors/request-faults.js';
import { sendIssuedKey } from '../issued-key.js';
import { CHANGE_ERRORS, changeRequest, ORG_PATH, type RefPath } from '../resources.js';
import { compileShape } from '../shapes/compiled.js';
import { AddKeyDto, RemoveKeyDto } from '../shapes/key.js';

type Kind = KeyHolder['kind'];

interface Holders {
  /** One of them, in a sentence. */
  readonly noun: string;
  /** What names one in the path. */
  readonly ref: string;
  readonly mayChange: Needed;
  readonly mayList: Needed;
}

/** Who has keys, and who besides may do what with them. */
const HOLDERS: Readonly<Record<Kind, Holders>> = {
  user: {
    noun: 'user',
    ref: 'e-mail address of the user, in any case, or its id',
    mayChange: onSelfOr('user', 'manage'),
    mayList: onSelfOr('user', 'manage'),
  },
  serviceaccount: {
    noun: 'service account',
    ref: 'name of the service account',
    mayChange: onOne('serviceaccount', 'addKey'),
    mayList: onSelfOr('serviceaccount', 'view'),
  },
};

const addKeyFaults = compileShape(AddKeyDto);
const removeKeyFaults = compileShape(RemoveKeyDto);

function AddKeyOf(kind: Kind): MethodDecorator {
  const { noun, ref, mayChange } = HOLDERS[kind];
  return applyDecorators(
    Post(`${kind}/:ref/-addKey`),
    Guarded(mayChange),
    Documented({
      summary: `Issue a key of a ${noun}, shown this once`,
      path: { ...ORG_PATH, ref },
      idempotent: true,
      body: { 'application/json': 'AddKeyDto' },
      answers: { 201: 'IssuedKey', 202: 'IssuedKey' },
      headers: { location: `the path of the ${noun}` },
      errors: ['not_found', 'idempotency_conflict', ...CHANGE_ERRORS],
    }),
  );
}

function RemoveKeyOf(kind: Kind): MethodDecorator {
  const { noun, ref, mayChange } = HOLDERS[kind];
  return applyDecorators(
    Post(`${kind}/:ref/-removeKey`),
    Guarded(mayChange),
    Documented({
      summary: `Revoke a key of a ${noun}: it is worth nothing from now on`,
      path: { ...ORG_PATH, ref },
      idempotent: true,
      body: { 'application/json': 'RemoveKeyDto' },
      answers: { 204: 'Nothing' },
      errors: ['not_found', 'builtin_resource', 'idempotency_conflict', ...CHANGE_ERRORS],
    }),
  );
}

function ListKeysOf(kind: Kind): MethodDecorator {
  const { noun, ref, mayList } = HOLDERS[kind];
  return applyDecorators(
    Get(`${kind}/:ref/-keys`),
    Guarded(mayList),
    Documented({
      summary: `List the keys of a ${noun}, the oldest first, without their secrets`,
      path: { ...ORG_PATH, ref },
      answers: { 200: 'KeyList' },
      errors: ['validation_failed', 'not_found'],
    }),
  );
}

/** The keys by which users and service accounts speak. */
@Controller('org/:org')
export class KeyController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @AddKeyOf('user')
  addOfUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.add(request, reply, 'user');
  }

  @AddKeyOf('serviceaccount')
  addOfServiceAccount(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.add(request, reply, 'serviceaccount');
  }

  @RemoveKeyOf('user')
  removeOfUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.remove(request, reply, 'user');
  }

  @RemoveKeyOf('serviceaccount')
  removeOfServiceAccount(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.remove(request, reply, 'serviceaccount');
  }

  @ListKeysOf('user')
  listOfUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.list(request, reply, 'user');
  }

  @ListKeysOf('serviceaccount')
  listOfServiceAccount(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.list(request, reply, 'serviceaccount');
  }

  private async add(request: FastifyRequest, reply: FastifyReply, kind: Kind): Promise<void> {
    checkQuery(noParameters, request);
    const { description, expires } = checkBody<AddKeyDto>(addKeyFaults, request.body);
    const until = expires === undefined ? undefined : parseInstant(expires);
    const wanted = { description, ...(until !== undefined && { expires: isoTime(until) }) };
    const command = new AddKey(changeRequest(request), holderOf(request, kind), wanted);
    sendIssuedKey(reply, await this.commands.execute(command));
  }

  private async remove(request: FastifyRequest, reply: FastifyReply, kind: Kind): Promise<void> {
    checkQuery(noParameters, request);
    const { id } = checkBody<RemoveKeyDto>(removeKeyFaults, request.body);
    await this.commands.execute(new RemoveKey(changeRequest(request), holderOf(request, kind), id));
    reply.code(204).send();
  }

  private async list(request: FastifyRequest, reply: FastifyReply, kind: Kind): Promise<void> {
    checkQuery(noParameters, request);
    const keys = await this.queries.execute(new ListKeys(holderOf(request, kind)));
    sendList(request, reply, 'key', { items: keys.map((key) => JSON.stringify(keyViewOf(key))) });
  }
}

function holderOf(request: FastifyRequest, kind: Kind): KeyHolder {
  const { org, ref } = request.params as RefPath;
  return { org, kind, ref };
}
