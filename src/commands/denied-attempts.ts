import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, isoTime } from '../clock.js';
import { auditEntry } from '../event-log/audit-record.js';
import type { EventLog } from '../event-log/event-log.js';
import { type Ids, timeOf } from '../ids.js';
import type { Metrics } from '../metrics.js';
import type { Principal } from '../model/access.js';
import { type AuditEvent, recordedEvent, SERVICE_CONTEXT } from '../model/audit-event.js';
import { publisherOf } from '../model/publisher.js';

/** Of one organization, in one process. */
const A_SECOND = 10;
const AT_ONCE = 50;

/** How long the excess may wait to be summed up. */
const SUMMARY_MS = 10_000;

/** How long the end of the process waits for the last summary. */
const LAST_SUMMARY_MS = 1_000;

const MOST_CHARACTERS = 1024;

const DENIED = { status: 'DENIED', message: 'the caller may not do this' };

export interface DeniedAttempt {
  readonly principal: Principal;
  /** What the permission is on, and which it is; for want of a better word, the access that the route asks for. */
  readonly kind: string;
  readonly permission: string;
  readonly method: string;
  /** Of the request, as it came. */
  readonly path: string;
  readonly requestId: string;
  readonly remoteIp: string;
}

/** Of one organization. */
interface Budget {
  tokens: number;
  at: number;
  /** Attempts since the last summary that are not recorded one by one. */
  excess: number;
}

/**
 * Records what authenticated callers were refused, as audit events of their own organization: `resource` is the kind and
 * the path, `action` the permission. Nobody waits for it. Only so many a second are recorded one by one, so that nobody
 * can fill the log with refusals; the others, and those that the log could not take, are counted, and their number is
 * recorded soon after.
 */
export class DeniedAttempts {
  private readonly budgets = new Map<string, Budget>();
  private summary: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  note({ principal, kind, permission, method, path, requestId, remoteIp }: DeniedAttempt): void {
    const { org, name, email, link } = principal;
    if (!this.takes(org)) return this.leave(org);
    const id = this.ids.next();
    const subject = { name, ...(email !== undefined && { email }), data: { link } };
    const event = recordedEvent(
      {
        resource: { type: kind, name: path.slice(0, MOST_CHARACTERS) },
        action: { type: permission, data: { method } },
        result: DENIED,
        context: { eventSource: 'control' },
      },
      {
        id,
        postedTime: isoTime(timeOf(id)),
        org,
        contextName: SERVICE_CONTEXT,
        remoteIp,
        requestId,
        publisher: publisherOf(principal, remoteIp),
        subject,
      },
    );
    void this.record(event);
  }

  /** Sums up what is left, when no more will come, as far as the log takes it soon. */
  async close(): Promise<void> {
    clearTimeout(this.summary);
    const done = new AbortController();
    const enough = delay(LAST_SUMMARY_MS, undefined, { signal: done.signal }).catch(() => undefined);
    await Promise.race([this.sumUp(), enough]);
    done.abort();
    clearTimeout(this.summary);
  }

  private budgetOf(org: string): Budget {
    const budget = this.budgets.get(org) ?? { tokens: AT_ONCE, at: this.clock.now(), excess: 0 };
    this.budgets.set(org, budget);
    return budget;
  }

  private takes(org: string): boolean {
    const budget = this.budgetOf(org);
    const now = this.clock.now();
    budget.tokens = Math.min(AT_ONCE, budget.tokens + (Math.max(0, now - budget.at) / 1000) * A_SECOND);
    budget.at = now;
    if (budget.tokens < 1) return false;
    budget.tokens -= 1;
    return true;
  }

  private leave(org: string): void {
    this.metrics.deniedUnrecorded();
    this.putOff(org, 1);
  }

  private putOff(org: string, attempts: number): void {
    this.budgetOf(org).excess += attempts;
    this.summary ??= setTimeout(() => void this.sumUp(), SUMMARY_MS).unref();
  }

  private async sumUp(): Promise<void> {
    this.summary = undefined;
    const left = [...this.budgets].filter(([, { excess }]) => excess > 0);
    await Promise.all(
      left.map(async ([org, budget]) => {
        const { excess } = budget;
        budget.excess = 0;
        if (!(await this.append(this.summaryOf(org, excess)))) this.putOff(org, excess);
      }),
    );
  }

  private summaryOf(org: string, excess: number): AuditEvent {
    const id = this.ids.next();
    const postedTime = isoTime(timeOf(id));
    return {
      id,
      resource: { type: 'org', name: org },
      eventTime: postedTime,
      postedTime,
      requestId: id,
      context: { org, name: SERVICE_CONTEXT, eventSource: 'control' },
      subject: { name: SERVICE_CONTEXT },
      action: { type: 'denied-attempts', data: { unrecorded: excess } },
      result: { ...DENIED, message: `${excess} more attempts were denied than are recorded one by one` },
    };
  }

  private async record(event: AuditEvent): Promise<void> {
    if (!(await this.append(event))) this.leave(event.context.org);
  }

  /** Whether the log has it. */
  private async append(event: AuditEvent): Promise<boolean> {
    try {
      await this.log.append([auditEntry(event)]);
      return true;
    } catch (error) {
      this.logger.warn({ err: error, requestId: event.requestId }, 'denied attempts could not be recorded');
      return false;
    }
  }
}
