import { LetterBudget, SentLetters } from '../../src/model/sent-letters.js';

const HOUR = 60 * 60 * 1_000;
const LIMITS = { perAddress: 2, perOrg: 3 };

const budget = (letters: readonly SentLetters[], now: number, org = 'acme') =>
  new LetterBudget(letters, LIMITS, org, now);

describe('the budget of letters', () => {
  test('an address gets its letters of a day, from all organizations together', () => {
    const sent = new SentLetters();
    sent.note('acme', 'ann', 0);
    sent.note('globex', 'ann', HOUR);
    const day = 24 * HOUR;
    expect(budget([sent], day - 2_000).take('ann')).toEqual({ bound: 'perAddress', retryAfterSeconds: 2 });
    expect(budget([sent], day - 2_000).take('bob')).toBeUndefined();
    expect(budget([sent], day).take('ann')).toBeUndefined();
  });

  test('an organization sends its letters of an hour', () => {
    const sent = new SentLetters();
    for (const [n, email] of ['a', 'b', 'c'].entries()) sent.note('acme', email, n * 1_000);
    expect(budget([sent], HOUR - 1_000).take('d')).toEqual({ bound: 'perOrg', retryAfterSeconds: 1 });
    expect(budget([sent], HOUR - 1_000, 'globex').take('d')).toBeUndefined();
    expect(budget([sent], HOUR).take('d')).toBeUndefined();
  });

  test('counts what it let pass itself, and what several tell', () => {
    const [one, other] = [new SentLetters(), new SentLetters()];
    one.note('acme', 'ann', 0);
    other.note('acme', 'bob', 0);
    const letters = budget([one, other], 1);
    expect(letters.take('cid')).toBeUndefined();
    expect(letters.take('dan')).toMatchObject({ bound: 'perOrg' });
    const again = budget([one], 1);
    expect([again.take('ann'), again.take('ann')?.bound]).toEqual([undefined, 'perAddress']);
  });

  test('knows nothing that is older than a day, in any order of the notes', () => {
    const sent = new SentLetters();
    for (let n = 0; n < 1_000; n += 1) sent.note(`org-${n}`, `user-${n}`, n * HOUR);
    const held = JSON.stringify(sent, (_key, value) =>
      value instanceof Map || value instanceof Set ? [...value] : value,
    );
    expect(held.match(/user-/g)?.length).toBeLessThanOrEqual(2 * 25);
    expect(sent.to('user-999', 999 * HOUR)).toHaveLength(1);
  });
});
