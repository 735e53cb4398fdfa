import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { Clock } from '../clock.js';
import { ControlError, validationFailed } from '../errors.js';
import type { EventLog } from '../event-log/event-log.js';
import { AccessRules, type PermissionReport } from '../model/access.js';
import type { Read } from '../model/control-events.js';
import type { TargetKind } from '../model/permission.js';
import { orgStream } from '../model/streams.js';
import { targetLink } from '../model/targets.js';
import { Places } from '../places.js';
import { CLOCK, EVENT_LOG } from '../tokens.js';
import { ControlState } from './control-state.js';
import { stateAt } from './past-state.js';

/** Reports on the past at once, in a process: each reads the whole log, and keeps what it found of it. */
const MOST_AT_ONCE = 2;

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
    /** Aborts when nobody waits for the answer any more. */
    readonly signal: AbortSignal,
  ) {
    super();
  }
}

@QueryHandler(ReportAccess)
export class ReportAccessHandler implements IQueryHandler<ReportAccess> {
  private readonly places = new Places({ perOrg: 1, inAll: MOST_AT_ONCE, mostWaiting: 16 });

  constructor(
    private readonly state: ControlState,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute(query: ReportAccess): Promise<AccessReport> {
    const { org, at } = query;
    if (at !== undefined) return this.past(query, at);
    // Whatever was changed before the request, on any instance, is in the report.
    await this.state.confirm();
    return reportOn(query, this.state.read, this.state.rules(org));
  }

  private async past(query: ReportAccess, at: number): Promise<AccessReport> {
    const { org, signal } = query;
    if (at > this.clock.now()) throw validationFailed([{ pointer: '?at', reason: 'may not be in the future' }]);
    return this.places.run(
      org,
      async () => {
        signal.throwIfAborted();
        const read = await stateAt(this.log, org, at, signal);
        if (!read(orgStream(org))) throw new ControlError('not_found', 'the organization was not there at that time');
        return reportOn(query, read, new AccessRules(read, org));
      },
      signal,
    );
  }
}

function reportOn({ kind, org, ref }: ReportAccess, read: Read, rules: AccessRules): AccessReport {
  const target = targetLink(read, org, kind, ref);
  if (target !== undefined) return { target, permissions: rules.reportOn(kind, target) };
  throw new ControlError('not_found', `there is, or was at that time, no such ${kind} in this organization`);
}
