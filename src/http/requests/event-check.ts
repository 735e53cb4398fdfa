import type { FieldFault } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import type { SentAuditEvent } from '../../model/audit-event.js';
import { readInstant } from '../../model/instant.js';
import { AuditEventDto } from '../../shapes/audit-event.js';
import { compileShape } from '../../shapes/compiled.js';
import { unkeptNumber } from '../errors/request-faults.js';
import { exactNumbers } from '../json/parse.js';

/** How far ahead of this clock an event's own time may be. */
export const AHEAD_MS = 5 * 60 * 1000;

/** Where a client's own JSON goes, which is kept as it is. */
const FREE_FORM = ['resource/data', 'context/data', 'subject/claims', 'subject/data', 'action/data'];
const isFreeForm = (path: readonly string[]) => path.length === 2 && FREE_FORM.includes(path.join('/'));

const shapeFaults = compileShape(AuditEventDto);

/** All faults of an event as it was sent; none for one that can be recorded. `exact`: it may have exact numbers. */
export function eventFaults(value: unknown, exact: boolean, now: number): FieldFault[] {
  let faults = shapeFaults(value);
  if (exact) {
    const outside = exactNumbers(value, isFreeForm);
    // An exact number is represented by an object; without this, the shape would report that object's members.
    const others = new Set(outside);
    faults = faults.filter(({ pointer }) => !others.has(pointer.replace(/\/rawJSON$/, '')));
    faults.push(...outside.slice(0, LIMITS.faults).map(unkeptNumber));
  }
  const time = (value as Partial<SentAuditEvent> | null)?.eventTime;
  const ms = typeof time === 'string' ? readInstant(time) : undefined;
  if (ms !== undefined && ms > now + AHEAD_MS) {
    faults.push({ pointer: '/eventTime', reason: 'must be at most 5 minutes in the future' });
  }
  return faults;
}
