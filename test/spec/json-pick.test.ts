import { parseJson } from '../../src/http/json/parse.js';
import { pick } from '../../src/http/json/pick.js';
import fc from '../support/fast-check.js';
import { finish } from '../support/steps.js';

const picked = (text: string, paths: readonly (readonly string[])[]) =>
  JSON.stringify(finish(pick(Buffer.from(text), paths)).result);

const NAMES = ['a', 'b', '0', '1', '/~', '__proto__', 'toString', 'ü"'];
const name = fc.constantFrom(...NAMES);
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, -0, 1.5, '', 'grün "', '[{"', '\\'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.uniqueArray(fc.tuple(name, tie('value')), { selector: ([one]) => one, maxLength: 4 }).map((entries) => {
      const object = Object.create(null) as Record<string, unknown>;
      for (const [key, one] of entries) object[key] = one;
      return object;
    }),
  ),
})).value;

/** Of a parsed value; undefined where nothing is there. */
function at(parsed: unknown, path: readonly string[]): unknown {
  let found = parsed;
  for (const one of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, one)) return undefined;
    found = (found as Record<string, unknown>)[one];
  }
  return typeof found === 'object' && found !== null ? {} : found;
}

test('what is at a path is what a parser finds there', () => {
  const path = fc.array(name, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(value, path, fc.constantFrom(0, 1), (sent, one, space) => {
      const text = JSON.stringify(sent, null, space);
      const { result } = finish(pick(Buffer.from(text), [one]));
      expect(at(result, one)).toEqual(at(JSON.parse(text), one));
    }),
    { numRuns: 2_000 },
  );
});

test('paths are found beside each other, and below each other', () => {
  const text = '{"x":[1,{"y":2},{}],"a":{"b":{"c":1},"d":12345678901234567890},"e":"é"}';
  expect(picked(text, [['a', 'd'], ['a', 'b', 'c'], ['e'], ['x', '1', 'y'], ['none']])).toBe(
    '{"x":{"1":{"y":2}},"a":{"b":{"c":1},"d":12345678901234567890},"e":"é"}',
  );
  expect(picked('"text"', [['a']])).toBe('"text"');
});

test('any bytes come to an end', () => {
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.string({ unit: fc.constantFrom(...'{}[]:,"\\a1 ') }));
  fc.assert(
    fc.property(bytes, (sent) => {
      finish(pick(Buffer.from(sent as string), [['a', 'a'], ['0']]));
    }),
    { numRuns: 2_000 },
  );
});

test('a long text is looked at in steps, whatever it is made of', () => {
  const parts = ['"a":1,'.repeat(200_000), `"a":[${'1,'.repeat(600_000)}1],`, `"a":{"b":[${'[],'.repeat(400_000)}1]},`];
  for (const part of parts) {
    const text = Buffer.from(`{${part}"key":"k"}`);
    const { result, steps } = finish(pick(text, [['key'], ['a', 'b']]));
    expect(result).toMatchObject({ key: 'k' });
    expect(steps).toBeGreaterThanOrEqual(Math.floor(text.length / (257 * 1024)));
  }
});

test('what is longer than an event is not made a text', () => {
  const long = 'x'.repeat(300_000);
  expect(picked(JSON.stringify({ key: long, other: 'k' }), [['key'], ['other']])).toBe('{"other":"k"}');
});

test('its numbers are as exact as those of a parser', () => {
  for (const number of ['1.10', '-0', '1E5', '0.1', '12345678901234567890']) {
    const { value: parsed } = parseJson(Buffer.from(`{"n":${number}}`));
    expect(picked(`{"n":${number}}`, [['n']])).toBe(JSON.stringify(parsed));
  }
});
