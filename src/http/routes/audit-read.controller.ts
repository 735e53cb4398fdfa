import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FieldFault, validationFailed } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { GetAuditEvent } from '../../queries/audit-get.js';
import { type AuditFilters, type AuditPage, ListAuditEvents } from '../../queries/audit-list.js';
import { GetEventProof } from '../../queries/event-proof.js';
import { AuditListDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { Guarded, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { eventEnvelope, eventsEnvelope, LINKED_PROOF, type Link, proofLink } from '../answers/envelope.js';
import { EVENT_PATH, ORG_PATH } from '../answers/paths.js';
import { checkQuery, noParameters } from '../errors/request-faults.js';
import { eventTimes } from '../requests/query.js';
import { sendJsonTexts } from '../server/streamed.js';

const listFaults = compileShape(AuditListDto);

const NAME_PATH = {
  ...ORG_PATH,
  resourceName: { description: 'name of the resource, percent-encoded; may hold slashes', example: 'order/4711' },
};
const ID_PATH = {
  ...ORG_PATH,
  resourceId: { description: 'identifier of the resource, percent-encoded; may hold slashes', example: 'order-4711' },
};

/** Operations 3 and 4 of the specification, and the lists beside them. */
@Controller('audit/org/:org')
export class AuditReadController {
  constructor(
    private readonly queries: QueryBus,
    @Inject(CONFIG) private readonly config: Pick<Config, 'syncTimeoutMs'>,
  ) {}

  @Get()
  @Guarded(onSome('auditctx', 'readAudit'))
  @Documented('listEvents', {
    summary: 'List the audit events of the organization',
    path: ORG_PATH,
    query: AuditListDto,
    answers: { 200: 'AuditEventList' },
    errors: ['validation_failed', 'invalid_cursor', 'page_too_deep'],
  })
  listAll(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org } = request.params as { org: string };
    return this.list(request, reply, `/audit/org/${org}`, {});
  }

  @Get('id/:id')
  @Guarded(onSome('auditctx', 'readAudit'), { large: false })
  @Documented('getEvent', {
    summary: 'Read one audit event',
    path: EVENT_PATH,
    answers: { 200: 'AuditEventEnvelope' },
    headers: { link: LINKED_PROOF },
    errors: ['validation_failed', 'not_found'],
  })
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, id } = request.params as { org: string; id: string };
    checkQuery(noParameters, request);
    const event = await this.queries.execute(new GetAuditEvent(org, id, request.reach));
    const self = `/audit/org/${org}/id/${encodeURIComponent(id)}`;
    reply.header('link', proofLink(self));
    sendJson(reply, eventEnvelope(event, { id }, [{ rel: 'self', href: self }]));
  }

  /** Waits for the next checkpoint, if the newest does not cover the event yet. */
  @Get('id/:id/-proof')
  @Guarded(onSome('auditctx', 'readAudit'), { large: false })
  @Documented('proveEvent', {
    summary: "Prove that one audit event is in the organization's history (C2SP tlog-proof)",
    path: EVENT_PATH,
    answers: { 200: { 'text/plain': 'Text' } },
    errors: ['validation_failed', 'not_found', 'not_integrated', 'not_sealed'],
  })
  async prove(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, id } = request.params as { org: string; id: string };
    checkQuery(noParameters, request);
    const proof = await this.queries.execute(new GetEventProof(org, id, request.reach, this.config.syncTimeoutMs));
    await request.server.access.requireStill(request);
    reply.header('content-type', 'text/plain; charset=utf-8').header('cache-control', 'no-cache').send(proof);
  }

  @Get('resource/name/*')
  @Guarded(onSome('auditctx', 'readAudit'))
  @Documented('listEventsOfNamedResource', {
    summary: 'List the audit events of a named resource',
    path: NAME_PATH,
    query: AuditListDto,
    answers: { 200: 'AuditEventList' },
    errors: ['validation_failed', 'invalid_cursor', 'page_too_deep'],
  })
  listByName(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, '*': resourceName } = request.params as { org: string; '*': string };
    const path = `/audit/org/${org}/resource/name/${encodeURIComponent(resourceName)}`;
    return this.list(request, reply, path, { resourceName });
  }

  @Get('resource/id/*')
  @Guarded(onSome('auditctx', 'readAudit'))
  @Documented('listEventsOfResource', {
    summary: 'List the audit events of a resource by its identifier',
    path: ID_PATH,
    query: AuditListDto,
    answers: { 200: 'AuditEventList' },
    errors: ['validation_failed', 'invalid_cursor', 'page_too_deep'],
  })
  listById(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, '*': resourceId } = request.params as { org: string; '*': string };
    const path = `/audit/org/${org}/resource/id/${encodeURIComponent(resourceId)}`;
    return this.list(request, reply, path, { resourceId });
  }

  private async list(request: FastifyRequest, reply: FastifyReply, path: string, fixed: AuditFilters): Promise<void> {
    const { org } = request.params as { org: string };
    const parameters = checkQuery<AuditListDto>(listFaults, request);
    checkTogether(parameters, fixed);
    const {
      fromEvent,
      toEvent,
      order = 'newest',
      page,
      pageSize = String(LIMITS.page.usual),
      cursor,
      last,
      ...given
    } = parameters;
    const found = await this.queries.execute(
      new ListAuditEvents(
        org,
        { ...given, ...fixed },
        {
          reach: request.reach,
          order,
          pageSize: Number(pageSize),
          ...eventTimes(parameters),
          ...(page !== undefined && { page: Number(page) }),
          ...(cursor !== undefined && { cursor }),
          ...(last !== undefined && { last: Number(last) }),
        },
      ),
    );
    const start = cursor === undefined && last === undefined ? { page: page ?? '1' } : {};
    const query = { ...fixed, ...parameters, ...start, pageSize, order };
    sendJsonTexts(reply, eventsEnvelope(found.items, query, listLinks(path, { ...parameters }, found)));
  }
}

function checkTogether(parameters: AuditListDto, fixed: AuditFilters): void {
  const faults = Object.keys(fixed)
    .filter((name) => Object.hasOwn(parameters, name))
    .map((name) => ({ pointer: `?${name}`, reason: 'is fixed by the path; remove it' }));
  for (const [name, value] of Object.entries(fixed)) {
    if (value === '') faults.push({ pointer: `path:${name}`, reason: 'must not be empty' });
  }
  if (parameters.page !== undefined && parameters.cursor !== undefined) {
    faults.push({ pointer: '?page', reason: 'cannot be combined with a cursor' });
  }
  if (parameters.last !== undefined) faults.push(...lastFaults(parameters));
  if (faults.length > 0) throw validationFailed(faults);
}

function lastFaults({ order, page, cursor }: AuditListDto): FieldFault[] {
  if (order !== 'received') return [{ pointer: '?last', reason: 'requires order=received' }];
  if (page === undefined && cursor === undefined) return [];
  return [{ pointer: '?last', reason: 'cannot be combined with a page or a cursor' }];
}

/** `self` repeats the request; the others go on with the same filters from a cursor. */
function listLinks(path: string, parameters: Record<string, string>, { next, resume }: AuditPage): Link[] {
  const links: Link[] = [{ rel: 'self', href: withQuery(path, parameters) }];
  const { page: _page, last: _last, ...same } = parameters;
  if (next !== undefined) links.push({ rel: 'next', href: withQuery(path, { ...same, cursor: next }) });
  if (resume !== undefined) links.push({ rel: 'resume', href: withQuery(path, { ...same, cursor: resume }) });
  return links;
}

function withQuery(path: string, parameters: Record<string, string>): string {
  const query = new URLSearchParams(parameters).toString();
  return query === '' ? path : `${path}?${query}`;
}

function sendJson(reply: FastifyReply, text: string): void {
  reply.header('content-type', 'application/json; charset=utf-8').send(text);
}
