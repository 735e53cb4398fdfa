import type { Logger } from 'pino';
import { SERVICE_CONTEXT } from '../contract/kinds.js';
import { auditEntry } from '../event-log/audit-record.js';
import type { EventLog } from '../event-log/event-log.js';
import type { Principal } from '../model/access.js';
import { type AuditEvent, DENIED, recordedEvent } from '../model/audit-event.js';
import type { Gravity } from '../model/gravity.js';
import { publisherOf, SERVICE_PUBLISHER } from '../model/publisher.js';
import { type Clock, isoTime } from '../platform/clock.js';
import { type Ids, timeOf } from '../platform/ids.js';
import type { Metrics } from '../platform/metrics.js';
import { networkOf } from '../platform/network.js';
import { cutTo } from '../platform/text.js';
import { within } from '../platform/waiting.js';
import { DeniedBudgets, type DeniedGroup, type DeniedSummary, DeniedTally, likenessOf } from './denied-tally.js';

/** How long the excess may wait to be summed up. */
const SUMMARY_MS = 10_000;

/** How long the end of the process waits for the last summary. */
const LAST_SUMMARY_MS = 1_000;

/**
 * Records what authenticated callers were refused, as audit events of their own organization. Nobody waits for it. Only
 * so many a second are recorded one by one, so that nobody can fill the log with refusals; the others, and those that the
 * log could not take, are counted by principal, permission and address, and the counts are recorded soon after. All
 * limits are of this process.
 */
export class DeniedAttempts {
  private readonly budgets = new Map<string, DeniedBudgets>();
  private tallies = new Map<string, DeniedTally>();
  private summary: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  note(attempt: DeniedAttempt): void {
    const { principal, gravity, target } = attempt;
    const group = groupOf(attempt);
    // Resources that exist are few, names that do not are as many as a caller makes up.
    const likeness = likenessOf(group) + (gravity === 'plain' ? '' : (target ?? ''));
    const isRecorded = this.budgetsOf(principal.org).takes(gravity, principal.link, likeness, this.clock.now());
    if (isRecorded) void this.record(attempt, group);
    else this.leave(principal.org, group);
  }

  /** Sums up what is left, when no more will come, as far as the log takes it soon. */
  async close(): Promise<void> {
    clearTimeout(this.summary);
    await within(LAST_SUMMARY_MS, this.sumUp(), undefined);
    clearTimeout(this.summary);
  }

  private budgetsOf(org: string): DeniedBudgets {
    const budgets = this.budgets.get(org) ?? new DeniedBudgets();
    this.budgets.set(org, budgets);
    return budgets;
  }

  private async record(attempt: DeniedAttempt, group: DeniedGroup): Promise<void> {
    if (!(await this.append(deniedEvent(attempt, this.ids.next())))) this.leave(attempt.principal.org, group);
  }

  private leave(org: string, group: DeniedGroup): void {
    this.metrics.deniedUnrecorded();
    this.tallyOf(org).add(group);
  }

  private tallyOf(org: string): DeniedTally {
    const tally = this.tallies.get(org) ?? new DeniedTally();
    this.tallies.set(org, tally);
    this.summary ??= setTimeout(() => void this.sumUp(), SUMMARY_MS).unref();
    return tally;
  }

  private async sumUp(): Promise<void> {
    this.summary = undefined;
    const tallies = [...this.tallies];
    this.tallies = new Map();
    await Promise.all(
      tallies.map(async ([org, tally]) => {
        const summary = tally.summary();
        if (!(await this.append(deniedSummaryEvent(org, summary, this.ids.next()))))
          this.tallyOf(org).takeBack(summary);
      }),
    );
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

function groupOf({ principal, kind, permission, gravity, remoteIp }: DeniedAttempt): DeniedGroup {
  return { gravity, principal: principal.link, kind, permission, address: networkOf(remoteIp) };
}

/** In bytes of JSON. With these no event has more than 2,048 bytes. */
const MOST_BYTES = { path: 200, name: 64 };

const RESULT = { status: DENIED, message: 'the caller may not do this' };

export interface DeniedAttempt {
  readonly principal: Principal;
  /** What the permission is on, and which it is; `org` and the access that the route asks for if there is none. */
  readonly kind: string;
  readonly permission: string;
  /** Link of the resource that was named, if it exists. */
  readonly target?: string;
  readonly gravity: Gravity;
  readonly method: string;
  /** Of the request, as it came. */
  readonly path: string;
  readonly requestId: string;
  readonly remoteIp: string;
}

/** `resource` is the kind and the path, `action` the permission. Texts that are too long are cut, and the event says so. */
export function deniedEvent(attempt: DeniedAttempt, id: string): AuditEvent {
  const { principal, kind, permission, method, requestId, remoteIp } = attempt;
  const { org, email, link } = principal;
  const path = cutTo(MOST_BYTES.path, attempt.path);
  const name = cutTo(MOST_BYTES.name, principal.name);
  const cut = [
    ...(path === attempt.path ? [] : ['resource.name']),
    ...(name === principal.name ? [] : ['subject.name']),
  ];
  const subject = { name, ...(email !== undefined && { email }), data: { link } };
  return recordedEvent(
    {
      resource: { type: kind, name: path },
      action: { type: permission, data: { method, ...(cut.length > 0 && { cut }) } },
      result: RESULT,
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
}

/** Counts the denied attempts that have no event of their own. */
function deniedSummaryEvent(org: string, summary: DeniedSummary, id: string): AuditEvent {
  const postedTime = isoTime(timeOf(id));
  return {
    id,
    resource: { type: 'org', name: org },
    eventTime: postedTime,
    postedTime,
    requestId: id,
    context: { org, name: SERVICE_CONTEXT, eventSource: 'control', publisher: SERVICE_PUBLISHER },
    subject: { name: SERVICE_PUBLISHER.keyId },
    action: { type: 'denied-attempts', data: { ...summary } },
    result: { ...RESULT, message: `${summary.unrecorded} more attempts were denied than are recorded one by one` },
  };
}
