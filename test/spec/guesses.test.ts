import { type Logger, pino } from 'pino';
import { Guesses } from '../../src/commands/guesses.js';
import { Metrics } from '../../src/platform/metrics.js';

interface Warning {
  readonly msg: string;
  readonly addresses: readonly { readonly address: string; readonly keys: number; readonly throttled: number }[];
  readonly others: object;
}

function setUp(perMinute: number) {
  let now = 1_000_000;
  const warnings: Warning[] = [];
  const logger: Logger = pino({}, { write: (line) => warnings.push(JSON.parse(line)) });
  const guesses = new Guesses(perMinute, { now: () => now }, new Metrics(), logger);
  const guess = (address = '192.0.2.1') => {
    try {
      guesses.begin({ guessed: 'key', address }).wrong();
      return 'refused';
    } catch (error) {
      return error as { code: string; details: object };
    }
  };
  const passes = (ms: number) => {
    now += ms;
  };
  return { guesses, guess, passes, warnings };
}

const times = <Result>(count: number, work: (n: number) => Result): Result[] =>
  Array.from({ length: count }, (_, n) => work(n));

test('refuses the guesses of an address beyond its number in a minute, and says when to retry', () => {
  const { guess, passes } = setUp(3);
  expect(times(3, () => guess())).toEqual(times(3, () => 'refused'));
  passes(20_500);
  expect(guess()).toMatchObject({ code: 'rate_limited', details: { retryAfterSeconds: 40 } });
  expect(guess('192.0.2.2')).toBe('refused');
  passes(40_000);
  expect(guess()).toBe('refused');
});

test('takes back an attempt that turns out right', () => {
  const { guesses, guess } = setUp(3);
  for (let count = 0; count < 10; count += 1) guesses.begin({ guessed: 'key', address: '192.0.2.1' }).right();
  expect(guess()).toBe('refused');
});

test('counts attempts under way, so that many at once do not slip through', () => {
  const { guesses } = setUp(3);
  const begin = () => guesses.begin({ guessed: 'key', address: '192.0.2.1' });
  times(3, begin);
  expect(begin).toThrow('too many unknown keys');
});

test('counts a /64 of IPv6 as one address', () => {
  const { guess } = setUp(3);
  expect(times(5, (n) => guess(`2001:db8::${n}`)).filter((one) => one === 'refused')).toHaveLength(3);
  expect(guess('2001:db8:0:1::1')).toBe('refused');
});

test('limits nothing with 0, and still counts', () => {
  const { guesses, guess, warnings } = setUp(0);
  expect(new Set(times(1_000, () => guess()))).toEqual(new Set(['refused']));
  guesses.close();
  expect(warnings[0]?.addresses).toMatchObject([{ address: '192.0.2.1', keys: 1_000, throttled: 0 }]);
});

test('limits wrong codes of one invitation from all senders together, whether it exists or not', () => {
  const { guesses } = setUp(300);
  const guess = (n: number, invitation: string) => {
    guesses.begin({ guessed: 'code', address: `192.0.2.${n}`, invitation }).wrong();
  };
  times(10, (n) => guess(n, 'acme/one'));
  expect(() => guess(11, 'acme/one')).toThrow(
    'too many unknown keys or wrong codes from your address or for this invitation; check the key or code',
  );
  expect(() => guess(11, 'acme/two')).not.toThrow();
});

test('warns once a minute with the number by address', () => {
  const { guess, passes, warnings } = setUp(5);
  times(8, () => guess());
  guess('192.0.2.2');
  expect(warnings).toEqual([]);
  passes(60_000);
  guess('192.0.2.3');
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.addresses).toEqual([
    { address: '192.0.2.1', keys: 8, codes: 0, throttled: 3 },
    { address: '192.0.2.2', keys: 1, codes: 0, throttled: 0 },
  ]);
  passes(59_999);
  guess('192.0.2.3');
  expect(warnings).toHaveLength(1);
});

test('says nothing of a minute without guesses', () => {
  const { guesses, warnings } = setUp(5);
  guesses.begin({ guessed: 'key', address: '192.0.2.1' }).right();
  guesses.close();
  expect(warnings).toEqual([]);
});

test('keeps a bounded number of addresses, those with most guesses, and sums up the others', () => {
  const { guesses, guess, warnings } = setUp(300);
  times(50, () => guess('192.0.2.1'));
  times(100_000, (n) => guess(`2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`));
  guesses.close();
  expect(warnings[0]?.addresses).toHaveLength(20);
  expect(warnings[0]?.addresses[0]).toMatchObject({ address: '192.0.2.1', keys: 50 });
  expect(warnings[0]?.others).toEqual({ keys: 100_000 - 19, codes: 0, throttled: 0 });
});
