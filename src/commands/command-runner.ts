import { ControlError, validationFailed } from '../contract/errors.js';
import { type Quotas, USUAL_QUOTAS } from '../contract/limits.js';
import { AuthorityCheck } from '../control/authority-check.js';
import { type Caller, type ControlRecord, trackedRead } from '../control/fold.js';
import { controlEntry } from '../control/record.js';
import { refuseOverQuota, refuseUsedKeys } from '../control/refusals.js';
import type { CommandOutcome, ControlState } from '../control/state.js';
import type { EventLog, Position } from '../event-log/event-log.js';
import type { Authority } from '../model/authority.js';
import type { ControlEvent, Deciding, Read } from '../model/control-events.js';
import { ControlRefusal, tooMuchAtOnce } from '../model/refusal.js';
import { type Clock, systemClock } from '../platform/clock.js';
import { type Steps, Turns } from '../platform/turns.js';
import { pause } from '../platform/waiting.js';

/** How long a command tries again when other commands win. */
const DECIDE_MS = 5_000;

const REMEDY = 'name groups with fewer members and shorter queries, or make the change in several parts';

export interface ControlCommand {
  /** The same for a retry of the same request: while the command is known, a retry returns the first outcome. */
  readonly id: string;
  /** Set when the request carried an Idempotency-Key: the hash of what was asked. */
  readonly requestHash?: string;
  /** Commands of one organization run one after the other within a process. */
  readonly org: string;
  readonly at: string;
  readonly by: Caller;
  /** What the caller's access rests on: judged again with every decision, and never recorded. */
  readonly authority?: Authority | undefined;
  /** Pure; called again on fresh state whenever another command got in between. Throws `ControlRefusal`. */
  readonly decide: (read: Read) => ControlEvent[] | Deciding;
  /**
   * Judges a retry of a command that was applied before, whose response is returned again. Pure; throws `ControlRefusal`.
   * Absent: every caller who may send the request may see the response.
   */
  readonly judgeRetry?: ((read: Read, events: readonly ControlEvent[]) => void) | undefined;
}

export interface Applied {
  /**
   * Of the record in `control`; where nothing had to change, of the last one that the decision rests on. Reads that have
   * it show the outcome. Absent when there is none.
   */
  readonly position?: Position;
  readonly events: readonly ControlEvent[];
}

/** What the decision came to, and the versions that it rests on. */
type Decision = Pick<ControlRecord, 'events' | 'expected'>;

/**
 * Carries a command to its outcome: decide on the folded state, append one record that names the versions it rests on,
 * and let the log's order say whether it holds. Returns when the record is applied in this process's fold. The caller's
 * key and permissions are part of what a decision rests on: no record is applied after the log has taken them away.
 *
 * Throws the decision's refusal, `unauthenticated` or `forbidden` if the caller has lost what the command needs,
 * `conflict` when others keep winning or the change is more than one record holds, `idempotency_conflict`, `too_costly`,
 * `log_unavailable`, or `outcome_unknown`: then a retry with the same command id returns the outcome.
 */
export class CommandRunner {
  private readonly queues = new Map<string, Promise<unknown>>();
  private readonly authorities: AuthorityCheck;

  constructor(
    private readonly log: EventLog,
    private readonly state: ControlState,
    private readonly quotas: Quotas = USUAL_QUOTAS,
    clock: Clock = systemClock,
    private readonly turns = new Turns(),
    private readonly budgetMs?: number,
  ) {
    this.authorities = new AuthorityCheck(state, clock);
  }

  run(command: ControlCommand): Promise<Applied> {
    const before = this.queues.get(command.org) ?? Promise.resolve();
    const mine = before.then(() => this.decideUntilApplied(command));
    const settled = mine
      .catch(() => undefined)
      .then(() => {
        if (this.queues.get(command.org) === settled) this.queues.delete(command.org);
      });
    this.queues.set(command.org, settled);
    return mine;
  }

  private async decideUntilApplied(command: ControlCommand): Promise<Applied> {
    this.state.expect(command.id);
    try {
      const deadline = performance.now() + DECIDE_MS;
      for (;;) {
        const applied = await this.attempt(command);
        if (applied) return applied;
        if (performance.now() > deadline)
          throw new ControlError('conflict', 'the resource kept changing while this change was decided; try again');
        await pause(Math.random() * 20);
      }
    } finally {
      this.state.forget(command.id);
    }
  }

  /** Undefined when another command came first. */
  private async attempt(command: ControlCommand): Promise<Applied | undefined> {
    const earlier = await this.state.applied(command.id);
    if (earlier) {
      // No record of this retry will be void, so the confirmed state decides whether the caller may still see it.
      if (command.authority) await this.authorities.confirmed(command.authority);
      const applied = appliedAs(command, earlier);
      this.judgeRetry(command, applied);
      return applied;
    }
    const decision = await this.decide(command);
    if (!decision) return undefined;
    if (decision instanceof ControlRefusal || decision.events.length === 0) return this.confirmed(command);
    // Requests with the root key come unconfirmed, and an append to a log that does not respond waits for seconds.
    if (!this.state.isFresh) await this.state.confirm();
    const { id, requestHash, at, by } = command;
    const record: ControlRecord = {
      commandId: id,
      ...(requestHash !== undefined && { requestHash }),
      at,
      by,
      ...decision,
    };
    const outcome = await this.state.outcome(record, this.append(record), DECIDE_MS);
    if (outcome === 'void') return undefined;
    // Another copy of a keyed request, or an earlier record of this one, may have come first.
    if (outcome) return appliedAs(command, outcome);
    throw new ControlError(
      'outcome_unknown',
      'the log did not confirm the change in time; retry with the same Idempotency-Key',
      { id },
    );
  }

  private judgeRetry({ judgeRetry }: ControlCommand, { events }: Applied): void {
    try {
      judgeRetry?.(this.state.read, events);
    } catch (error) {
      throw error instanceof ControlRefusal ? errorOf(error) : error;
    }
  }

  /** Undefined when another command came first. */
  private decide(command: ControlCommand): Promise<Decision | ControlRefusal | undefined> {
    const job = { org: command.org, budgetMs: this.budgetMs, remedy: REMEDY };
    return this.turns.run(job, this.deciding(command));
  }

  /** What holds for all commands is checked here, on the state that the decision saw. */
  private *deciding(command: ControlCommand): Steps<Decision | ControlRefusal | undefined> {
    const { read, expected, isCurrent } = trackedRead(this.state.fold);
    try {
      this.checkAuthority(command, read);
      const decided = command.decide(read);
      const events = Array.isArray(decided) ? decided : yield* whileCurrent(decided, isCurrent);
      if (!events) return undefined;
      refuseUsedKeys(this.state.fold, events);
      refuseOverQuota(this.state.fold, events, this.quotas);
      return { events, expected: expected(events) };
    } catch (error) {
      if (error instanceof ControlRefusal) return error;
      throw error;
    }
  }

  private checkAuthority({ authority }: ControlCommand, read: Read): void {
    const { refused } = (authority && this.authorities.judge(authority, read)) ?? {};
    if (refused) throw new ControlRefusal(refused.code, refused.message);
  }

  /**
   * A refusal, or that nothing has to change, holds only if it also holds on everything that the log has by now. Undefined
   * when it does not.
   */
  private async confirmed(command: ControlCommand): Promise<Applied | undefined> {
    await this.state.confirm();
    if (this.state.knows(command.id)) return undefined;
    const decision = await this.decide(command);
    if (!decision) return undefined;
    if (decision instanceof ControlRefusal) throw errorOf(decision);
    return decision.events.length > 0 ? undefined : { events: [], ...this.state.last };
  }

  /** Also resolves if the outcome of the append is unknown: the fold decides. */
  private async append(record: ControlRecord): Promise<void> {
    try {
      await this.log.append([controlEntry(record)]);
    } catch (error) {
      const code = error instanceof ControlError ? error.code : undefined;
      if (code === 'payload_too_large') throw tooLarge(record, error as ControlError);
      if (code !== 'outcome_unknown') throw error;
    }
  }
}

/** Stops when the decision would not hold any more: what it reads from then on may not fit what it has read. */
function* whileCurrent(deciding: Deciding, isCurrent: () => boolean): Steps<ControlEvent[] | undefined> {
  for (;;) {
    const step = deciding.next();
    if (step.done) return step.value;
    yield;
    if (!isCurrent()) return undefined;
  }
}

function tooLarge({ events }: ControlRecord, cause: ControlError): ControlError {
  const resources = events.filter((event) => 'auditId' in event).length;
  return new ControlError('conflict', tooMuchAtOnce(resources), { resources }, { cause });
}

function errorOf({ code, message, faults, missing }: ControlRefusal): ControlError {
  if (faults.length > 0) return validationFailed(faults);
  return new ControlError(code, message, missing && { missing });
}

/** Returns the outcome in the log, whichever record of the command has it. */
function appliedAs(command: ControlCommand, outcome: CommandOutcome): Applied {
  if (outcome.requestHash !== command.requestHash) {
    throw new ControlError(
      'idempotency_conflict',
      'the Idempotency-Key was already used for another request; use a new key',
    );
  }
  return { position: { partition: 0, offset: outcome.offset }, events: outcome.events };
}
