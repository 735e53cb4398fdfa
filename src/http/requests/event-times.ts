import { parseInstant } from '../../model/instant.js';
import type { EventTimes } from '../../queries/audit-list.js';
import type { AuditFilterDto } from '../../shapes/audit-list.js';

/** The bounds on `eventTime` that checked query parameters name. */
export function eventTimes({ fromEvent, toEvent }: AuditFilterDto): EventTimes {
  const from = fromEvent === undefined ? undefined : parseInstant(fromEvent);
  const to = toEvent === undefined ? undefined : parseInstant(toEvent);
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}
