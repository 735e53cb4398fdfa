import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError, validationFailed } from '../contract/errors.js';
import { kindOf } from '../contract/kinds.js';
import { PastStates } from '../control/past-state.js';
import { ControlState } from '../control/state.js';
import { AccessRules, type PermissionReport } from '../model/access.js';
import type { Read } from '../model/control-events.js';
import type { TargetKind } from '../model/permission.js';
import { targetLink } from '../model/resource-at.js';
import { orgStream } from '../model/streams.js';
import { CLOCK, type Clock } from '../platform/clock.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { Slots } from '../platform/slots.js';
import { type Job, Turns } from '../platform/turns.js';

/** Reports on the past under way in a process, unless more organizations ask; and how many of one organization may wait. */
const MOST_AT_ONCE = 2;
const MOST_WAITING = 32;

export interface AccessReport {
  /** The link of the resource. */
  readonly target: string;
  /** Every permission of its kind, in the kind's order. */
  readonly permissions: readonly PermissionReport[];
}

/**
 * Who may do what to a resource, and why: now, or as it was at an instant. Decided by the rules that decide requests; so
 * it rests on the state that the commands fold, not on a read model. Throws `not_found` for a resource that was not there
 * then, and `validation_failed` for an instant in the future.
 */
export class ReportAccess extends Query<AccessReport> {
  constructor(
    readonly kind: TargetKind,
    readonly org: string,
    /** What names it: of a user the e-mail address, in any case, or the id. */
    readonly ref: string,
    /** In milliseconds; undefined: now. */
    readonly at: number | undefined,
    /** Aborts when the client is gone. */
    readonly signal: AbortSignal,
  ) {
    super();
  }
}

/** The largest report, in bindings: nobody reads more. */
const MOST_BINDINGS = 100_000;

/** A report on the past reads the whole log up to then: it may take so many times as long as other requests. */
const PAST_BUDGETS = 6;

/** By how much the clock of a caller may be ahead: what it calls now is not the future. */
const AHEAD_MS = 5_000;

const REMEDY = 'report on a resource that fewer policies name, or name groups with fewer members in its policies';
const PAST_REMEDY = 'the log of changes is long: ask the operator to raise CONTROL_REQUEST_BUDGET_MS';

@QueryHandler(ReportAccess)
export class ReportAccessHandler implements IQueryHandler<ReportAccess> {
  /** One at a time of an organization: each reads the whole log, and keeps what it found of it. */
  private readonly places = new Slots({ perOrg: 1, inAll: MOST_AT_ONCE, mostWaiting: MOST_WAITING });
  constructor(
    private readonly state: ControlState,
    private readonly turns: Turns,
    private readonly states: PastStates,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'requestBudgetMs'>,
  ) {}

  async execute(query: ReportAccess): Promise<AccessReport> {
    const { org, at, signal } = query;
    if (at !== undefined) return this.past(query, at);
    // Whatever was changed before the request, on any instance, is in the report.
    await this.state.confirm();
    const job = { org, signal, budgetMs: this.config.requestBudgetMs, remedy: REMEDY };
    return this.reportOn(query, this.state.read, this.state.rules(org), job);
  }

  private async past(query: ReportAccess, at: number): Promise<AccessReport> {
    const { org, signal } = query;
    if (at > this.clock.now() + AHEAD_MS)
      throw validationFailed([{ pointer: '?at', reason: 'must not be in the future' }]);
    const job = { org, signal, budgetMs: PAST_BUDGETS * this.config.requestBudgetMs, remedy: PAST_REMEDY };
    const work = async () => {
      const read = await this.states.at(at, job);
      if (!read(orgStream(org)))
        throw new ControlError('not_found', `organization \`${org}\` did not exist at that time`);
      return this.reportOn(query, read, new AccessRules(read, org), job);
    };
    return this.places.run(org, work, signal);
  }

  private async reportOn(
    { kind, org, ref }: ReportAccess,
    read: Read,
    rules: AccessRules,
    job: Job,
  ): Promise<AccessReport> {
    const target = targetLink(read, org, kind, ref);
    if (target === undefined) {
      throw new ControlError(
        'not_found',
        `no ${kindOf(kind).noun} \`${ref}\` exists in \`${org}\`, or it did not exist at that time`,
      );
    }
    const permissions = await this.turns.run(job, rules.reportOn(kind, target, MOST_BINDINGS));
    if (permissions) return { target, permissions };
    throw new ControlError('too_costly', `the report has more than ${MOST_BINDINGS} bindings; ${REMEDY}`);
  }
}
