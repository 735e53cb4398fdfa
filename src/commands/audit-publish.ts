import { hash } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { AuthorityCheck, type Standing } from '../control/authority-check.js';
import { auditEntry } from '../event-log/audit-record.js';
import { EVENT_LOG, type EventLog, type LogEntry, type Position, type Topic } from '../event-log/event-log.js';
import { type Publication, recordedEvent, type SentAuditEvent } from '../model/audit-event.js';
import { canonicalJson } from '../model/json.js';
import { CLOCK, type Clock, isoTime } from '../platform/clock.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { IDS, type Ids, timeOf } from '../platform/ids.js';
import { Metrics, type PublishOutcome } from '../platform/metrics.js';
import { inSpan } from '../platform/tracing.js';
import { eachInSteps, Turns } from '../platform/turns.js';
import type { Verbatim } from '../platform/verbatim-json.js';
import { type Indexed, Waiters } from '../progress/waiters.js';
import { READ_MODEL } from '../read-model/read-model.js';
import { AppendsUnderWay } from './appends-under-way.js';
import { FormerEvents, formerEventId, keyedEventId } from './event-keys.js';

export interface PublishItem {
  /** Valid: the shape is checked before. */
  readonly event: SentAuditEvent;
  /** What was sent, if `event` has only the texts of it. */
  readonly verbatim?: Verbatim | undefined;
  readonly idempotencyKey?: string;
}

/** What became of one item; an error names the item's identifier where it may be in the log all the same. */
export type Published =
  | { readonly id: string; readonly state: 'searchable' | 'recorded' }
  | { readonly error: ControlError };

/** `standing`: what the publisher's access rests on. It is judged again right before the append. */
export class PublishAuditEvents extends Command<Published[]> {
  constructor(
    readonly items: readonly PublishItem[],
    readonly mode: 'sync' | 'async',
    readonly from: Omit<Publication, 'id' | 'postedTime'>,
    readonly standing: Standing,
  ) {
    super();
  }
}

/** What is asked of the read model: which record an event came from, and what was sent with it. */
export interface IndexedEvents {
  get(
    kind: 'auditevent',
    org: string,
    id: string,
  ): Promise<{ readonly place: Position & { readonly topic: Topic } } | undefined>;
  scan(
    kind: 'auditevent',
    range: {
      readonly topic: Topic;
      readonly partition: number;
      readonly from: number;
      readonly to: number;
      readonly limit: number;
    },
  ): Promise<readonly { readonly org: string; readonly id: string; readonly hash?: string }[]>;
}

const NO_KEYS: ReadonlySet<string> = new Set();

interface Prepared {
  readonly id: string;
  readonly org: string;
  readonly entry: LogEntry;
}

/** An append is one transaction, which holds the event loop for as long as it has bytes. */
const APPENDED_BYTES = 1024 * 1024;

/** So few are prepared in no time; more in turns. */
const PREPARED_AT_ONCE = 4;

/**
 * Appends events to the log, if the publisher may still do so, and, in sync mode, waits until they are searchable.
 * Answers one result an item, in order, and only after the log has the items durably. Order: the
 * events of one resource that are accepted keep the order of the items.
 */
@CommandHandler(PublishAuditEvents)
export class PublishAuditEventsHandler implements ICommandHandler<PublishAuditEvents> {
  constructor(
    private readonly waiters: Waiters,
    private readonly metrics: Metrics,
    private readonly authorities: AuthorityCheck,
    private readonly turns: Turns,
    private readonly underWay: AppendsUnderWay,
    private readonly former: FormerEvents,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(READ_MODEL) private readonly model: IndexedEvents,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async execute({ items, mode, from, standing }: PublishAuditEvents): Promise<Published[]> {
    const keys = items.flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
    const former = keys.length > 0 ? await this.former.among(from, keys) : NO_KEYS;
    const prepare = (item: PublishItem) => this.prepare(item, mode, from, former);
    const isMany = items.length > PREPARED_AT_ONCE;
    const prepared = isMany ? await this.turns.run({ org: from.org }, eachInSteps(items, prepare)) : items.map(prepare);
    const published = await inSpan('publish', { mode, events: items.length }, () =>
      this.publish(prepared, mode, standing),
    );
    this.count(mode, published);
    return published;
  }

  private count(mode: 'sync' | 'async', published: readonly Published[]): void {
    const counts = new Map<PublishOutcome, number>();
    for (const one of published) {
      const outcome = 'error' in one ? one.error.code : one.state;
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
    for (const [outcome, count] of counts) this.metrics.published(mode, outcome, count);
  }

  /** Part after part: what follows a part that was refused is not sent, so that a retry keeps the order. */
  private async publish(
    prepared: readonly Prepared[],
    mode: 'sync' | 'async',
    standing: Standing,
  ): Promise<Published[]> {
    const parts = partsOf(prepared);
    const published: Promise<Published[]>[] = [];
    for (const [index, part] of parts.entries()) {
      let positions: Position[];
      try {
        positions = await this.append(part, standing);
      } catch (error) {
        if (!(error instanceof ControlError)) throw error;
        if (index === 0 && !LOG_ERRORS.includes(error.code)) throw error;
        published.push(Promise.resolve(refused(part, error, parts.slice(index + 1).flat())));
        break;
      }
      published.push(this.acknowledged(part, positions, mode));
    }
    return (await Promise.all(published)).flat();
  }

  private async append(part: readonly Prepared[], standing: Standing): Promise<Position[]> {
    for (let wait = this.authorities.waitsFor(standing); wait; wait = this.authorities.waitsFor(standing)) await wait;
    // Nothing gives way to other work from here to the append: no revocation is folded in between.
    const start = performance.now();
    const positions = await inSpan('append', { entries: part.length }, () =>
      this.underWay.note(standing.authority.org, this.log.append(part.map(({ entry }) => entry))),
    );
    this.metrics.appended(start);
    return positions;
  }

  private async acknowledged(
    part: readonly Prepared[],
    positions: readonly Position[],
    mode: 'sync' | 'async',
  ): Promise<Published[]> {
    if (mode === 'async') return part.map(({ id }) => ({ id, state: 'recorded' }));
    const durable = performance.now();
    const indexed = await this.indexed(part, positions);
    this.metrics.waited(durable);
    return part.map(({ id }, index) => published(id, indexed[index] ?? { code: 'timeout' }));
  }

  private async indexed(prepared: readonly Prepared[], positions: readonly Position[]): Promise<readonly Indexed[]> {
    const { syncTimeoutMs } = this.config;
    const indexed = await this.waiters.waitForAll('audit', positions, syncTimeoutMs);
    if (indexed.every(({ code }) => code !== 'unconfirmed')) return indexed;
    const endOf = (one: Prepared | undefined, position: Position | undefined): Promise<Indexed> => {
      if (!one || !position) throw new Error('an append answers a position an entry');
      // Where the read model cannot be asked, the event is recorded: that much is true.
      return this.endOf(one, position).catch(() => ({ code: 'timeout' }));
    };
    return Promise.all(
      indexed.map((end, at) => (end.code === 'unconfirmed' ? endOf(prepared[at], positions[at]) : end)),
    );
  }

  /** What stands under the identifier tells which end the record had, for whoever indexed it has died since. */
  private async endOf({ id, org, entry }: Prepared, { partition, offset }: Position): Promise<Indexed> {
    const place = (await this.model.get('auditevent', org, id))?.place;
    // It has expired already, or it is among the dead letters.
    if (!place) return { code: 'timeout' };
    if (place.partition === partition && place.offset === offset) return { code: 'searchable' };
    const range = { topic: place.topic, partition: place.partition, from: place.offset, to: place.offset + 1 };
    const stored = await this.model.scan('auditevent', { ...range, limit: 1 });
    const first = stored.find((one) => one.org === org && one.id === id);
    if (!first) return { code: 'timeout' };
    return { code: first.hash === entry.headers.hash ? 'duplicate' : 'conflict', offset, id };
  }

  /** `former`: the keys that stand for events from before; their identifiers tell the projection what a retry is. */
  private prepare(
    item: PublishItem,
    mode: 'sync' | 'async',
    from: PublishAuditEvents['from'],
    former: ReadonlySet<string>,
  ): Prepared {
    const { event, verbatim, idempotencyKey } = item;
    const waited = mode === 'sync';
    if (idempotencyKey === undefined) {
      const id = this.ids.next();
      const recorded = recordedEvent(event, { ...from, id, postedTime: isoTime(timeOf(id)) });
      return { id, org: from.org, entry: auditEntry(recorded, { waited, verbatim }) };
    }
    const id = (former.has(idempotencyKey) ? formerEventId : keyedEventId)(from, idempotencyKey);
    const recorded = recordedEvent(event, { ...from, id, postedTime: isoTime(this.clock.now()) });
    const sent = verbatim ? verbatim.parse() : event;
    const entry = auditEntry(recorded, { hash: hash('sha256', canonicalJson(sent)), waited, verbatim });
    return { id, org: from.org, entry };
  }
}

/** In order, each with about so many bytes at most. */
function partsOf(prepared: readonly Prepared[]): Prepared[][] {
  const parts: Prepared[][] = [];
  let bytes = APPENDED_BYTES;
  for (const one of prepared) {
    const size = one.entry.value.byteLength;
    if (bytes + size > APPENDED_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(one);
    bytes += size;
  }
  return parts;
}

function published(id: string, indexed: Indexed): Published {
  switch (indexed.code) {
    case 'timeout':
    case 'unconfirmed':
      return { id, state: 'recorded' };
    case 'conflict':
      return {
        error: new ControlError(
          'idempotency_conflict',
          'the Idempotency-Key was already used for another event; use a new key',
          {
            id,
          },
        ),
      };
    case 'dead_lettered':
      return {
        error: new ControlError(
          'dead_lettered',
          'the event is recorded but cannot be indexed; report the request id to the operator',
          { id },
        ),
      };
    // A repetition of what is there already has the same answer as the first.
    case 'duplicate':
    case 'searchable':
      return { id, state: 'searchable' };
  }
}

/** What the caller lost meanwhile refuses a whole request, unless some of it is recorded already. */
const LOG_ERRORS: readonly string[] = ['log_unavailable', 'outcome_unknown'];

/** `unsent` follows the part. Each item has an error that tells whether it may be in the log all the same. */
function refused(part: readonly Prepared[], error: ControlError, unsent: readonly Prepared[]): Published[] {
  const isKnown = error.code !== 'outcome_unknown';
  const behind = isKnown
    ? error
    : new ControlError('log_unavailable', 'the events before it may not be recorded; retry');
  return [...part.map(({ id }) => ({ error: withId(error, id) })), ...unsent.map(() => ({ error: behind }))];
}

function withId(error: ControlError, id: string): ControlError {
  if (error.code !== 'outcome_unknown') return error;
  return new ControlError(error.code, error.message, { ...error.details, id }, { cause: error.cause });
}
