import { setTimeout as delay } from 'node:timers/promises';
import { ControlError, validationFailed } from '../errors.js';
import { controlEntry } from '../event-log/control-record.js';
import type { EventLog, Position } from '../event-log/event-log.js';
import type { ControlEvent, Read } from '../model/control-events.js';
import { type Caller, type ControlRecord, trackedRead } from '../model/control-fold.js';
import { type Quotas, refuseOverQuota, USUAL_QUOTAS } from '../model/quotas.js';
import { ControlRefusal } from '../model/refusal.js';
import { refuseUsedKeys } from '../model/used-keys.js';
import type { CommandOutcome, ControlState } from './control-state.js';

/** How long a command tries again when other commands win. */
const DECIDE_MS = 5_000;

export interface ControlCommand {
  /** The same for a retry of the same request: while the command is known, the first outcome is the answer. */
  readonly id: string;
  /** Set when the request carried an Idempotency-Key: the hash of what was asked. */
  readonly requestHash?: string;
  /** Commands of one organization run one after the other within a process. */
  readonly org: string;
  readonly at: string;
  readonly by: Caller;
  /** Pure; called again on fresh state whenever another command got in between. Throws `ControlRefusal`. */
  readonly decide: (read: Read) => ControlEvent[];
}

export interface Applied {
  /**
   * Of the record in `control`; where nothing had to change, of the last one that the decision rests on. Reads that have
   * it show the outcome. Absent when there is none.
   */
  readonly position?: Position;
  readonly events: readonly ControlEvent[];
}

/**
 * Carries a command to its outcome: decide on the folded state, append one record that names the versions it rests on,
 * and let the log's order say whether it holds. Returns when the record is applied in this process's fold.
 *
 * Throws the decision's refusal, `conflict` when others keep winning or the change is more than one record holds,
 * `idempotency_conflict`, `log_unavailable`, or `outcome_unknown`: then a retry with the same command id tells.
 */
export class CommandRunner {
  private readonly queues = new Map<string, Promise<unknown>>();

  constructor(
    private readonly log: EventLog,
    private readonly state: ControlState,
    private readonly quotas: Quotas = USUAL_QUOTAS,
  ) {}

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
      const deadline = Date.now() + DECIDE_MS;
      for (;;) {
        const applied = await this.attempt(command);
        if (applied) return applied;
        if (Date.now() > deadline) throw new ControlError('conflict', 'other changes kept coming first; try again');
        await delay(Math.random() * 20);
      }
    } finally {
      this.state.forget(command.id);
    }
  }

  /** Undefined when another command came first. */
  private async attempt(command: ControlCommand): Promise<Applied | undefined> {
    const earlier = await this.state.applied(command.id);
    if (earlier) return appliedAs(command, earlier);
    const { read, expected } = trackedRead(this.state.fold);
    const events = await this.decide(command, read);
    if (!events) return undefined;
    if (events.length === 0) return { events, ...this.state.last };
    const { id, requestHash, at, by } = command;
    const record: ControlRecord = {
      commandId: id,
      ...(requestHash !== undefined && { requestHash }),
      at,
      by,
      expected: expected(events),
      events,
    };
    const outcome = await this.state.outcome(record, this.append(record), DECIDE_MS);
    if (outcome === 'void') return undefined;
    // Another copy of a keyed request, or an earlier record of this one, may have come first.
    if (outcome) return appliedAs(command, outcome);
    throw new ControlError('outcome_unknown', 'the log did not say in time whether it has the change', { id });
  }

  /**
   * A refusal, or that nothing has to change, holds only if it also holds on everything that the log has by now. Undefined
   * when it does not.
   */
  private async decide(command: ControlCommand, read: Read): Promise<ControlEvent[] | undefined> {
    const first = this.attempted(command, read);
    if (!(first instanceof ControlRefusal) && first.length > 0) return first;
    await this.state.confirm();
    if (this.state.knows(command.id)) return undefined;
    const again = this.attempted(command, this.state.read);
    if (again instanceof ControlRefusal) throw errorOf(again);
    return again.length > 0 ? undefined : again;
  }

  /** What holds for all commands is checked here, on the state that the decision saw. */
  private attempted(command: ControlCommand, read: Read): ControlEvent[] | ControlRefusal {
    try {
      const events = command.decide(read);
      refuseUsedKeys(this.state.fold, events);
      refuseOverQuota(this.state.fold, events, this.quotas);
      return events;
    } catch (error) {
      if (error instanceof ControlRefusal) return error;
      throw error;
    }
  }

  /** Resolves also when the append may or may not have happened: the fold will tell. */
  private async append(record: ControlRecord): Promise<void> {
    try {
      await this.log.append([controlEntry(record)]);
    } catch (error) {
      const code = error instanceof ControlError ? error.code : undefined;
      if (code === 'payload_too_large') throw tooMuchAtOnce(record, error as ControlError);
      if (code !== 'outcome_unknown') throw error;
    }
  }
}

/** Of a change that takes many others along: no request is as large as one record may be. */
function tooMuchAtOnce({ events }: ControlRecord, cause: ControlError): ControlError {
  const resources = events.filter((event) => 'auditId' in event).length;
  const message =
    `the change would alter ${resources} resources at once, which is more than one record holds; nothing was changed. ` +
    'Take what it is about out of the groups and policies that name it, a few at a time, and then repeat it';
  return new ControlError('conflict', message, { resources }, { cause });
}

function errorOf({ code, message, faults }: ControlRefusal): ControlError {
  return faults.length > 0 ? validationFailed(faults) : new ControlError(code, message);
}

/** The answer is what the log has, whichever record of the command that is. */
function appliedAs(command: ControlCommand, outcome: CommandOutcome): Applied {
  if (outcome.requestHash !== command.requestHash) {
    throw new ControlError('idempotency_conflict', 'the Idempotency-Key was used before with another request');
  }
  return { position: { partition: 0, offset: outcome.offset }, events: outcome.events };
}
