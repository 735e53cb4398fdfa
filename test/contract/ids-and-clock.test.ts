import { isoTime, systemClock } from '../../src/platform/clock.js';
import { hasTime, keyedId, systemIds, timeOf } from '../../src/platform/ids.js';
import fc from '../support/fast-check.js';
import { clockContract, idsContract } from './ids-and-clock.contract.js';

clockContract('system', systemClock);
idsContract('system', systemIds);

describe('keyedId', () => {
  // SHA-256 of `<bytes>:<part>` for each part, its first 128 bits, made outside this program with Python's hashlib.
  for (const [what, parts, id] of [
    ['ASCII', ['acme', 'shop', 'key-1'], 'bdc9e41c-75db-8040-aa13-90c483f5faee'],
    ['any Unicode, counted in bytes', ['ä', '日本', '👩‍👩‍👧'], '8e38130b-8f5b-819a-99b2-877560d6bdaa'],
    ['an empty part', [''], 'ba768b33-1fd8-8cec-803b-e04e56ab2b3d'],
    ['no parts', [], 'e3b0c442-98fc-8c14-9afb-f4c8996fb924'],
    ['a part of 300 characters', ['a'.repeat(300)], '1b39d78c-a359-8a02-a67e-ab014f0305bd'],
  ] as const) {
    test(`gives the identifier that was computed elsewhere: ${what}`, () => {
      expect(keyedId(...parts)).toBe(id);
    });
  }

  const text = fc.string({ unit: 'binary', maxLength: 20 });

  test('is of version 8 and the variant of RFC 9562, in lower case, whatever the parts', () => {
    fc.assert(
      fc.property(fc.array(text), (parts) => {
        expect(keyedId(...parts)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }),
    );
  });

  test('is the same for the same parts, whatever was asked in between', () => {
    fc.assert(
      fc.property(fc.array(text), fc.array(text), (parts, others) => {
        const first = keyedId(...parts);
        keyedId(...others);
        expect(keyedId(...parts)).toBe(first);
      }),
    );
  });

  test('differs for different parts', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), fc.array(text, { maxLength: 4 }), (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        expect(keyedId(...one)).not.toBe(keyedId(...other));
      }),
    );
  });

  test('differs for one text that is cut at different places, with digits and colons in it', () => {
    const characters = fc.string({ unit: fc.constantFrom('0', '1', '2', ':', 'a', 'ä'), minLength: 1, maxLength: 12 });
    const cuts = fc.uniqueArray(fc.nat(12), { maxLength: 3 });
    fc.assert(
      fc.property(characters, cuts, cuts, (whole, first, second) => {
        const [one, other] = [cutAt(whole, first), cutAt(whole, second)];
        fc.pre(one.length !== other.length || one.some((part, index) => part !== other[index]));
        expect(keyedId(...one)).not.toBe(keyedId(...other));
      }),
      { numRuns: 1000 },
    );
  });

  for (const [what, one, other] of [
    ['the order of the parts', ['a', 'b'], ['b', 'a']],
    ['an empty part at the end', ['a'], ['a', '']],
    ['an empty part in front', ['a'], ['', 'a']],
    ['no part and an empty part', [], ['']],
    ['case', ['Key'], ['key']],
    ['white space', ['key'], ['key ']],
    ['the normal form of Unicode', ['caf\u00e9'], ['cafe\u0301']],
    ['a part that looks like two', ['a1:b'], ['a', 'b']],
  ] as const) {
    test(`tells apart: ${what}`, () => {
      expect(keyedId(...one)).not.toBe(keyedId(...other));
    });
  }

  test('repeats none for 20,000 keys of one organization and context', () => {
    expect(new Set(Array.from({ length: 20_000 }, (_, n) => keyedId('acme', 'shop', `${n}`))).size).toBe(20_000);
  });
});

describe('hasTime', () => {
  test.each([
    ['017f22e2-79b0-7cc3-98c4-dc0c0c07398f', true],
    ['017f22e2-79b0-8cc3-98c4-dc0c0c07398f', false],
    ['00000000-0000-7fff-bfff-ffffffffffff', false],
    ['ffffffff-ffff-7000-8000-000000000000', false],
  ])('of %s is %s: a UUIDv7 whose time is of 2020 to 2049', (id, expected) => {
    expect(hasTime(id)).toBe(expected);
  });
});

describe('timeOf', () => {
  test('reads the example of RFC 9562, appendix A.6', () => {
    expect(timeOf('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')).toBe(Date.parse('2022-02-22T19:22:22.000Z'));
  });

  test('reads upper case as well', () => {
    expect(timeOf('017F22E2-79B0-7CC3-98C4-DC0C0C07398F')).toBe(1_645_557_742_000);
  });

  test('reads all 48 bits', () => {
    expect(timeOf('ffffffff-ffff-7000-8000-000000000000')).toBe(2 ** 48 - 1);
    expect(timeOf('00000000-0000-7fff-bfff-ffffffffffff')).toBe(0);
  });
});

describe('isoTime', () => {
  for (const [what, ms, text] of [
    ['the first instant of year 1', -62_135_596_800_000, '0001-01-01T00:00:00.000Z'],
    ['the last instant of year 999', -30_610_224_000_001, '0999-12-31T23:59:59.999Z'],
    ['the millisecond before 1970', -1, '1969-12-31T23:59:59.999Z'],
    ['1970', 0, '1970-01-01T00:00:00.000Z'],
    ['a leap day', 1_709_210_096_007, '2024-02-29T12:34:56.007Z'],
    ['more than 31 bits of seconds', 2 ** 31 * 1000, '2038-01-19T03:14:08.000Z'],
    ['the last instant of year 9999', 253_402_300_799_999, '9999-12-31T23:59:59.999Z'],
  ] as const) {
    test(`writes ${what}`, () => {
      expect(isoTime(ms)).toBe(text);
    });
  }

  const instant = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 });

  test('is read back to the millisecond', () => {
    fc.assert(
      fc.property(instant, (ms) => {
        expect(isoTime(ms)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(Date.parse(isoTime(ms))).toBe(ms);
      }),
    );
  });

  test('sorts as text the way the instants do', () => {
    fc.assert(
      fc.property(instant, instant, (one, other) => {
        expect(Math.sign(one - other)).toBe(isoTime(one) < isoTime(other) ? -1 : isoTime(one) > isoTime(other) ? 1 : 0);
      }),
    );
  });
});

/** The parts of a text between the places; places beyond its end cut nothing. */
function cutAt(whole: string, places: readonly number[]): string[] {
  const ends = places.filter((place) => place < whole.length).toSorted((a, b) => a - b);
  return [...ends, whole.length].map((end, index) => whole.slice(ends[index - 1] ?? 0, end));
}
