import { ControlError } from '../contract/errors.js';
import type { Batch, EventLog, LogRecord, Offsets, Position, Topic } from './event-log.js';

/**
 * The records of the partitions in `to`, from `from` to before `to`, in order within a partition; then it ends. Deleted records
 * leave a gap: a partition whose range was deleted yields nothing. Throws if the signal aborts before, and what `read` throws.
 */
export async function* readRange(
  log: EventLog,
  topic: Topic,
  from: Offsets,
  to: Offsets,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  const ahead = Object.keys(to)
    .map(Number)
    .filter((partition) => (from[partition] ?? 0) < (to[partition] ?? 0));
  if (ahead.length === 0) return;
  const beginning = await log.beginning(topic);
  const starts = ahead.map(
    (partition) => [partition, Math.max(from[partition] ?? 0, beginning[partition] ?? 0)] as const,
  );
  const open = new Map(starts.filter(([partition, start]) => start < (to[partition] ?? 0)));
  if (open.size === 0) return;
  // The other partitions are read from their ends, so they usually return nothing.
  const start = { ...(await log.head(topic)), ...Object.fromEntries(open) };
  const stop = new AbortController();
  try {
    for await (const batch of log.read(topic, start, AbortSignal.any([signal, stop.signal]))) {
      if (!open.has(batch.partition)) continue;
      const end = to[batch.partition] ?? 0;
      const whole = batch.next <= end;
      const records = whole ? batch.records : batch.records.filter(({ offset }) => offset < end);
      if (records.length > 0) yield { partition: batch.partition, records, next: Math.min(batch.next, end) };
      if (batch.next >= end) open.delete(batch.partition);
      if (open.size === 0) return;
    }
  } finally {
    stop.abort();
  }
  signal.throwIfAborted();
  throw new ControlError('log_unavailable', 'the log was closed while it was read');
}

/** One record, which must exist. Throws what `readRange` throws. */
export async function recordAt(
  log: EventLog,
  topic: Topic,
  { partition, offset }: Position,
  signal: AbortSignal,
): Promise<LogRecord> {
  for await (const { records } of readRange(log, topic, { [partition]: offset }, { [partition]: offset + 1 }, signal)) {
    const [record] = records;
    if (record) return record;
  }
  throw new Error(`${topic} ${partition} has no record ${offset}`);
}
