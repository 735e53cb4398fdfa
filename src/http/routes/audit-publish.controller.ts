import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Published } from '../../commands/acknowledgements.js';
import { PublishAuditEvents, type PublishItem } from '../../commands/audit-publish.js';
import { ControlError, validationFailed } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import { CLOCK, type Clock } from '../../platform/clock.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { type Steps, Turns } from '../../platform/turns.js';
import { GetEventProof } from '../../queries/event-proof.js';
import { AuditBulkDto, AuditPublishDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { isTrue } from '../../shapes/shape.js';
import { Guarded, onOne } from '../access.js';
import { Documented, ref } from '../answers/documented.js';
import { LINKED_PROOF, proofLink, withCommas } from '../answers/envelope.js';
import { CONTEXT_PATH } from '../answers/paths.js';
import { publicationOf, standingOf } from '../caller.js';
import { errorBody } from '../errors/body.js';
import { checkContext, checkIdempotencyKey, checkQuery, isDocument } from '../errors/request-faults.js';
import { parseEvent } from '../json/event.js';
import { type BulkBody, type BulkItem, bulkItems } from '../requests/bulk-items.js';
import { eventFaults } from '../requests/event-check.js';
import { requireSound, requireWhole } from '../requests/whole-bulk.js';
import { sendJsonTexts } from '../server/streamed.js';

/** Enough to be an event. */
const EVENT = { resource: { id: 'order-4711' }, action: { type: 'cancel' } };

const queryFaults = compileShape(AuditPublishDto);
const bulkQueryFaults = compileShape(AuditBulkDto);

interface ContextPath {
  readonly org: string;
  readonly contextName: string;
}

/** Operation 2 of the specification, and its bulk form. */
@Controller('audit/org/:org/auditctx/:contextName')
export class AuditPublishController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly turns: Turns,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'requestBudgetMs' | 'syncTimeoutMs'>,
  ) {}

  @Post()
  @Guarded(onOne('auditctx', 'writeAudit'), { maxBytes: LIMITS.bodyBytes, parse: parseEvent })
  @Documented('publishEvent', {
    summary: 'Publish an audit event',
    path: CONTEXT_PATH,
    query: AuditPublishDto,
    idempotent: true,
    body: { 'application/json': 'AuditEventDto' },
    answers: { 201: 'PublishAcknowledgement', 202: 'PublishAcknowledgement' },
    headers: {
      location: 'the path of the event',
      link: LINKED_PROOF,
      'preference-applied': '`proof`, if `Prefer: proof` was sent and the answer has the proof',
    },
    errors: ['log_unavailable', 'idempotency_conflict', 'outcome_unknown', 'dead_lettered'],
  })
  async publish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { org, contextName } = request.params as ContextPath;
    checkContext(contextName);
    const begun = performance.now();
    const mode = modeOf(request);
    const proven = mode === 'sync' && prefersProof(request);
    const idempotencyKey = checkIdempotencyKey(request);
    const item = { ...this.eventOf(request.body), ...(idempotencyKey !== undefined && { idempotencyKey }) };
    const command = new PublishAuditEvents(
      [item],
      mode,
      { ...publicationOf(request), contextName },
      standingOf(request),
      proven,
    );
    const [published] = await this.commands.execute(command);
    if (!published) throw new Error('a publish of one event has one result');
    if ('error' in published) throw published.error;
    const { id, state } = published;
    const proof = proven && state === 'searchable' ? await this.proofOf(request, id, begun) : undefined;
    const isLate = proven && state === 'searchable' && proof === undefined;
    const { status, message } = isLate ? NOT_PROVEN : answerOf(published, mode);
    const path = `/audit/org/${org}/id/${id}`;
    reply.code(status).header('location', path).header('content-type', 'application/json; charset=utf-8');
    if (status === 201) reply.header('link', proofLink(path));
    if (proof !== undefined) reply.header('preference-applied', 'proof');
    reply.send(JSON.stringify({ id, message, proof }));
  }

  /** Undefined if no checkpoint covers the event when the wait of the publish is over. The publisher may have it unread. */
  private async proofOf(request: FastifyRequest, id: string, begun: number): Promise<string | undefined> {
    const { org } = request.params as ContextPath;
    const timeoutMs = Math.max(0, this.config.syncTimeoutMs - (performance.now() - begun));
    try {
      return await this.queries.execute(new GetEventProof(org, id, 'all', timeoutMs));
    } catch (error) {
      // The event is recorded: whatever keeps its proof from being read, that stays the answer.
      request.log.debug({ err: error, id }, 'no proof for a publisher who prefers one');
      return undefined;
    }
  }

  /**
   * Takes each item on its own: those with faults are named, the others are recorded. With `partial=false` takes all items
   * or none.
   */
  @Post('-bulk')
  @Guarded(onOne('auditctx', 'writeAudit'), { maxBytes: LIMITS.bulkBytes, unparsed: true })
  @Documented('publishEvents', {
    summary: 'Publish up to 1,000 audit events; a result for each',
    path: CONTEXT_PATH,
    query: AuditBulkDto,
    idempotent: true,
    body: {
      'application/json': {
        type: 'array',
        items: ref('BulkItem'),
        minItems: 1,
        maxItems: LIMITS.bulkEvents,
        examples: [[EVENT, { idempotencyKey: 'order-4712-cancelled', event: EVENT }]],
      },
      'application/x-ndjson': { type: 'string', description: 'one item a line' },
    },
    answers: { 200: 'BulkResult' },
    errors: ['log_unavailable', 'idempotency_conflict', 'outcome_unknown', 'dead_lettered'],
  })
  async publishBulk(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { contextName } = request.params as ContextPath;
    checkContext(contextName);
    const { async, partial = 'true' } = checkQuery<AuditBulkDto>(bulkQueryFaults, request);
    const mode = isTrue(async) ? 'async' : 'sync';
    const whole = !isTrue(partial);
    if (!whole) refuseIdempotencyKey(request);
    const { org } = request.params as ContextPath;
    const job = { org, budgetMs: this.config.requestBudgetMs, remedy: 'send fewer events at once' };
    const items = await this.turns.run(job, bulkItems(bulkBodyOf(request.body), this.clock.now()));
    const sound = whole ? requireSound(items, checkIdempotencyKey(request)) : soundOnes(items);
    const command = new PublishAuditEvents(
      sound,
      mode,
      { ...publicationOf(request), contextName },
      standingOf(request),
      false,
      whole,
    );
    const published = sound.length > 0 ? await this.commands.execute(command) : [];
    const refused = noneTaken(published);
    if (refused) throw refused;
    if (whole) requireWhole(published);
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

function soundOnes(items: readonly BulkItem[]): PublishItem[] {
  return items.filter((item): item is PublishItem => !(item instanceof ControlError));
}

function bulkBodyOf(body: unknown): BulkBody {
  if (typeof body === 'object' && body !== null && 'bytes' in body) return body as BulkBody;
  throw new ControlError(
    'unsupported_media_type',
    'send a JSON array, or NDJSON with Content-Type: application/x-ndjson',
  );
}

/** A key for a bulk would have to stand for its items in this very sequence: it does with `partial=false` only. */
function refuseIdempotencyKey(request: FastifyRequest): void {
  if (request.headers['idempotency-key'] === undefined) return;
  throw validationFailed([
    {
      pointer: 'header:Idempotency-Key',
      reason: 'is for bulks with partial=false; give each item its own idempotencyKey',
    },
  ]);
}

function modeOf(request: FastifyRequest): 'sync' | 'async' {
  return isTrue(checkQuery<AuditPublishDto>(queryFaults, request).async) ? 'async' : 'sync';
}

/** Whether `Prefer` (RFC 7240) names `proof`. Other preferences are not known here, and ignored. */
function prefersProof({ headers: { prefer } }: FastifyRequest): boolean {
  if (prefer === undefined) return false;
  const names = [prefer].flat().flatMap((header) => header.split(',').map((one) => one.split(/[=;]/)[0]?.trim()));
  return names.some((name) => name?.toLowerCase() === 'proof');
}

const NOT_PROVEN = {
  status: 202,
  message:
    'the event is recorded and can be found, but no checkpoint covered it when the wait ran out; read its proof later',
};

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
  if (!('error' in outcome)) {
    const repeated = 'isRepetition' in outcome && { repeated: true };
    return { index, id: outcome.id, ...answerOf(outcome, mode), ...repeated };
  }
  const error = errorBody(outcome.error, requestId);
  return { index, status: error.status, error };
}
