import { type ControlRecord, emptyFold, foldRecord, trackedRead } from '../../src/control/fold.js';
import type { LogPosition } from '../../src/control/known-commands.js';
import type { ControlEvent, Read } from '../../src/model/control-events.js';
import { ControlRefusal } from '../../src/model/refusal.js';

export const AT = '2026-01-02T03:04:05.678Z';
export const BY = { name: 'root', requestId: 'request-1', remoteIp: '192.0.2.1' };

/** Given what happened, when a command is decided, then these events follow, or the refusal does. */
export function given(...events: readonly ControlEvent[]) {
  const fold = emptyFold();
  if (events.length > 0) foldRecord(fold, recordOf('given', events, {}), at(0));
  return {
    when(decide: (read: Read) => ControlEvent[]) {
      const { read, expected } = trackedRead(fold);
      let decided: readonly ControlEvent[] = [];
      let refusal: ControlRefusal | undefined;
      try {
        decided = decide(read);
      } catch (error) {
        if (!(error instanceof ControlRefusal)) throw error;
        refusal = error;
      }
      return {
        // biome-ignore lint/suspicious/noThenProperty: given, when, then reads as a sentence; nothing awaits it.
        then: (...expectedEvents: readonly ControlEvent[]) =>
          expect({ decided, refusal }).toEqual({ decided: expectedEvents }),
        thenRefused: (code: ControlRefusal['code']) => expect(refusal).toMatchObject({ code }),
        thenRestsOn: (versions: ControlRecord['expected']) => expect(expected(decided)).toEqual(versions),
      };
    },
  };
}

export function recordOf(
  commandId: string,
  events: readonly ControlEvent[],
  expected: ControlRecord['expected'],
  requestHash?: string,
): ControlRecord {
  return { commandId, at: AT, by: BY, expected, events, ...(requestHash !== undefined && { requestHash }) };
}

/** The place of a record that the log took when its clock began, or later. */
export function at(offset: number, time = 0): LogPosition {
  return { offset, time };
}
