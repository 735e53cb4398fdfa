import type { EventLog } from '../../event-log/event-log.js';
import type { Clock } from '../../platform/clock.js';
import type { Write } from '../../read-model/document.js';
import type { Expiry } from '../../read-model/retention.js';
import type { Projection } from '../projection.js';
import { identifierOf } from './applied-window.js';
import { passagesOf } from './expected.js';

/**
 * Of these creations, of one partition, those that an earlier record of their identifier kept from being stored: it had
 * not expired when they came. Whether it had is told by the retention of today. Reads the partition from its beginning.
 */
export async function repetitionsAmong(
  writes: readonly Write[],
  { log, projection, expiry, clock, signal }: FirstRecordsOptions,
): Promise<ReadonlySet<Write>> {
  const found = new Set<Write>();
  const [first] = writes;
  if (!first) return found;
  const sought = new Map(writes.map((write) => [identifierOf(write.kind, write), write]));
  const last = Math.max(...writes.map(({ place }) => place.offset));
  const { topic, partition } = first.place;
  for await (const passage of passagesOf(log, projection, { topic, partition, from: 0, to: last }, signal)) {
    for (const earlier of passage.writes) {
      const write = sought.get(identifierOf(earlier.kind, earlier));
      if (!write || earlier.place.offset >= write.place.offset) continue;
      if (!hadExpired(earlier, write.place.time, expiry, clock.now())) found.add(write);
    }
  }
  return found;
}

export interface FirstRecordsOptions {
  readonly log: EventLog;
  readonly projection: Projection;
  readonly expiry: Expiry;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Whether it had expired at that instant, if the limit moved with the time until now. */
function hadExpired(write: Write, at: number, expiry: Expiry, now: number): boolean {
  const limit = expiry.limit(write.kind, write);
  return limit !== undefined && write.place.time < limit - (now - at);
}
