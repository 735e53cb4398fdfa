import { appendCases } from './event-log.append.js';
import { consumeCases } from './event-log.consume.js';
import { failureCases } from './event-log.failure.js';
import { type LogFeature, logCases, type OpenLog } from './event-log.harness.js';
import { readCases } from './event-log.read.js';

/**
 * What every adapter of `EventLog` promises, asserted through the port alone. `open` gives a new, empty log a case;
 * `without` names the optional parts that the harness does not have, whose cases are then skipped.
 */
export function eventLogContract(
  name: string,
  open: OpenLog,
  options: { readonly without?: readonly LogFeature[] } = {},
): void {
  describe(`event log contract: ${name}`, () => {
    const given = logCases(open, options.without ?? []);
    describe('append', () => appendCases(given, open));
    describe('append that fails', () => failureCases(given));
    describe('read and head', () => readCases(given));
    describe('consume', () => consumeCases(given));
  });
}
