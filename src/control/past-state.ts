import type { EventLog, LogRecord } from '../event-log/event-log.js';
import type { ControlEvent, Read } from '../model/control-events.js';
import { eachInSteps, type Job, type Turns } from '../platform/turns.js';
import { type ControlFold, emptyFold, foldRecord, forgetState, readFold } from './fold.js';
import { controlRecordOf } from './record.js';

/** Of the log, the earliest time is kept of so many records together. */
const BLOCK = 1_024;

/** States that are kept for the next report: of an organization that asks about one instant, most often. */
const MOST_KEPT = 4;

interface KeptState {
  readonly org: string;
  /** The first offset that is not in it. */
  readonly beyond: number;
  readonly read: Read;
}

/**
 * What there was of an organization after the last record of `control` that the log took at or before an instant, folded
 * from the beginning: by the same rules as at that time, void records included. Of all other organizations only the
 * versions are kept, which tell what is void. Takes as long as the log is long, in the job's turns; the last few states
 * are kept, since what has been does not change.
 */
export class PastStates {
  private kept: KeptState[] = [];
  /** The earliest time of each block of records. */
  private readonly earliest: number[] = [];
  private known = 0;

  constructor(
    private readonly log: EventLog,
    private readonly turns: Turns,
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
    for await (const records of recordsIn(this.log, 0, beyond, job.signal)) {
      await this.turns.run(
        job,
        eachInSteps(records, (record) => take(fold, record, job.org)),
      );
    }
    return readFold(fold);
  }

  /** The offset behind the last record that the log took at or before the instant. */
  private async beyond(at: number, job: Job & { readonly signal: AbortSignal }): Promise<number> {
    const end = (await this.log.head('control'))[0] ?? 0;
    for await (const records of recordsIn(this.log, this.known, end, job.signal)) {
      await this.turns.run(
        job,
        eachInSteps(records, (record) => this.note(record)),
      );
    }
    const block = this.earliest.findLastIndex((time) => time <= at);
    let beyond = 0;
    const first = block * BLOCK;
    for await (const records of recordsIn(this.log, first, Math.min(end, first + BLOCK), job.signal)) {
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

function take(fold: ControlFold, record: LogRecord, org: string): void {
  const control = controlRecordOf(record);
  if (foldRecord(fold, control, record) === 'void') return;
  for (const event of control.events) if (orgOf(event) !== org) forgetState(fold, event.stream);
}

/** Undefined for an event without a stream of its own. */
function orgOf(event: ControlEvent): string | undefined {
  if (event.type === 'key-used') return undefined;
  if (event.type === 'authz-changed') return event.stream.slice('authz/'.length);
  return 'org' in event.data ? event.data.org : event.data.name;
}

async function* recordsIn(
  log: EventLog,
  from: number,
  end: number,
  signal: AbortSignal,
): AsyncGenerator<readonly LogRecord[]> {
  if (from < 0 || from >= end) return;
  const stop = new AbortController();
  try {
    for await (const { records, next } of log.read('control', { 0: from }, AbortSignal.any([signal, stop.signal]))) {
      yield records.filter(({ offset }) => offset < end);
      if (next >= end) return;
    }
    signal.throwIfAborted();
  } finally {
    stop.abort();
  }
}
