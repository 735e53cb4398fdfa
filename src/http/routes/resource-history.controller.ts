import { applyDecorators, Controller, Get, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validationFailed } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import { linkTo } from '../../contract/links.js';
import { GetEventLog, type LoggedKind } from '../../queries/resource-history.js';
import { Guarded, onOne } from '../access.js';
import { Documented } from '../answers/documented.js';
import { eventsEnvelope, type Link } from '../answers/envelope.js';
import { checkQuery } from '../errors/request-faults.js';
import { ORG_PATH, type RefPath } from '../resources.js';
import { sendJsonTexts } from '../server/streamed.js';
import { compileShape } from '../shapes/compiled.js';
import { eventTimes } from '../shapes/event-times.js';
import { EventLogDto } from '../shapes/resource-history.js';

const logFaults = compileShape(EventLogDto);

const PAGE_SIZE = String(LIMITS.page.usual);

function EventLogOf(kind: LoggedKind, what: string): MethodDecorator {
  const named = kind === 'user' ? 'e-mail address' : 'name';
  return applyDecorators(
    Get(`${kind}/:ref/-eventlog`),
    Guarded(onOne(kind, 'view'), { large: true }),
    Documented({
      summary: `List what happened to a ${what}, newest first; also when it is deleted`,
      path: {
        ...ORG_PATH,
        ref: `${named} of the ${what}, or its identifier; where several had it one after the other, the last is meant`,
      },
      query: EventLogDto,
      answers: { 200: 'AuditEventList' },
      errors: ['validation_failed', 'not_found', 'invalid_cursor', 'page_too_deep'],
    }),
  );
}

/** What happened to each resource. */
@Controller('org/:org')
export class EventLogController {
  constructor(private readonly queries: QueryBus) {}

  @EventLogOf('user', 'user')
  ofUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.send(request, reply, 'user');
  }

  @EventLogOf('group', 'group')
  ofGroup(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.send(request, reply, 'group');
  }

  @EventLogOf('serviceaccount', 'service account')
  ofServiceAccount(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.send(request, reply, 'serviceaccount');
  }

  @EventLogOf('policy', 'policy')
  ofPolicy(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.send(request, reply, 'policy');
  }

  @EventLogOf('domain', 'domain')
  ofDomain(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.send(request, reply, 'domain');
  }

  private async send(request: FastifyRequest, reply: FastifyReply, kind: LoggedKind): Promise<void> {
    const { org, ref } = request.params as RefPath;
    const parameters = checkQuery<EventLogDto>(logFaults, request);
    const { actionType, page, pageSize = PAGE_SIZE, cursor } = parameters;
    if (page !== undefined && cursor !== undefined) {
      throw validationFailed([{ pointer: '?page', reason: 'cannot be combined with a cursor' }]);
    }
    const { resourceId, items, next } = await this.queries.execute(
      new GetEventLog(kind, org, ref, {
        ...eventTimes(parameters),
        pageSize: Number(pageSize),
        ...(actionType !== undefined && { actionType }),
        ...(page !== undefined && { page: Number(page) }),
        ...(cursor !== undefined && { cursor }),
      }),
    );
    const start = cursor === undefined ? { page: page ?? '1' } : {};
    const query = { resourceId, ...parameters, ...start, pageSize };
    const path = `${linkTo(org, kind, ref)}/-eventlog`;
    sendJsonTexts(reply, eventsEnvelope(items, query, linksOf(path, { ...parameters }, next)));
  }
}

/** `self` repeats the request; `next` goes on with the same filters from a cursor. */
function linksOf(path: string, parameters: Record<string, string>, next: string | undefined): Link[] {
  const links: Link[] = [{ rel: 'self', href: withQuery(path, parameters) }];
  const { page: _page, ...same } = parameters;
  if (next !== undefined) links.push({ rel: 'next', href: withQuery(path, { ...same, cursor: next }) });
  return links;
}

function withQuery(path: string, parameters: Record<string, string>): string {
  const query = new URLSearchParams(parameters).toString();
  return query === '' ? path : `${path}?${query}`;
}
