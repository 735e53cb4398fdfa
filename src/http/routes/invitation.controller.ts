import { Controller, Delete, Get, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AcceptInvitation, InviteUsers, RevokeInvitation } from '../../commands/invitation.js';
import { ControlError, type FieldFault } from '../../contract/errors.js';
import { kindOf } from '../../contract/kinds.js';
import { LIMITS } from '../../contract/limits.js';
import { ControlState } from '../../control/state.js';
import { compileShape } from '../../shapes/compiled.js';
import { AcceptInvitationDto, InviteUsersDto } from '../../shapes/invitation.js';
import { ResourceListDto } from '../../shapes/resource.js';
import { Guarded, onAll } from '../access.js';
import { Documented } from '../answers/documented.js';
import { ORG_PATH, refPathOf } from '../answers/paths.js';
import { sendCreated, sendJson } from '../answers/resource.js';
import { errorBody } from '../errors/body.js';
import { checkBody, checkIdempotencyKey, checkQuery, noParameters } from '../errors/request-faults.js';
import { preconditionOf } from '../requests/preconditions.js';
import { CHANGE_ERRORS, changeRequest, getResource, listResources, type RefPath } from '../resources.js';

const REF_PATH = refPathOf(kindOf('invitation'));

/** Of a route that asks for no key, bodies are short. */
const ACCEPTANCE_BYTES = 4 * 1024;

const inviteShape = compileShape(InviteUsersDto);
const inviteFaults = (body: unknown): FieldFault[] => {
  const { emails } = (body ?? {}) as { readonly emails?: unknown };
  return [...inviteShape(body), ...(Array.isArray(emails) ? repeatedAddresses(emails) : [])];
};
const acceptFaults = compileShape(AcceptInvitationDto);

function repeatedAddresses(emails: readonly unknown[]): FieldFault[] {
  const known = emails
    .slice(0, LIMITS.invitedAtOnce)
    .map((email) => (typeof email === 'string' ? email.toLowerCase() : email));
  return known.flatMap((email, index) => {
    const first = known.indexOf(email);
    return first === index ? [] : [{ pointer: `/emails/${index}`, reason: `repeats /emails/${first}; remove it` }];
  });
}

/** Routes for inviting users and accepting invitations. */
@Controller('org/:org')
export class InvitationController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly state: ControlState,
  ) {}

  /** 200 when reads show the invitations; 202 when they are recorded, but the wait for the views ran out. */
  @Post('user/-invite')
  @Guarded(onAll('user', 'invite'))
  @Documented('inviteUsers', {
    summary:
      'Invite users by e-mail. An address has one open invitation at most: another takes its place. With `group`, the caller also needs `edit` on that group',
    path: ORG_PATH,
    idempotent: true,
    body: { 'application/json': 'InviteUsersDto' },
    answers: { 200: 'Invited', 202: 'Invited' },
    errors: ['quota_exceeded', 'idempotency_conflict', ...CHANGE_ERRORS],
  })
  async invite(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    const { emails, group } = checkBody<InviteUsersDto>(inviteFaults, request.body);
    // Who could invite into any group could become whatever its members are.
    if (group !== undefined) await request.server.access.require(request, 'group', 'edit', group);
    const change = changeRequest(request);
    const addresses = emails.map((email) => email.toLowerCase());
    const { outcomes, searchable } = await this.commands.execute(new InviteUsers(change, addresses, group));
    const invitations = [...outcomes].filter(([, outcome]) => typeof outcome === 'string');
    const errors = [...outcomes].flatMap(([email, outcome]) =>
      outcome instanceof ControlError ? [[email, errorBody(outcome, request.id)]] : [],
    );
    reply.code(searchable ? 200 : 202);
    const answer = { invitations: Object.fromEntries(invitations), errors: Object.fromEntries(errors) };
    sendJson(reply, JSON.stringify(answer));
  }

  @Get('invitation')
  @Guarded(onAll('user', 'invite'))
  @Documented('listInvitations', {
    summary: 'List the open invitations, the oldest first; those that have expired are open to nobody, and listed too',
    path: ORG_PATH,
    query: ResourceListDto,
    answers: { 200: 'InvitationList' },
    errors: ['validation_failed', 'invalid_cursor'],
  })
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return listResources(this.queries, 'invitation', request, reply);
  }

  @Get('invitation/:ref')
  @Guarded(onAll('user', 'invite'))
  @Documented('getInvitation', {
    summary: 'Read an invitation',
    path: REF_PATH,
    revalidated: true,
    answers: { 200: 'Invitation' },
    headers: { etag: 'its version' },
    errors: ['validation_failed', 'not_found'],
  })
  get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return getResource(this.queries, 'invitation', request, reply);
  }

  @Delete('invitation/:ref')
  @Guarded(onAll('user', 'invite'))
  @Documented('revokeInvitation', {
    summary: 'Revoke an invitation: its code is worth nothing from now on',
    path: REF_PATH,
    conditional: true,
    answers: { 204: 'Nothing' },
    errors: ['validation_failed', 'not_found', 'precondition_failed', ...CHANGE_ERRORS],
  })
  async revoke(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ref } = request.params as RefPath;
    checkQuery(noParameters, request);
    await this.commands.execute(new RevokeInvitation(changeRequest(request), ref, preconditionOf(request)));
    reply.code(204).send();
  }

  /** 201 when reads show the user; 202 when it is made, but the wait for the views ran out. */
  @Post('invitation/:ref/-accept')
  @Guarded('invited', { maxBytes: ACCEPTANCE_BYTES })
  @Documented(
    'acceptInvitation',
    {
      summary:
        'Become a user, with the code of an invitation in place of a key; answers the first key, shown this once. A wrong code, an unknown invitation and an unknown organization are answered alike',
      path: REF_PATH,
      idempotent: true,
      body: { 'application/json': 'AcceptInvitationDto' },
      answers: { 201: 'AcceptedUser', 202: 'AcceptedUser' },
      headers: { location: 'the path of the user', etag: 'its version' },
      errors: [
        'forbidden',
        'not_found',
        'already_exists',
        'quota_exceeded',
        'idempotency_conflict',
        'rate_limited',
        'state_unconfirmed',
        ...CHANGE_ERRORS,
      ],
    },
    true,
  )
  async accept(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, ref: invitation } = request.params as RefPath;
    checkQuery(noParameters, request);
    const { code, name } = checkBody<AcceptInvitationDto>(acceptFaults, request.body);
    const from = { requestId: request.id, remoteIp: request.remoteIp };
    const command = new AcceptInvitation({ org, invitation, code, name }, from, checkIdempotencyKey(request));
    const { user, key, searchable } = await this.commands.execute(command);
    reply.header('cache-control', 'no-store');
    sendCreated(reply, 'user', { state: user, searchable }, this.state.read, { key });
  }
}
