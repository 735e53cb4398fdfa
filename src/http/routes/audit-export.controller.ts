import { Readable } from 'node:stream';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { beginExport } from '../../commands/export-record.js';
import { SecurityEvents } from '../../commands/security-events.js';
import { namesWithin } from '../../model/access.js';
import { ExportAuditEvents, type ExportPage } from '../../queries/audit-export.js';
import { ExportProvenEvents } from '../../queries/proven-export.js';
import { AuditExportDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { isTrue } from '../../shapes/shape.js';
import { Guarded, onSome } from '../access.js';
import { Documented } from '../answers/documented.js';
import { ORG_PATH } from '../answers/paths.js';
import { callerOf } from '../caller.js';
import { checkQuery } from '../errors/request-faults.js';
import { Readiness } from '../readiness.js';
import { eventTimes } from '../requests/query.js';
import { pieces, sendStreamed, sendStreamedHead } from '../server/streamed.js';

const filterFaults = compileShape(AuditExportDto);

@Controller('audit/org/:org')
export class AuditExportController {
  constructor(
    private readonly queries: QueryBus,
    private readonly readiness: Readiness,
    private readonly security: SecurityEvents,
  ) {}

  /**
   * NDJSON: one event a line, as it was recorded, and at last `{"kind":"exportend","count":N,"cursor":"..."}`. An answer
   * without that line is not whole. Access is judged again at every page: whoever may read less than at the beginning gets no
   * more, and the connection is cut. The cursor goes on with what came later: here, or in the list in the order received.
   * With `proof=true` it ends where the published checkpoint does, and proves each event and that none is left out.
   */
  @Get('-export')
  @Guarded(onSome('auditctx', 'readAudit'))
  @Documented('exportEvents', {
    summary: 'Export all audit events of the organization, in the order received; the last line says that it is whole',
    path: ORG_PATH,
    query: AuditExportDto,
    answers: { 200: { 'application/x-ndjson': 'AuditExportLine' } },
    errors: [
      'validation_failed',
      'invalid_cursor',
      'not_integrated',
      'not_sealed',
      'log_unavailable',
      'outcome_unknown',
    ],
  })
  async export(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org } = request.params as { org: string };
    const parameters = checkQuery<AuditExportDto>(filterFaults, request);
    const { fromEvent: _from, toEvent: _to, cursor, proof, pinned, ...filters } = parameters;
    const options = {
      ...eventTimes(parameters),
      reach: request.reach,
      ...(cursor !== undefined && { cursor }),
      ...(pinned !== undefined && { pinned: Number(pinned) }),
    };
    const ExportEvents = isTrue(proof) ? ExportProvenEvents : ExportAuditEvents;
    const pages = await this.queries.execute(new ExportEvents(org, filters, options));
    // What fails up to here is answered with an Error body.
    const first = await pages.next();
    reply.header('content-type', 'application/x-ndjson');
    if (request.method === 'HEAD') return sendStreamedHead(reply);
    if (first.done) return void reply.send();
    const exported = { org, parameters: { ...parameters }, contexts: namesWithin(request.reach) };
    const record = await beginExport(this.security, callerOf(request), exported, request.log as Logger);
    if (reply.raw.destroyed) return void record.end({ whole: false, count: 0 });
    const taken = { count: 0 };
    const text = lines(first.value, pages, taken, () => request.server.access.requireStill(request));
    const ended = () => void record.end({ whole: reply.raw.writableFinished, ...taken });
    sendStreamed(reply, Readable.from(text, { objectMode: false }), this.readiness, ended);
  }
}

async function* lines(
  first: ExportPage,
  rest: AsyncIterable<ExportPage>,
  /** Counts the events that were handed over, or may have been. */
  taken: { count: number },
  stillAllowed: () => Promise<void>,
): AsyncGenerator<string> {
  let { cursor } = first;
  // A page of large events is many pieces: what was handed over can no longer be held back.
  const piecesOf = async function* ({ items, count }: ExportPage) {
    taken.count += count;
    for (const piece of pieces(linesOf(items))) {
      await stillAllowed();
      yield piece;
    }
  };
  yield* piecesOf(first);
  for await (const page of rest) {
    yield* piecesOf(page);
    cursor = page.cursor;
  }
  await stillAllowed();
  yield `${JSON.stringify({ kind: 'exportend', count: taken.count, cursor })}\n`;
}

/** Takes the items out of the page, so that what was sent needs no memory while the client is slow. */
function* linesOf(items: string[]): Generator<string> {
  for (const [at, item] of items.entries()) {
    items[at] = '';
    yield item;
    yield '\n';
  }
}
