import { Controller, Get, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseLink } from '../../contract/links.js';
import type { Principal } from '../../model/access.js';
import { keyViewOf, type View } from '../../model/views.js';
import { WhoAmI } from '../../queries/whoami.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { sendJson } from '../answers/resource.js';
import { checkQuery, noParameters } from '../errors/request-faults.js';

/** Tells the holder of a key what it is. */
@Controller('whoami')
export class WhoAmIController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  @Guarded('keyed')
  @Documented('getCaller', {
    summary: 'Tell whom the key speaks for, until when, and what it may do',
    answers: { 200: 'WhoAmI' },
    errors: ['validation_failed'],
  })
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    checkQuery(noParameters, request);
    const { principal } = request;
    reply.header('cache-control', 'no-store');
    sendJson(reply, JSON.stringify({ kind: 'whoami', ...(principal ? await this.viewOf(principal) : ROOT) }));
  }

  private async viewOf(principal: Principal): Promise<View> {
    const { org, link, name, email } = principal;
    const { key, permissions } = await this.queries.execute(new WhoAmI(principal));
    const kind = parseLink(link)?.kind;
    const shown = { kind, name, ...(email !== undefined && { email }), link };
    return { principal: shown, org, key: keyViewOf(key), permissions };
  }
}

/** The root key belongs to no organization: what it may do is what routes say of it. */
const ROOT = { principal: { kind: 'root', name: 'root' } };
