import { auditEventOf, withReceivedTime } from '../event-log/audit-record.js';
import type { LogRecord } from '../event-log/event-log.js';
import { auditFields } from '../model/audit-event.js';
import type { Write } from '../read-model/document.js';
import type { Projection } from './projection.js';

/** A record of `audit` becomes one document: the event as it is, with the log's time as its `receivedTime`. */
export const auditProjection: Projection = {
  topic: 'audit',
  kinds: ['auditevent'],
  fromStart: false,
  unreadable: 'dead-letter',
  start: () => (record) => [writeOf(record)],
};

function writeOf(record: LogRecord): Write {
  const { topic, partition, offset, time } = record;
  const { event, hash } = auditEventOf(record);
  return {
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
}
