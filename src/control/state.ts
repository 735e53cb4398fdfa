import { ControlError } from '../contract/errors.js';
import { type EventLog, type LogRecord, type Position, UnreadableRecord } from '../event-log/event-log.js';
import { recordAt } from '../event-log/read-range.js';
import { AccessRules } from '../model/access.js';
import type { ControlEvent, Read } from '../model/control-events.js';
import { canonicalJson } from '../model/json.js';
import { authzStream } from '../model/streams.js';
import { untilDone } from '../platform/retry.js';
import { pause, within } from '../platform/waiting.js';
import { type ControlFold, type ControlRecord, emptyFold, foldRecord, readFold, versionOf } from './fold.js';
import { type FoldSnapshots, imageOf, restoreFold } from './fold-image.js';
import { controlRecordOf } from './record.js';
import type { SkippedRecords } from './skipped.js';

/** The time limit of a confirmation. */
const CONFIRM_MS = 2_000;

/** The same while the log is known not to respond. */
const CUT_CONFIRM_MS = 50;

/** The maximum age of a confirmation that a response relies on, and the period of confirmations. */
const FRESH_MS = 2_000;
const RECONFIRM_MS = 500;

/** For how many organizations the access rules are cached. */
const MOST_RULES = 1_000;

/** The time limit for reading the events of an earlier request. */
const EARLIER_MS = 5_000;

/** The applied record of a command. */
export interface CommandOutcome {
  readonly offset: number;
  readonly requestHash?: string;
  readonly events: readonly ControlEvent[];
}

/** A command under way in this process. */
interface Expected {
  /** The expected versions of the command's void records. */
  readonly voids: string[];
  applied?: CommandOutcome;
}

interface Watcher {
  readonly until: (offset: number) => boolean;
  readonly done: () => void;
}

/**
 * This process's fold of the `control` topic, kept current by tailing it. All decisions and key checks of this process use
 * it; the log, not this copy, decides.
 */
export class ControlState implements FoldSnapshots {
  readonly read: Read;
  /** Next offset to fold. */
  private folded = 0;
  private confirmedAt = Number.NEGATIVE_INFINITY;
  private readonly accessRules = new Map<string, { readonly version: number; readonly rules: AccessRules }>();
  private goal: number | undefined;
  private readonly started = Promise.withResolvers<void>();
  private readonly watchers = new Set<Watcher>();
  private readonly expected = new Map<string, Expected>();
  private confirming: Promise<void> = Promise.resolve();
  private nextConfirm: Promise<void> | undefined;
  /** Whether the last confirmation failed. */
  private isCut = false;

  constructor(
    private readonly log: EventLog,
    readonly fold: ControlFold = emptyFold(),
    private readonly sharing: 'alone' | 'shared' = 'alone',
    private readonly snapshots?: FoldSnapshots,
    readonly skipped?: SkippedRecords | undefined,
  ) {
    this.read = readFold(fold);
  }

  /** Resolves when the signal aborts. Rejects if the log becomes unreadable: then the process must not continue. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      this.goal = await this.headWhenThere(signal);
      this.folded = (await this.snapshots?.load(this.fold)) ?? 0;
      if (this.caughtUp) this.started.resolve();
      for await (const batch of this.log.read('control', { 0: this.folded }, signal)) {
        for (const record of batch.records) if (!(await this.takeOrSkip(record, signal))) return;
        this.folded = batch.next;
        for (const watcher of [...this.watchers]) if (watcher.until(this.folded)) watcher.done();
        if (this.caughtUp) this.started.resolve();
      }
    } finally {
      this.started.resolve();
    }
  }

  /** The log may start later than this process. */
  private async headWhenThere(signal: AbortSignal): Promise<number> {
    const head = await untilDone(
      signal,
      () => this.log.head('control'),
      (error) => {
        if (!(error instanceof ControlError)) throw error;
      },
    );
    return head?.[0] ?? 0;
  }

  /** Resolves when everything that was in the log at the start is folded, or `run` has ended. */
  get startReached(): Promise<void> {
    return this.started.promise;
  }

  /** The access rules of the organization at this moment. */
  rules(org: string): AccessRules {
    const version = versionOf(this.fold, authzStream(org));
    const known = this.accessRules.get(org);
    if (known?.version === version) return known.rules;
    const rules = new AccessRules(this.read, org);
    this.accessRules.delete(org);
    this.accessRules.set(org, { version, rules });
    const [oldest] = this.accessRules.keys();
    if (this.accessRules.size > MOST_RULES && oldest !== undefined) this.accessRules.delete(oldest);
    return rules;
  }

  /** Whether everything that was in the log at the start is folded. */
  get caughtUp(): boolean {
    return this.goal !== undefined && this.folded >= this.goal;
  }

  /** The position of the last record that is folded; none when there is none. */
  get last(): { readonly position?: Position } {
    return this.folded === 0 ? {} : { position: { partition: 0, offset: this.folded - 1 } };
  }

  /** Shares the states of this fold, which are immutable. If this fold is beyond `most`, uses the snapshots. */
  async load(fold: ControlFold, most = Number.POSITIVE_INFINITY): Promise<number> {
    if (this.folded <= most) {
      const image = imageOf(this.fold);
      // An unreadable record ends the process, and leaves the fold between two positions.
      if (image.commands.offset + 1 === this.folded) {
        restoreFold(fold, image);
        return this.folded;
      }
    }
    return (await this.snapshots?.load(fold, most)) ?? 0;
  }

  /** Waits at a record that cannot be read until it is skipped; false if the signal aborts before. */
  private async takeOrSkip(record: LogRecord, signal: AbortSignal): Promise<boolean> {
    try {
      this.take(record);
      return true;
    } catch (error) {
      if (!(error instanceof UnreadableRecord) || !this.skipped) throw error;
      if (!(await this.skipped.wait(record, error, signal))) return false;
      this.take(record);
      return true;
    }
  }

  private take(taken: LogRecord): void {
    const record = controlRecordOf(taken, this.skipped);
    const outcome = foldRecord(this.fold, record, taken);
    const expected = this.expected.get(record.commandId);
    if (!expected) return;
    if (outcome === 'void') expected.voids.push(canonicalJson(record.expected));
    else expected.applied = outcomeOf(taken.offset, record);
  }

  /**
   * Resolves when the fold has everything that was in the log at the call. Throws `state_unconfirmed` if that takes too long:
   * then nothing may be refused because of this state. Calls share a read of the log's head, if it begins after the call.
   * They wait 2 s, and hardly at all if the confirmation before them failed: `keepFresh` finds out when the log responds again.
   */
  confirm(): Promise<void> {
    this.nextConfirm ??= this.confirming
      .catch(() => undefined)
      .then(() => {
        this.nextConfirm = undefined;
        this.confirming = this.catchUp().catch((error) => {
          this.isCut = true;
          throw error;
        });
        return this.confirming;
      });
    return this.isCut ? inTime(this.nextConfirm, CUT_CONFIRM_MS) : this.nextConfirm;
  }

  /**
   * Whether the state was confirmed recently, so that it includes every earlier revocation. Always true if this process alone
   * writes the log.
   */
  get isFresh(): boolean {
    return this.sharing === 'alone' || performance.now() - this.confirmedAt < FRESH_MS;
  }

  /** Confirms the state periodically if other processes write the log too, until the signal aborts. */
  async keepFresh(signal: AbortSignal): Promise<void> {
    while (this.sharing === 'shared' && !signal.aborted) {
      // A failure shows in `isFresh`, and a request that needs the state confirms it itself.
      await this.confirm().catch(() => undefined);
      await pause(RECONFIRM_MS, signal, { ref: false });
    }
  }

  private async catchUp(): Promise<void> {
    const asked = performance.now();
    const head = await this.headInTime();
    if (!(await this.reaches((folded) => folded >= head, asked + CONFIRM_MS - performance.now()))) throw unconfirmed();
    this.confirmedAt = asked;
    this.isCut = false;
  }

  /** A log that does not respond must not delay this call or later ones. */
  private async headInTime(): Promise<number> {
    const asked = this.log.head('control').catch((error) => Promise.reject(unconfirmed(error)));
    const head = await inTime(asked, CONFIRM_MS);
    return head[0] ?? 0;
  }

  /** Starts to note the outcomes of the command's records. Call it before appending; `forget` ends it. */
  expect(commandId: string): void {
    this.expected.set(commandId, { voids: [] });
  }

  forget(commandId: string): void {
    this.expected.delete(commandId);
  }

  /** Whether the command was applied, while the fold knows it (`KnownCommands`). */
  knows(commandId: string): boolean {
    return this.expected.get(commandId)?.applied !== undefined || this.fold.commands.offsetOf(commandId) !== undefined;
  }

  /**
   * The outcome of a command that the fold knows; its events are read from the log. Throws `log_unavailable` if they cannot be
   * read in time.
   */
  async applied(commandId: string): Promise<CommandOutcome | undefined> {
    const offset = this.fold.commands.offsetOf(commandId);
    const seen = this.expected.get(commandId)?.applied;
    if (seen || offset === undefined) return seen;
    try {
      const signal = AbortSignal.timeout(EARLIER_MS);
      return outcomeOf(offset, controlRecordOf(await recordAt(this.log, 'control', { partition: 0, offset }, signal)));
    } catch (cause) {
      if (cause instanceof ControlError) throw cause;
      throw new ControlError(
        'log_unavailable',
        'the result of the earlier request cannot be read at the moment; retry',
        {},
        { cause },
      );
    }
  }

  /**
   * The outcome of an expected command's record as soon as the log shows it, even before its append resolves, whose response
   * may be lost. The first record of the command is the applied one. Undefined if the log shows none within `timeoutMs` after
   * the append resolved; rejects if the append does.
   */
  async outcome(
    { commandId, expected }: ControlRecord,
    appended: Promise<void>,
    timeoutMs: number,
  ): Promise<CommandOutcome | 'void' | undefined> {
    // A later record with the same expected versions as a void one is void as well.
    const rests = canonicalJson(expected);
    const known = () => {
      const { applied, voids } = this.expected.get(commandId) ?? {};
      return applied ?? (voids?.includes(rests) ? 'void' : undefined);
    };
    const done = new AbortController();
    const { signal } = done;
    try {
      const late = appended.then(() => pause(timeoutMs, signal));
      await Promise.race([this.shows(() => known() !== undefined, signal), late]);
      return known();
    } finally {
      done.abort();
    }
  }

  /** Whether the condition becomes true within the time. */
  private async reaches(until: Watcher['until'], timeoutMs: number): Promise<boolean> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), timeoutMs);
    try {
      return await this.shows(until, stop.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether the condition becomes true before the signal aborts. */
  private shows(until: Watcher['until'], signal: AbortSignal): Promise<boolean> {
    if (until(this.folded)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (shown: boolean) => {
        this.watchers.delete(watcher);
        resolve(shown);
      };
      const watcher: Watcher = { until, done: () => end(true) };
      this.watchers.add(watcher);
      signal.addEventListener('abort', () => end(false), { once: true });
    });
  }
}

function outcomeOf(offset: number, { requestHash, events }: ControlRecord): CommandOutcome {
  return { offset, events, ...(requestHash !== undefined && { requestHash }) };
}

/** Rejects with `state_unconfirmed` if the work takes longer. */
async function inTime<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  const done = await within(ms, work, LATE);
  if (done === LATE) throw unconfirmed();
  return done;
}

const LATE = Symbol('late');

function unconfirmed(cause?: unknown): ControlError {
  const message = 'the state of keys and permissions cannot be confirmed at the moment';
  return new ControlError('state_unconfirmed', message, {}, { cause });
}
