import { parseJson } from '../../src/http/json/parse.js';
import { canonicalJson } from '../../src/model/json.js';
import fc from '../support/fast-check.js';
import { jsonObject, jsonValue, seeded, spelled } from './arbitraries.js';

const parseJsonText = (text: string) => parseJson(Buffer.from(text));

/** The same value with the members of every object in another order. */
function shuffled(value: unknown, order: (count: number) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, order));
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value);
  const mixed: [string, unknown][] = [];
  while (members.length > 0) {
    const [[name, member] = ['', undefined]] = members.splice(order(members.length), 1);
    mixed.push([name, shuffled(member, order)]);
  }
  return Object.fromEntries(mixed);
}

const counting = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state;
  };
};

test('is the same for every order of members, white space and escapes', () => {
  fc.assert(
    fc.property(jsonValue, fc.nat(), (value, seed) => {
      const next = counting(seed);
      const text = spelled(
        shuffled(value, (count) => next() % count),
        () => next() / 0x80000000,
      );
      expect(canonicalJson(parseJsonText(text).value)).toBe(canonicalJson(value));
    }),
    seeded(2_000),
  );
});

test('is JSON of the same value', () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    seeded(1_000),
  );
});

test('is another for another value', () => {
  fc.assert(
    fc.property(jsonValue, jsonValue, (one, other) => {
      const same = canonicalJson(one) === canonicalJson(other);
      // What JSON cannot tell apart, such as 0 and -0, is the same value.
      expect(same).toBe(deepEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other))));
    }),
    seeded(2_000),
  );
});

test('is another when one member is added, removed, or moved to another name', () => {
  fc.assert(
    fc.property(jsonObject, fc.string(), jsonValue, (object, name, value) => {
      fc.pre(!(name in object) && name !== '__proto__');
      const more = { ...object, [name]: value };
      const moved = { ...object, [`${name}'`]: value };
      expect(canonicalJson(more)).not.toBe(canonicalJson(object));
      if (!(`${name}'` in object)) expect(canonicalJson(moved)).not.toBe(canonicalJson(more));
    }),
    seeded(1_000),
  );
});

test('tells numbers apart that a double cannot', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 10n ** 17n, max: 10n ** 30n }), fc.bigInt({ min: 1n, max: 9n }), (number, step) => {
      const text = (value: bigint) => canonicalJson(parseJsonText(`{"n":${value}}`).value);
      expect(text(number)).not.toBe(text(number + step));
    }),
    seeded(1_000),
  );
});

function deepEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && deepEqual((one as never)[name], (other as never)[name]))
  );
}
