import { applyDecorators, Controller, Get } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validationFailed } from '../../contract/errors.js';
import { type Kind, kindsWith } from '../../contract/kinds.js';
import { LIMITS } from '../../contract/limits.js';
import { linkTo } from '../../contract/links.js';
import { GetEventLog } from '../../queries/resource-history.js';
import { compileShape } from '../../shapes/compiled.js';
import { EventLogDto } from '../../shapes/resource-history.js';
import { Guarded, onOne } from '../access.js';
import { Documented } from '../answers/documented.js';
import { eventsEnvelope, type Link } from '../answers/envelope.js';
import { ORG_PATH } from '../answers/paths.js';
import { checkQuery } from '../errors/request-faults.js';
import { eventTimes } from '../requests/query.js';
import type { RefPath } from '../resources.js';
import { sendJsonTexts } from '../server/streamed.js';
import { RouteOfEachKind } from './each-kind.js';

const logFaults = compileShape(EventLogDto);

const PAGE_SIZE = String(LIMITS.page.usual);

function EventLogOf(kind: Kind): MethodDecorator {
  const { name, schema, noun, example } = kind;
  const named = kind.ref === 'email' ? 'e-mail address' : 'name';
  return applyDecorators(
    Get(`${name}/:ref/-eventlog`),
    Guarded(onOne(name, 'view'), { large: true }),
    Documented(`listEventsOf${schema}`, {
      summary: `List what happened to a ${noun}, newest first; also when it is deleted`,
      path: {
        ...ORG_PATH,
        ref: {
          description: `${named} of the ${noun}, or its identifier; where several had it one after the other, the last is meant`,
          example,
        },
      },
      query: EventLogDto,
      answers: { 200: 'AuditEventList' },
      errors: ['validation_failed', 'not_found', 'invalid_cursor', 'page_too_deep'],
    }),
  );
}

/** What happened to each resource. */
@Controller('org/:org')
@RouteOfEachKind(kindsWith('eventlog'), EventLogOf, 'send')
export class EventLogController {
  constructor(private readonly queries: QueryBus) {}

  async send(request: FastifyRequest, reply: FastifyReply, kind: Kind): Promise<void> {
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
    const path = `${linkTo(org, kind.name, ref)}/-eventlog`;
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
