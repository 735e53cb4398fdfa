import type { Clock } from '../../src/platform/clock.js';
import { LogClock } from '../../src/platform/log-clock.js';
import fc from '../support/fast-check.js';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 22);

/** Moves only when a test says so: how long the machine takes for the test does not count. */
let elapsed = 1_000.3;
const monotonic = () => elapsed;

/** A system whose clock is off, on the same monotonic time as the log. */
const systemAt = (origin: number) => ({ now: () => Math.floor(origin + elapsed) });
const clockOf = (system: Clock) => new LogClock(system, monotonic);

describe('the clock of a log', () => {
  it('is the system until the log was measured', () => {
    const system = systemAt(NOW);
    const clock = clockOf(system);
    expect(Math.abs(clock.now() - system.now())).toBeLessThanOrEqual(1);
    expect(Math.abs(clock.systemAheadMs)).toBeLessThanOrEqual(1);
  });

  it.each([-3_600_000, 3_600_000, 40 * DAY, 730 * DAY])('is that of the log if the system is off by %d ms', (off) => {
    const clock = clockOf(systemAt(NOW + off));
    const at = elapsed;
    clock.measure(NOW + at, at, at + 4);
    elapsed += 4;
    expect(Math.abs(clock.now() - (NOW + elapsed))).toBeLessThanOrEqual(5);
    expect(Math.abs(clock.systemAheadMs - off)).toBeLessThanOrEqual(6);
  });

  it('is the system while no measurement contradicts it, however slow', () => {
    const system = systemAt(NOW);
    const clock = clockOf(system);
    const at = elapsed;
    clock.measure(Math.floor(NOW + at), at - 5_000, at + 100);
    expect(Math.abs(clock.now() - system.now())).toBeLessThanOrEqual(1);
  });

  it('goes on by monotonic time when the system is set', () => {
    const system = { at: NOW, now: () => system.at };
    const clock = clockOf(system);
    const before = clock.now();
    system.at -= DAY;
    expect(clock.now() - before).toBeLessThan(1_000);
    expect(clock.now()).toBeGreaterThanOrEqual(before);
  });

  it('follows when the clock of the log is set', () => {
    const clock = clockOf(systemAt(NOW));
    for (const off of [0, DAY, -DAY]) {
      const at = elapsed;
      clock.measure(NOW + off + at, at, at + 4);
      expect(Math.abs(clock.now() - (NOW + off + elapsed))).toBeLessThanOrEqual(5);
    }
  });

  it('is never further from the log than the fastest measurement took', () => {
    const measurement = fc.record({ before: fc.nat(5_000), after: fc.nat(5_000) });
    fc.assert(
      fc.property(fc.array(measurement, { minLength: 1 }), (measurements) => {
        const clock = clockOf(systemAt(NOW + DAY));
        let at = elapsed;
        for (const { before, after } of measurements) {
          const sent = at;
          at += before;
          clock.measure(Math.floor(NOW + at), sent, at + after);
          at += after;
        }
        const took = Math.min(...measurements.map(({ before, after }) => before + after));
        expect(Math.abs(clock.now() - (NOW + elapsed))).toBeLessThanOrEqual(took + 2);
      }),
    );
  });
});
