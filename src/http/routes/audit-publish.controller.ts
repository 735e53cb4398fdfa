import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PublishAuditEvents, type Published, type PublishItem } from '../../commands/audit-publish.js';
import { ControlError, validationFailed } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import { CLOCK, type Clock } from '../../platform/clock.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { type Steps, Turns } from '../../platform/turns.js';
import { AuditPublishDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { Guarded, onOne } from '../access.js';
import { Documented, ref } from '../answers/documented.js';
import { withCommas } from '../answers/envelope.js';
import { publicationOf, standingOf } from '../caller.js';
import { errorBody } from '../errors/body.js';
import { checkContext, checkIdempotencyKey, checkQuery, isDocument } from '../errors/request-faults.js';
import { parseEvent } from '../json/event.js';
import { type BulkBody, type BulkItem, bulkItems } from '../requests/bulk-items.js';
import { eventFaults } from '../requests/event-check.js';
import { sendJsonTexts } from '../server/streamed.js';

const queryFaults = compileShape(AuditPublishDto);

const CONTEXT_PATH = { org: 'name of the organization', contextName: 'name of the audit context' };

interface ContextPath {
  readonly org: string;
  readonly contextName: string;
}

/** Operation 2 of the specification, and its bulk form. */
@Controller('audit/org/:org/auditctx/:contextName')
export class AuditPublishController {
  constructor(
    private readonly commands: CommandBus,
    private readonly turns: Turns,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'requestBudgetMs'>,
  ) {}

  @Post()
  @Guarded(onOne('auditctx', 'writeAudit'), { maxBytes: LIMITS.bodyBytes, parse: parseEvent })
  @Documented({
    summary: 'Publish an audit event',
    path: CONTEXT_PATH,
    query: AuditPublishDto,
    idempotent: true,
    body: { 'application/json': 'AuditEventDto' },
    answers: { 201: 'PublishAcknowledgement', 202: 'PublishAcknowledgement' },
    headers: { location: 'the path of the event' },
    errors: ['log_unavailable', 'idempotency_conflict', 'outcome_unknown', 'dead_lettered'],
  })
  async publish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, contextName } = request.params as ContextPath;
    checkContext(contextName);
    const mode = modeOf(request);
    const idempotencyKey = checkIdempotencyKey(request);
    const item = { ...this.eventOf(request.body), ...(idempotencyKey !== undefined && { idempotencyKey }) };
    const command = new PublishAuditEvents(
      [item],
      mode,
      { ...publicationOf(request), contextName },
      standingOf(request),
    );
    const [published] = await this.commands.execute(command);
    if (!published) throw new Error('a publish of one event has one result');
    if ('error' in published) throw published.error;
    const { status, message } = answerOf(published, mode);
    reply
      .code(status)
      .header('location', `/audit/org/${org}/id/${published.id}`)
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify({ id: published.id, message }));
  }

  /** Takes each item on its own: those with faults are named, the others are recorded. */
  @Post('-bulk')
  @Guarded(onOne('auditctx', 'writeAudit'), { maxBytes: LIMITS.bulkBytes, unparsed: true })
  @Documented({
    summary: 'Publish up to 1,000 audit events; a result for each',
    path: CONTEXT_PATH,
    query: AuditPublishDto,
    body: {
      'application/json': { type: 'array', items: ref('BulkItem'), minItems: 1, maxItems: 1000 },
      'application/x-ndjson': { type: 'string', description: 'one item a line' },
    },
    answers: { 200: 'BulkResult' },
    errors: ['log_unavailable'],
  })
  async publishBulk(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { contextName } = request.params as ContextPath;
    checkContext(contextName);
    const mode = modeOf(request);
    refuseIdempotencyKey(request);
    const { org } = request.params as ContextPath;
    const job = { org, budgetMs: this.config.requestBudgetMs, remedy: 'send fewer events at once' };
    const items = await this.turns.run(job, bulkItems(bulkBodyOf(request.body), this.clock.now()));
    const sound = items.filter((item): item is PublishItem => !(item instanceof ControlError));
    const command = new PublishAuditEvents(
      sound,
      mode,
      { ...publicationOf(request), contextName },
      standingOf(request),
    );
    const published = sound.length > 0 ? await this.commands.execute(command) : [];
    const refused = noneTaken(published);
    if (refused) throw refused;
    // What is recorded has its answer, whatever that costs.
    const answer = await this.turns.run({ org }, bulkAnswer(items, published, mode, request.id));
    sendJsonTexts(reply.code(200), answer);
  }

  private eventOf(body: unknown): PublishItem {
    if (!isDocument(body))
      throw new ControlError('unsupported_media_type', 'send one event with Content-Type: application/json');
    const faults = eventFaults(body.value, body.exact, this.clock.now());
    if (faults.length > 0) throw validationFailed(faults);
    return { event: body.value as SentAuditEvent, verbatim: body.verbatim };
  }
}

function bulkBodyOf(body: unknown): BulkBody {
  if (typeof body === 'object' && body !== null && 'bytes' in body) return body as BulkBody;
  throw new ControlError(
    'unsupported_media_type',
    'send a JSON array, or NDJSON with Content-Type: application/x-ndjson',
  );
}

/** A key for the whole would have to stand for its items in this very sequence; each has its own instead. */
function refuseIdempotencyKey(request: FastifyRequest): void {
  if (request.headers['idempotency-key'] === undefined) return;
  throw validationFailed([
    { pointer: 'header:Idempotency-Key', reason: 'is not accepted for a bulk; give each item its own idempotencyKey' },
  ]);
}

function modeOf(request: FastifyRequest): 'sync' | 'async' {
  return checkQuery<AuditPublishDto>(queryFaults, request).async === 'true' ? 'async' : 'sync';
}

/** The log took none of the sound items: then the whole request is refused, with its Retry-After. */
function noneTaken(published: readonly Published[]): ControlError | undefined {
  const [first] = published;
  const refused = first && 'error' in first && first.error.code === 'log_unavailable' ? first.error : undefined;
  return refused && published.every((one) => 'error' in one && one.error.code === refused.code) ? refused : undefined;
}

function answerOf({ state }: Extract<Published, { state: string }>, mode: 'sync' | 'async') {
  if (state === 'searchable') return { status: 201, message: 'the event is recorded and can be found' };
  const message =
    mode === 'async'
      ? 'the event is recorded'
      : 'the event is recorded, but was not yet indexed when the wait ran out; it will be found later';
  return { status: 202, message };
}

/** A thousand items of a hundred faults each are several MiB: too much to write in one piece. */
function* bulkAnswer(
  items: readonly BulkItem[],
  published: readonly Published[],
  mode: 'sync' | 'async',
  requestId: string,
): Steps<string[]> {
  const outcomes = published.values();
  const results: string[] = [];
  let failed = 0;
  for (const [index, item] of items.entries()) {
    const outcome = item instanceof ControlError ? { error: item } : outcomes.next().value;
    if (!outcome) throw new Error('a bulk publish has a result an item');
    const result = bulkResult(index, outcome, mode, requestId);
    if (result.status >= 400) failed += 1;
    results.push(JSON.stringify(result));
    yield;
  }
  const end = `],"succeeded":${results.length - failed},"failed":${failed}}`;
  return ['{"kind":"bulkresult","items":[', ...withCommas(results), end];
}

function bulkResult(index: number, outcome: Published, mode: 'sync' | 'async', requestId: string) {
  if (!('error' in outcome)) return { index, id: outcome.id, ...answerOf(outcome, mode) };
  const error = errorBody(outcome.error, requestId);
  return { index, status: error.status, error };
}
