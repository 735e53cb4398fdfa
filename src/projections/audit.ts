import { auditEventOf, withReceivedTime } from '../event-log/audit-record.js';
import { type LogRecord, partitionOf, UnreadableRecord } from '../event-log/event-log.js';
import { auditFields } from '../model/audit-event.js';
import type { PlacementState } from '../model/placement.js';
import { hasTime } from '../platform/ids.js';
import { checkWrite, type Write } from '../read-model/document.js';
import type { Projection } from './projection.js';

/** A record of `audit` becomes one document: the event as it is, with the log's time as its `receivedTime`. */
export const auditProjection = auditProjectionOn(() => undefined);

/** `placement`: what the log says of identifiers. It is recorded before anything is appended that it applies to. */
export function auditProjectionOn(placement: () => PlacementState | undefined): Projection {
  return {
    topic: 'audit',
    kinds: ['auditevent'],
    fromStart: false,
    unreadable: 'dead-letter',
    start: () => (record) => [writeOf(record, placement())],
  };
}

function writeOf(record: LogRecord, placement: PlacementState | undefined): Write {
  const { topic, partition, offset, time } = record;
  const { event, hash } = auditEventOf(record);
  if (placement) checkPlace(record, event.id, placement);
  const write: Write = {
    op: 'create',
    kind: 'auditevent',
    org: event.context.org,
    id: event.id,
    place: { topic, partition, offset, time, ordinal: 0 },
    ...(hash !== undefined && { hash }),
    fields: auditFields(event),
    source: withReceivedTime(record.value, time),
    recorded: true,
  };
  checkWrite(write);
  return write;
}

/**
 * A derived identifier counts in one partition alone, so that the order of that partition decides which of its records is
 * the first. Throws `UnreadableRecord` for a record that somebody else appended elsewhere.
 */
function checkPlace({ partition, offset }: LogRecord, id: string, { partitions, from }: PlacementState): void {
  if (hasTime(id) || offset < (from[partition] ?? 0)) return;
  const home = partitionOf(id, partitions);
  if (home !== partition) throw new UnreadableRecord(`its identifier counts in partition ${home} alone`);
}
