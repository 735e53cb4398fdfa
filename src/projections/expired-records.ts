import { type EventLog, type Forgetting, type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import { turnOfTheLoop } from '../platform/waiting.js';
import type { Write } from '../read-model/document.js';
import type { ReadModel } from '../read-model/read-model.js';
import { hasExpired, type Limits, limitsOf, type Retention } from '../read-model/retention.js';
import type { Projection } from './projection.js';

export interface ForgettingParts {
  readonly log: EventLog;
  readonly deleteBefore: Forgetting['deleteBefore'];
  readonly model: Pick<ReadModel, 'progress'>;
  readonly projection: Projection;
  /** As it was at the instant `before`. */
  readonly retention: Retention;
  /** No record that the log took since is deleted. */
  readonly before: number;
}

/**
 * Deletes records from the beginning of each partition of `audit`, up to the first one that is indexed and may still be
 * served, or that is not indexed yet. Returns how many offsets it freed. An unreadable record is served by nobody: its dead
 * letter has its bytes.
 */
export async function deleteExpired(parts: ForgettingParts, signal: AbortSignal): Promise<number> {
  const { log, model, deleteBefore } = parts;
  const [beginning, { next }] = [await log.beginning('audit'), await model.progress('audit')];
  let freed = 0;
  for (const [name, indexed] of Object.entries(next)) {
    const partition = Number(name);
    const first = beginning[partition] ?? 0;
    const kept = await firstKept(parts, partition, first, indexed, signal);
    if (kept <= first || signal.aborted) continue;
    await deleteBefore({ [partition]: kept });
    freed += kept - first;
  }
  return freed;
}

async function firstKept(
  parts: ForgettingParts,
  partition: number,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<number> {
  let at = from;
  const isExpired = expiryOf(parts);
  for await (const { records, next } of readRange(
    parts.log,
    'audit',
    { [partition]: from },
    { [partition]: to },
    signal,
  )) {
    const kept = records.find((record) => !isExpired(record));
    if (kept) return kept.offset;
    at = next;
    await turnOfTheLoop();
  }
  return at;
}

function expiryOf({ projection, retention, before }: ForgettingParts): (record: LogRecord) => boolean {
  const project = projection.start();
  const known = new Map<string, Limits>();
  const limitsFor = ({ kind, org }: Write): Limits => {
    const limits = known.get(`${kind}/${org}`) ?? limitsOf(retention, kind, org);
    known.set(`${kind}/${org}`, limits);
    return limits;
  };
  return (record) => {
    if (record.time >= before) return false;
    try {
      return project(record).every((write) => {
        return write.op !== 'delete' && hasExpired(write.kind, limitsFor(write), write.fields, record.time);
      });
    } catch (error) {
      if (error instanceof UnreadableRecord) return true;
      throw error;
    }
  };
}
