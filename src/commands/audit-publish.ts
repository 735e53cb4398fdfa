import { hash } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { AuthorityCheck, type Standing } from '../control/authority-check.js';
import { ControlState } from '../control/state.js';
import { type AuditEntryOptions, auditEntry } from '../event-log/audit-record.js';
import { EVENT_LOG, type EventLog, type Position } from '../event-log/event-log.js';
import { type Publication, recordedEvent, type SentAuditEvent } from '../model/audit-event.js';
import { canonicalJson } from '../model/json.js';
import { PLACEMENT } from '../model/placement.js';
import { CLOCK, type Clock, isoTime } from '../platform/clock.js';
import { IDS, type Ids, timeOf } from '../platform/ids.js';
import { Metrics } from '../platform/metrics.js';
import { inSpan } from '../platform/tracing.js';
import { eachInSteps, Turns } from '../platform/turns.js';
import type { Verbatim } from '../platform/verbatim-json.js';
import { READ_MODEL } from '../read-model/read-model.js';
import { Acknowledgements, type Appended, type Published, type PublishMode } from './acknowledgements.js';
import { AppendsUnderWay } from './appends-under-way.js';
import { digestEventId, FormerEvents, formerEventId, keyedEventId } from './event-keys.js';
import { type IndexedEvents, type Prepared, refuseConflicts } from './key-conflicts.js';

export interface PublishItem {
  /** Valid: the shape is checked before. */
  readonly event: SentAuditEvent;
  /** What was sent, if `event` has only the texts of it. */
  readonly verbatim?: Verbatim | undefined;
  readonly idempotencyKey?: string;
  /** The place of the item, if all items of its bulk have this one key. */
  readonly at?: number;
  /**
   * In place of a key: SHA-256 of all that the item was sent as. Whatever event came with it first is the one that is
   * recorded, and another is a repetition.
   */
  readonly digest?: string;
}

/**
 * `standing`: what the publisher's access rests on. It is judged again right before the append. `proven`: the publisher waits
 * for a proof, so the events are sealed soon. `later`: the caller waits by itself, with what was appended. `whole`: one append has all items, and none is appended if a key is known to
 * stand for another event.
 */
export class PublishAuditEvents extends Command<Published[]> {
  constructor(
    readonly items: readonly PublishItem[],
    readonly mode: PublishMode | 'later',
    readonly from: Omit<Publication, 'id' | 'postedTime'>,
    readonly standing: Standing,
    readonly proven = false,
    readonly whole = false,
  ) {
    super();
  }
}

const NO_KEYS: ReadonlySet<string> = new Set();

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
    private readonly acknowledgements: Acknowledgements,
    private readonly metrics: Metrics,
    private readonly authorities: AuthorityCheck,
    private readonly turns: Turns,
    private readonly underWay: AppendsUnderWay,
    private readonly former: FormerEvents,
    private readonly state: ControlState,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(READ_MODEL) private readonly model: IndexedEvents,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
  ) {}

  async execute({ items, mode, from, standing, proven, whole }: PublishAuditEvents): Promise<Published[]> {
    const keys = items.flatMap(({ idempotencyKey, at }) => (at === undefined ? (idempotencyKey ?? []) : []));
    const former = keys.length > 0 ? await this.former.among(from, keys) : NO_KEYS;
    const prepare = (item: PublishItem) => this.prepare(item, { waited: mode !== 'async', proven }, from, former);
    const isMany = items.length > PREPARED_AT_ONCE;
    const prepared = isMany ? await this.turns.run({ org: from.org }, eachInSteps(items, prepare)) : items.map(prepare);
    if (whole) await refuseConflicts(this.model, prepared);
    const parts = whole ? [prepared] : partsOf(prepared);
    return inSpan('publish', { mode, events: items.length }, () => this.publish(parts, mode, standing));
  }

  /** Part after part: what follows a part that was refused is not sent, so that a retry keeps the order. */
  private async publish(
    parts: readonly (readonly Prepared[])[],
    mode: PublishAuditEvents['mode'],
    standing: Standing,
  ): Promise<Published[]> {
    const published: Promise<Published[]>[] = [];
    for (const [index, part] of parts.entries()) {
      let positions: Position[];
      try {
        positions = await this.append(part, standing);
      } catch (error) {
        if (!(error instanceof ControlError)) throw error;
        if (index === 0 && !LOG_ERRORS.includes(error.code)) throw error;
        const counted = mode === 'async' ? mode : 'sync';
        const rest = refused(part, error, parts.slice(index + 1).flat());
        published.push(Promise.resolve(this.acknowledgements.counted(counted, rest)));
        break;
      }
      published.push(Promise.resolve(this.acknowledged(appendedOf(part, positions), mode)));
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

  private acknowledged(
    events: readonly Appended[],
    mode: PublishAuditEvents['mode'],
  ): Published[] | Promise<Published[]> {
    if (mode === 'sync') return this.acknowledgements.of(events);
    if (mode === 'later') return events.map((appended) => ({ id: appended.id, state: 'recorded', appended }));
    return this.acknowledgements.counted(
      mode,
      events.map(({ id }) => ({ id, state: 'recorded' })),
    );
  }

  /** `former`: the keys that stand for events from before; their identifiers tell the projection what a retry is. */
  private prepare(
    item: PublishItem,
    awaits: Pick<AuditEntryOptions, 'waited' | 'proven'>,
    from: PublishAuditEvents['from'],
    former: ReadonlySet<string>,
  ): Prepared {
    const { event, verbatim, idempotencyKey, at, digest } = item;
    if (digest !== undefined) {
      const id = digestEventId(from, digest);
      const recorded = recordedEvent(event, { ...from, id, postedTime: isoTime(this.clock.now()) });
      const among = this.state.read(PLACEMENT)?.partitions;
      return { id, org: from.org, entry: auditEntry(recorded, { hash: digest, among, ...awaits, verbatim }) };
    }
    if (idempotencyKey === undefined) {
      const id = this.ids.next();
      const recorded = recordedEvent(event, { ...from, id, postedTime: isoTime(timeOf(id)) });
      return { id, org: from.org, entry: auditEntry(recorded, { ...awaits, verbatim }) };
    }
    const isFormer = at === undefined && former.has(idempotencyKey);
    const id = isFormer ? formerEventId(from, idempotencyKey) : keyedEventId(from, idempotencyKey, at);
    const recorded = recordedEvent(event, { ...from, id, postedTime: isoTime(this.clock.now()) });
    const sent = verbatim ? verbatim.parse() : event;
    const among = this.state.read(PLACEMENT)?.partitions;
    const entry = auditEntry(recorded, { hash: hash('sha256', canonicalJson(sent)), among, ...awaits, verbatim });
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

function appendedOf(part: readonly Prepared[], positions: readonly Position[]): Appended[] {
  return part.map(({ id, org, entry }, index) => {
    const position = positions[index];
    if (!position) throw new Error('an append answers a position an entry');
    return { id, org, position, hash: entry.headers.hash };
  });
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
