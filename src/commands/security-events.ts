import type { Logger } from 'pino';
import { SERVICE_CONTEXT } from '../contract/kinds.js';
import type { Caller } from '../control/fold.js';
import type { ControlState } from '../control/state.js';
import { auditEntry } from '../event-log/audit-record.js';
import type { EventLog } from '../event-log/event-log.js';
import { type AuditEvent, recordedEvent } from '../model/audit-event.js';
import { publisherOf, ROOT_KEY_ID, SERVICE_ORG } from '../model/publisher.js';
import { isoTime } from '../platform/clock.js';
import { type Ids, timeOf } from '../platform/ids.js';
import type { Metrics } from '../platform/metrics.js';
import { within } from '../platform/waiting.js';

/** Uses of data that change nothing, so that no change records them. */
export type SecurityAction =
  | 'show-key'
  | 'export'
  | 'end-export'
  | 'backup'
  | 'read-dead-letters'
  | 'replay-dead-letters'
  | 'skip-record'
  | 'rebuild'
  | 'reconcile';

type Data = Readonly<Record<string, unknown>>;

export interface RootAction {
  readonly action: SecurityAction;
  /** For the journal of the service. */
  readonly data: Data;
  /** The organizations whose data is touched, each with what it may know; by default all. */
  readonly touched?: ReadonlyMap<string, Data>;
}

/** At most this many organizations get a record of one action; beyond that, only the service's journal has it. */
const MOST_TOLD = 1_000;

/** How long the end of the process waits for the last records. */
const LAST_APPEND_MS = 1_000;

/**
 * Records uses of data as audit events in the context `svc`: of the organization whose data it is, and what the root key
 * does also in the journal of the service. All methods resolve when the log has the events, and reject with the log's
 * error otherwise: wait for them before the data flows.
 */
export class SecurityEvents {
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(
    private readonly log: EventLog,
    private readonly ids: Ids,
    private readonly state: ControlState,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** Resolves with the identifier of the event. */
  async record(by: Caller, org: string, action: SecurityAction, data: Data): Promise<string> {
    const event = this.eventOf(by, org, action, data);
    await this.append(action, [event]);
    return event.id;
  }

  async recordRoot(by: Caller, { action, data, touched }: RootAction): Promise<void> {
    const told = touched ?? new Map(this.state.read.all('org', '').map(({ name }) => [name, {}]));
    const isToldToEach = told.size <= MOST_TOLD;
    const journal = this.eventOf(by, SERVICE_ORG, action, { ...data, organizations: told.size, isToldToEach });
    const each = isToldToEach ? [...told].map(([org, known]) => this.eventOf(by, org, action, known)) : [];
    const { requestId, remoteIp } = by;
    this.logger.warn({ action, requestId, remoteIp, organizations: told.size }, 'the root key was used');
    await this.append(action, [journal, ...each]);
  }

  /** Of these names, those of organizations. */
  existing(names: Iterable<string>): Set<string> {
    const known = new Set(this.state.read.all('org', '').map(({ name }) => name));
    return new Set([...names].filter((name) => known.has(name)));
  }

  /** Resolves when nothing is under way any more, or soon after. */
  async close(): Promise<void> {
    await within(LAST_APPEND_MS, Promise.allSettled(this.underWay), undefined);
  }

  private async append(action: SecurityAction, events: readonly AuditEvent[]): Promise<void> {
    const appended = this.log.append(events.map((event) => auditEntry(event)));
    this.underWay.add(appended);
    try {
      await appended;
    } finally {
      this.underWay.delete(appended);
    }
    this.metrics.securityEvent(action);
  }

  private eventOf(by: Caller, org: string, action: SecurityAction, data: Data): AuditEvent {
    const { name, email, link, keyId = ROOT_KEY_ID, requestId, remoteIp } = by;
    const id = this.ids.next();
    const publisher = publisherOf({ ...(link !== undefined && { link }), keyId }, remoteIp);
    const subject = { name, ...(email !== undefined && { email }), ...(link !== undefined && { data: { link } }) };
    return recordedEvent(
      {
        resource: { type: org === SERVICE_ORG ? 'service' : 'org', name: org },
        action: { type: action, data },
        result: { status: 'OK' },
        context: { eventSource: 'control' },
      },
      {
        id,
        postedTime: isoTime(timeOf(id)),
        org,
        contextName: SERVICE_CONTEXT,
        ...{ remoteIp, requestId, publisher, subject },
      },
    );
  }
}
