import type { Clock } from '../../src/platform/clock.js';
import { type Ids, timeOf } from '../../src/platform/ids.js';
import { sleep } from './harness.js';

const NOW = Date.UTC(2026, 5, 1, 12, 30, 15, 123);

export function clockContract(name: string, clock: Clock): void {
  describe(`clock contract: ${name}`, () => {
    test('says whole milliseconds', () => {
      for (let reading = 0; reading < 1000; reading += 1) expect(Number.isSafeInteger(clock.now())).toBe(true);
    });

    test('says the time of the system, between a reading before and one after', () => {
      const before = Date.now();
      const now = clock.now();

      expect(now).toBeGreaterThanOrEqual(before);
      expect(now).toBeLessThanOrEqual(Date.now());
    });

    test('goes on while time passes', async () => {
      const before = clock.now();
      await sleep(20);

      expect(clock.now() - before).toBeGreaterThanOrEqual(15);
    });
  });
}

export function idsContract(name: string, make: (clock: Clock) => Ids): void {
  /** Identifiers of a clock that can be set. */
  const set = (start = NOW) => {
    const clock = { time: start, now: () => clock.time };
    return { clock, ids: make(clock) };
  };
  const take = (ids: Ids, count: number): string[] => Array.from({ length: count }, () => ids.next());

  describe(`ids contract: ${name}`, () => {
    test('makes identifiers of version 7 and the variant of RFC 9562', () => {
      for (const id of take(set().ids, 1000)) expect(id).toMatch(/^[^-]{8}-[^-]{4}-7[^-]{3}-[89ab][^-]{3}-[^-]{12}$/);
    });

    test('writes them in lower case, 36 characters', () => {
      for (const id of take(set().ids, 1000)) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    });

    for (const [what, time] of [
      ['now', NOW],
      ['the first instant', 0],
      ['one millisecond', 1],
      ['more than 32 bits', 2 ** 32 + 5],
      ['the last instant of year 9999', 253_402_300_799_999],
    ] as const) {
      test(`leads with the time of the clock: ${what}`, () => {
        const { ids } = set(time);

        expect(take(ids, 3).map(timeOf)).toEqual([time, time, time]);
        expect(ids.next().replaceAll('-', '').slice(0, 12)).toBe(time.toString(16).padStart(12, '0'));
      });
    }

    test('makes each of 10,000 in one millisecond greater than the one before', () => {
      expect(isAscendingText(take(set().ids, 10_000))).toBe(true);
    });

    test('makes each greater than the one before while the clock goes on, by leaps too', () => {
      const { clock, ids } = set();
      const made = [1, 0, 5, 0, 0, 86_400_000, 1, 0].flatMap((leap) => {
        clock.time += leap;
        return take(ids, 50);
      });

      expect(isAscendingText(made)).toBe(true);
    });

    test('says the time of a clock that went backward, and repeats nothing', () => {
      const { clock, ids } = set();
      const made = [0, -1, 1, -60_000, 60_000, -1].flatMap((leap) => {
        clock.time += leap;
        const some = take(ids, 500);
        expect(new Set(some.map(timeOf))).toEqual(new Set([clock.time]));
        return some;
      });

      expect(new Set(made).size).toBe(made.length);
    });

    test('makes each greater than the one before again, once the clock that went backward goes on', () => {
      const { clock, ids } = set();
      take(ids, 10);
      clock.time -= 1000;
      const before = take(ids, 10);
      clock.time += 1;

      expect(isAscendingText([...before, ...take(ids, 10)])).toBe(true);
    });

    test('repeats none in 100,000', () => {
      const { clock, ids } = set();
      const made = new Set<string>();
      for (let ms = 0; ms < 100; ms += 1) {
        for (const id of take(ids, 1000)) made.add(id);
        clock.time += ms % 2;
      }

      expect(made.size).toBe(100_000);
    });

    test('never meets what another instance makes in the same millisecond', () => {
      const instances = Array.from({ length: 50 }, () => set().ids);

      const made = instances.flatMap((ids) => take(ids, 500));

      expect(new Set(made).size).toBe(25_000);
    });

    test('cannot be guessed from the one before: the last 32 bits differ', () => {
      const tails = take(set().ids, 100).map((id) => id.slice(-8));

      expect(new Set(tails).size).toBe(100);
    });

    test('makes secrets of 43 base64url characters, which are 256 bits', () => {
      const { ids } = set();
      for (let n = 0; n < 200; n += 1) {
        const secret = ids.secret();
        expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
        expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
      }
    });

    test('makes secrets in which each of the 256 bits is sometimes 0 and sometimes 1', () => {
      const { ids } = set();
      const ones = Buffer.alloc(32);
      const zeros = Buffer.alloc(32);
      for (let n = 0; n < 200; n += 1) {
        for (const [index, byte] of Buffer.from(ids.secret(), 'base64url').entries()) {
          ones[index] = (ones[index] ?? 0) | byte;
          zeros[index] = (zeros[index] ?? 0) | (byte ^ 0xff);
        }
      }

      expect(ones).toEqual(Buffer.alloc(32, 0xff));
      expect(zeros).toEqual(Buffer.alloc(32, 0xff));
    });

    test('repeats no secret, though the clock stands still, nor does another instance', () => {
      const instances = [set().ids, set().ids];

      const secrets = instances.flatMap((ids) => Array.from({ length: 5000 }, () => ids.secret()));

      expect(new Set(secrets).size).toBe(10_000);
    });
  });
}

/** Whether each is greater than the one before, as lists and databases compare them. */
const isAscendingText = (texts: readonly string[]): boolean =>
  texts.every((text, index) => index === 0 || text > (texts[index - 1] ?? text));
