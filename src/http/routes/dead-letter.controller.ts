import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DeadLetterPage, ListDeadLetters, type ListedLetter } from '../../commands/dead-letter-list.js';
import { ReplayDeadLetters } from '../../commands/dead-letter-replay.js';
import { SkipRecord } from '../../commands/dead-letter-skip.js';
import { validationFailed } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import { isoTime } from '../../platform/clock.js';
import { compileShape } from '../../shapes/compiled.js';
import { isTrue } from '../../shapes/shape.js';
import { DeadLetterListDto, ReplayDto, SkipDto } from '../../shapes/upkeep.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { type Link, withCommas } from '../answers/envelope.js';
import { callerOf } from '../caller.js';
import { checkBody, checkOptionalBody, checkQuery, noParameters } from '../errors/request-faults.js';
import { sendJsonTexts } from '../server/streamed.js';

const listFaults = compileShape(DeadLetterListDto);
const replayFaults = compileShape(ReplayDto);
const skipFaults = compileShape(SkipDto);

const PAGE_SIZE = String(LIMITS.page.usual);

/** Records that are in the log and can never be indexed as they are, of all organizations. */
@Controller('-dead-letters')
export class DeadLetterController {
  constructor(private readonly commands: CommandBus) {}

  @Get()
  @Guarded('root', { large: true })
  @Documented('listDeadLetters', {
    summary: 'List the dead letters: where each record stands, why it cannot be indexed, and whether it was replayed',
    query: DeadLetterListDto,
    answers: { 200: 'DeadLetterList' },
    errors: ['validation_failed', 'invalid_cursor', 'log_unavailable'],
  })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = checkQuery<DeadLetterListDto>(listFaults, request);
    const { limit = PAGE_SIZE, cursor, open, raw } = query;
    const page = await this.commands.execute(
      new ListDeadLetters(
        { limit: Number(limit), open: isTrue(open), raw: isTrue(raw), ...(cursor !== undefined && { cursor }) },
        callerOf(request),
      ),
    );
    const items = page.items.map((letter) => JSON.stringify(letterBody(letter)));
    const links = JSON.stringify(linksOf(query, page));
    sendJsonTexts(reply, [
      '{"kind":"list","itemKind":"deadletter","items":[',
      ...withCommas(items),
      `],"links":${links}}`,
    ]);
  }

  /** The records are appended to their topic once more, byte for byte, and taken up by the rules of today. */
  @Post('-replay')
  @HttpCode(200)
  @Guarded('root', { bodyOptional: true })
  @Documented('replayDeadLetters', {
    summary: 'Replay dead letters: those of these places, or all that were not replayed',
    body: { 'application/json': 'ReplayDto' },
    bodyOptional: true,
    answers: { 200: 'DeadLetterReplay' },
    errors: ['conflict', 'log_unavailable', 'outcome_unknown'],
  })
  async replay(@Req() request: FastifyRequest): Promise<unknown> {
    checkQuery(noParameters, request);
    const body = checkOptionalBody<ReplayDto>(replayFaults, request.body);
    if (body.force && body.places === undefined) {
      throw validationFailed([
        { pointer: '/force', reason: 'requires `places`; without `places` every open dead letter is replayed' },
      ]);
    }
    return {
      kind: 'deadletterreplay',
      items: await this.commands.execute(new ReplayDeadLetters(body, callerOf(request))),
    };
  }

  /** A record of `control` that cannot be read stops every process, because later ones may depend on it. */
  @Post('-skip')
  @HttpCode(200)
  @Guarded('root', { whileUnready: true })
  @Documented('skipRecord', {
    summary: 'Skip a record of control that cannot be read: it becomes a dead letter, and every process reads on',
    body: { 'application/json': 'SkipDto' },
    answers: { 200: 'DeadLetterSkip' },
    errors: ['conflict', 'log_unavailable', 'outcome_unknown'],
  })
  async skip(@Req() request: FastifyRequest): Promise<unknown> {
    checkQuery(noParameters, request);
    const { place } = checkBody<SkipDto>(skipFaults, request.body);
    const offset = Number(place.slice(place.lastIndexOf('/') + 1));
    return { kind: 'deadletterskip', ...(await this.commands.execute(new SkipRecord(offset, callerOf(request)))) };
  }
}

function letterBody({
  place,
  topic,
  partition,
  offset,
  time,
  reason,
  key,
  bytes,
  replayed,
  value,
}: ListedLetter): unknown {
  return {
    kind: 'deadletter',
    ...{ place, topic, partition, offset, time: isoTime(time), reason, key, bytes, replayed },
    ...(value && { value: Buffer.from(value).toString('base64') }),
  };
}

function linksOf(query: DeadLetterListDto, { cursor }: DeadLetterPage): Link[] {
  const href = (parameters: object) => {
    const text = new URLSearchParams({ ...parameters }).toString();
    return text === '' ? '/-dead-letters' : `/-dead-letters?${text}`;
  };
  const self: Link = { rel: 'self', href: href(query) };
  return cursor === undefined ? [self] : [self, { rel: 'next', href: href({ ...query, cursor }) }];
}
