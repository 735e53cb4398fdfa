import { hash } from 'node:crypto';
import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Clock, isoTime } from '../clock.js';
import type { Config } from '../config.js';
import { ControlError } from '../errors.js';
import { auditEntry } from '../event-log/audit-record.js';
import type { EventLog, LogEntry, Position } from '../event-log/event-log.js';
import { type Ids, keyedId, timeOf } from '../ids.js';
import { Metrics } from '../metrics.js';
import { type Publication, recordedEvent, type SentAuditEvent } from '../model/audit-event.js';
import { canonicalJson } from '../model/canonical-json.js';
import { type Indexed, Waiters } from '../progress/waiters.js';
import { CLOCK, CONFIG, EVENT_LOG, IDS } from '../tokens.js';
import { inSpan } from '../tracing.js';

export interface PublishItem {
  /** Valid: the shape is checked before. */
  readonly event: SentAuditEvent;
  readonly idempotencyKey?: string;
}

/** What became of one item; an error names the item's identifier where it may be in the log all the same. */
export type Published =
  | { readonly id: string; readonly state: 'searchable' | 'recorded' }
  | { readonly error: ControlError };

export class PublishAuditEvents extends Command<Published[]> {
  constructor(
    readonly items: readonly PublishItem[],
    readonly mode: 'sync' | 'async',
    readonly from: Omit<Publication, 'id' | 'postedTime'>,
  ) {
    super();
  }
}

interface Prepared {
  readonly id: string;
  readonly entry: LogEntry;
}

/**
 * Appends events to the log and, in sync mode, waits until they are searchable. Answers one result an item, in order,
 * and only after the log has the items durably. Order: events of one resource keep the order of the items.
 */
@CommandHandler(PublishAuditEvents)
export class PublishAuditEventsHandler implements ICommandHandler<PublishAuditEvents> {
  constructor(
    private readonly waiters: Waiters,
    private readonly metrics: Metrics,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async execute({ items, mode, from }: PublishAuditEvents): Promise<Published[]> {
    const prepared = items.map((item) => this.prepare(item, mode, from));
    const published = await inSpan('publish', { mode, events: items.length }, () => this.publish(prepared, mode));
    for (const one of published) this.metrics.published(mode, 'error' in one ? one.error.code : one.state);
    return published;
  }

  private async publish(prepared: readonly Prepared[], mode: 'sync' | 'async'): Promise<Published[]> {
    let positions: Position[];
    const start = performance.now();
    try {
      positions = await inSpan('append', { entries: prepared.length }, () =>
        this.log.append(prepared.map(({ entry }) => entry)),
      );
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      return prepared.map(({ id }) => ({ error: withId(error, id) }));
    }
    this.metrics.appended(start);
    if (mode === 'async') return prepared.map(({ id }) => ({ id, state: 'recorded' }));
    const durable = performance.now();
    const waits = positions.map((position) => this.waiters.waitFor('audit', position, this.config.syncTimeoutMs));
    const indexed = await Promise.all(waits);
    this.metrics.waited(durable);
    return prepared.map(({ id }, index) => published(id, indexed[index] ?? { code: 'timeout' }));
  }

  private prepare(item: PublishItem, mode: 'sync' | 'async', from: PublishAuditEvents['from']): Prepared {
    const { event, idempotencyKey } = item;
    const waited = mode === 'sync';
    if (idempotencyKey === undefined) {
      const id = this.ids.next();
      const recorded = recordedEvent(event, { ...from, id, postedTime: isoTime(timeOf(id)) });
      return { id, entry: auditEntry(recorded, { waited }) };
    }
    const id = keyedId('event', from.org, from.contextName, idempotencyKey);
    const recorded = recordedEvent(event, { ...from, id, postedTime: isoTime(this.clock.now()) });
    return { id, entry: auditEntry(recorded, { hash: hash('sha256', canonicalJson(event)), waited }) };
  }
}

function published(id: string, indexed: Indexed): Published {
  switch (indexed.code) {
    case 'timeout':
      return { id, state: 'recorded' };
    case 'conflict':
      return {
        error: new ControlError('idempotency_conflict', 'the Idempotency-Key was used before with another event', {
          id,
        }),
      };
    case 'dead_lettered':
      return { error: new ControlError('dead_lettered', 'the event is recorded but cannot be indexed', { id }) };
    // A repetition of what is there already has the same answer as the first.
    case 'duplicate':
    case 'searchable':
      return { id, state: 'searchable' };
  }
}

function withId(error: ControlError, id: string): ControlError {
  if (error.code !== 'outcome_unknown') return error;
  return new ControlError(error.code, error.message, { ...error.details, id }, { cause: error.cause });
}
