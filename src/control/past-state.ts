import type { EventLog, LogRecord } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import type { ControlEvent, Read } from '../model/control-events.js';
import { eachInSteps, type Job, type Turns } from '../platform/turns.js';
import { type ControlFold, emptyFold, foldRecord, forgetState, readFold } from './fold.js';
import { controlRecordOf } from './record.js';
import type { SkippedRecords } from './skipped.js';

/** How many records share one earliest time. */
const BLOCK = 1_024;

/** How many states are cached: later reports mostly ask for the same instant of the same organization. */
const MOST_KEPT = 4;

interface KeptState {
  readonly org: string;
  /** The first offset that is not in it. */
  readonly beyond: number;
  readonly read: Read;
}

/**
 * The state of an organization after the last record of `control` that the log took at or before an instant, folded from the
 * beginning by the same rules. Of other organizations only the versions are kept, which decide which records are void. Takes
 * time proportional to the log, in the job's turns; the last few states are cached.
 */
export class PastStates {
  private kept: KeptState[] = [];
  /** The earliest time of each block of records. */
  private readonly earliest: number[] = [];
  private known = 0;

  constructor(
    private readonly log: EventLog,
    private readonly turns: Turns,
    private readonly state?: { readonly skipped?: SkippedRecords | undefined },
  ) {}

  async at(at: number, job: Job & { readonly signal: AbortSignal }): Promise<Read> {
    const { org } = job;
    const beyond = await this.beyond(at, job);
    const same = this.kept.find((one) => one.org === org && one.beyond === beyond);
    const state = same ?? { org, beyond, read: await this.folded(beyond, job) };
    this.kept = [state, ...this.kept.filter((one) => one !== state)].slice(0, MOST_KEPT);
    return state.read;
  }

  private async folded(beyond: number, job: Job & { readonly signal: AbortSignal }): Promise<Read> {
    const fold = emptyFold();
    for await (const { records } of readRange(this.log, 'control', { 0: 0 }, { 0: beyond }, job.signal)) {
      await this.turns.run(
        job,
        eachInSteps(records, (record) => take(fold, record, job.org, this.state?.skipped)),
      );
    }
    return readFold(fold);
  }

  /** The offset behind the last record that the log took at or before the instant. */
  private async beyond(at: number, job: Job & { readonly signal: AbortSignal }): Promise<number> {
    const end = (await this.log.head('control'))[0] ?? 0;
    for await (const { records } of readRange(this.log, 'control', { 0: this.known }, { 0: end }, job.signal)) {
      await this.turns.run(
        job,
        eachInSteps(records, (record) => this.note(record)),
      );
    }
    const block = this.earliest.findLastIndex((time) => time <= at);
    if (block < 0) return 0;
    let beyond = 0;
    const [first, last] = [block * BLOCK, Math.min(end, (block + 1) * BLOCK)];
    for await (const { records } of readRange(this.log, 'control', { 0: first }, { 0: last }, job.signal)) {
      for (const { offset, time } of records) if (time <= at) beyond = offset + 1;
    }
    return beyond;
  }

  /** Two reports may read the same records at once. */
  private note({ offset, time }: LogRecord): void {
    const block = Math.floor(offset / BLOCK);
    this.earliest[block] = Math.min(this.earliest[block] ?? Number.POSITIVE_INFINITY, time);
    this.known = Math.max(this.known, offset + 1);
  }
}

function take(fold: ControlFold, record: LogRecord, org: string, skipped: SkippedRecords | undefined): void {
  const control = controlRecordOf(record, skipped);
  if (foldRecord(fold, control, record) === 'void') return;
  for (const event of control.events) if (orgOf(event) !== org) forgetState(fold, event.stream);
}

/** The organization of an event; undefined if it belongs to none. */
function orgOf(event: ControlEvent): string | undefined {
  if (event.type === 'authz-changed') return event.stream.slice('authz/'.length);
  if (!('auditId' in event)) return undefined;
  return 'org' in event.data ? event.data.org : event.data.name;
}
