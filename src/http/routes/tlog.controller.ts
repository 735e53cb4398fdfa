import { Controller, Get, Req, Res, type Type } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GetCheckpoint, GetHeadProof, GetLogKeys, GetTile } from '../../queries/tlog.js';
import { type Access, Guarded, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { ORG_PATH } from '../answers/paths.js';
import { checkQuery, noParameters } from '../errors/request-faults.js';

const TILE = { tile: { description: '`{L}/{N}[.p/{W}]`, or `entries/{N}[.p/{W}]`', example: '0/000' } };
const TEXT = { 200: { 'text/plain': 'Text' } };
const BYTES = { 200: { 'application/octet-stream': 'Bytes' } };
const CHECKPOINT = 'signed checkpoint (C2SP tlog-checkpoint)';

/** Entries hide what they commit to, so a caller who may read some contexts sees all leaves. */
const READER = [onSome('auditctx', 'readAudit'), { large: false }] as const;

/** The history of an organization as a transparency log: C2SP tlog-tiles below `-tlog`. */
@Controller('audit/org/:org/-tlog')
export class OrgLogController {
  constructor(private readonly queries: QueryBus) {}

  @Get('checkpoint')
  @Guarded(...READER)
  @Documented('getOrgCheckpoint', {
    summary: `Read the organization's ${CHECKPOINT}`,
    path: ORG_PATH,
    answers: TEXT,
    errors: ['not_integrated', 'not_sealed'],
  })
  async checkpoint(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendNote(reply, await this.queries.execute(new GetCheckpoint(orgOf(request))));
  }

  @Get('vkey')
  @Guarded(...READER)
  @Documented('listOrgLogKeys', {
    summary: "List the verifier keys of the organization's log",
    path: ORG_PATH,
    answers: TEXT,
    errors: [],
  })
  async vkey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendNote(reply, await this.queries.execute(new GetLogKeys(orgOf(request))));
  }

  @Get('head-proof')
  @Guarded(...READER)
  @Documented('proveOrgHead', {
    summary: "Prove that the service log has the organization's checkpoint (C2SP tlog-proof)",
    path: ORG_PATH,
    answers: TEXT,
    errors: ['not_integrated', 'not_sealed'],
  })
  async headProof(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendNote(reply, await this.queries.execute(new GetHeadProof(orgOf(request))));
  }

  @Get('tile/*')
  @Guarded(...READER)
  @Documented('getOrgTile', {
    summary: "Read a tile of the organization's log (C2SP tlog-tiles)",
    path: { ...ORG_PATH, ...TILE },
    answers: BYTES,
    errors: ['not_found', 'not_integrated', 'not_sealed'],
  })
  async tile(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendTile(reply, await this.queries.execute(new GetTile(orgOf(request), tileIn(request))), 'private');
  }
}

/** The service log, which has a leaf a cut. It shows no organization's events: it may be open to all. */
export function serviceLogController(isPublic: boolean): Type {
  const access: Access = isPublic ? 'public' : 'keyed';

  @Controller('audit/-tlog')
  class ServiceLogController {
    constructor(private readonly queries: QueryBus) {}

    @Get('checkpoint')
    @Guarded(access)
    @Documented(
      'getServiceCheckpoint',
      { summary: `Read the service's ${CHECKPOINT}`, answers: TEXT, errors: ['not_integrated', 'not_sealed'] },
      isPublic,
    )
    async checkpoint(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      checkQuery(noParameters, request);
      sendNote(reply, await this.queries.execute(new GetCheckpoint()));
    }

    @Get('vkey')
    @Guarded(access)
    @Documented(
      'listServiceLogKeys',
      { summary: "List the verifier keys of the service's log", answers: TEXT, errors: [] },
      isPublic,
    )
    async vkey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      checkQuery(noParameters, request);
      sendNote(reply, await this.queries.execute(new GetLogKeys()));
    }

    @Get('tile/*')
    @Guarded(access)
    @Documented(
      'getServiceTile',
      {
        summary: "Read a tile of the service's log (C2SP tlog-tiles)",
        path: TILE,
        answers: BYTES,
        errors: ['not_found', 'not_integrated', 'not_sealed'],
      },
      isPublic,
    )
    async tile(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
      const bytes = await this.queries.execute(new GetTile(undefined, tileIn(request)));
      sendTile(reply, bytes, isPublic ? 'public' : 'private');
    }
  }

  return ServiceLogController;
}

function orgOf(request: FastifyRequest): string {
  checkQuery(noParameters, request);
  return (request.params as { org: string }).org;
}

function tileIn({ params }: FastifyRequest): string {
  return `tile/${(params as { '*': string })['*']}`;
}

function sendNote(reply: FastifyReply, text: string): void {
  reply.header('content-type', 'text/plain; charset=utf-8').header('cache-control', 'no-cache').send(text);
}

/** Of a tile that the published log has, no byte ever changes: a wider one has another path. */
function sendTile(reply: FastifyReply, bytes: Buffer, cache: 'private' | 'public'): void {
  reply
    .header('content-type', 'application/octet-stream')
    .header('cache-control', `${cache}, max-age=31536000, immutable`)
    .send(bytes);
}
