import { controlRecordOf } from '../event-log/control-record.js';
import type { EventLog, LogRecord } from '../event-log/event-log.js';
import type { ControlEvent, Read } from '../model/control-events.js';
import { type ControlFold, emptyFold, foldRecord, forgetState, readFold } from '../model/control-fold.js';

/** How long the folding goes on before everything else gets a turn. */
const TURN_MS = 10;

/**
 * What there was of an organization after the last record of `control` that the log took at or before an instant, folded
 * from the beginning: by the same rules as at that time, void records included. Of all other organizations only the
 * versions are kept, which tell what is void. Takes as long as the log is long, in turns; ends early, with the reason of
 * the signal, when that aborts.
 */
export async function stateAt(log: EventLog, org: string, at: number, signal: AbortSignal): Promise<Read> {
  const end = (await log.head('control'))[0] ?? 0;
  let beyond = 0;
  for await (const { offset, time } of recordsUpTo(log, end, signal)) if (time <= at) beyond = offset + 1;
  const fold = emptyFold();
  for await (const record of recordsUpTo(log, beyond, signal)) take(fold, record, org);
  return readFold(fold);
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

async function* recordsUpTo(log: EventLog, end: number, signal: AbortSignal): AsyncGenerator<LogRecord> {
  if (end === 0) return;
  const stop = new AbortController();
  try {
    let turn = performance.now();
    for await (const { records, next } of log.read('control', {}, AbortSignal.any([signal, stop.signal]))) {
      for (const record of records) {
        if (record.offset >= end) return;
        yield record;
        if (performance.now() - turn < TURN_MS) continue;
        await turnOfTheLoop();
        signal.throwIfAborted();
        turn = performance.now();
      }
      if (next >= end) return;
    }
    signal.throwIfAborted();
  } finally {
    stop.abort();
  }
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
