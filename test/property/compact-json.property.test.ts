import { CompactJson } from '../../src/event-log/compact-json.js';
import fc from '../support/fast-check.js';
import { jsonObject, jsonValue, seeded, spelled, unicode } from './arbitraries.js';

const PATHS = ['id', 'resource.id', 'resource.name', 'context.org', 'context.data.id', 'a.b.c.d', 'été'];
const compact = new CompactJson(PATHS);

/** What parsing finds there. */
function parsedTexts(json: string): unknown[] {
  const whole = JSON.parse(json);
  return PATHS.map((path) => path.split('.').reduce<unknown>((value, name) => own(value, name), whole));
}

function own(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}

const found = (json: string) => compact.textsIn(Buffer.from(json));

/** Without what JSON has to escape. */
const plain = unicode().map((text) => text.replace(/["\\\p{Cc}\p{Cs}]/gu, ''));
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const others = fc.dictionary(
  plain.filter((name) => !PATHS.join('.').split('.').includes(name)),
  jsonValue,
  {
    maxKeys: 4,
    noNullPrototype: true,
  },
);

/** With texts at the paths, or nothing, and anything else besides. */
const sought = fc.record({
  top: fc.record({ id: optional(plain), été: optional(plain) }),
  resource: optional(fc.record({ id: optional(plain), name: optional(plain) })),
  org: optional(plain),
  inner: optional(plain),
  deep: optional(plain),
  others: fc.tuple(others, others, others),
});

const object = sought.map(({ top, resource, org, inner, deep, others: [first, second, third] }) => ({
  ...first,
  ...top,
  context: { ...second, org, ...(inner !== undefined && { data: { id: inner, ...third } }) },
  ...(resource && { resource: { ...resource, ...third } }),
  ...(deep !== undefined && { a: { b: { ...second, c: { d: deep } } } }),
}));

test('of what this program writes it finds what parsing finds', () => {
  fc.assert(
    fc.property(object, (one) => {
      const json = JSON.stringify(one);
      expect(found(json)).toEqual(parsedTexts(json));
    }),
    seeded(2_000),
  );
});

test('of any other spelling of it, too, or nothing', () => {
  fc.assert(
    fc.property(
      fc.oneof(object, jsonObject, jsonValue),
      fc.infiniteStream(fc.double({ min: 0, max: 0.999 })),
      (one, stream) => {
        const json = spelled(JSON.parse(JSON.stringify(one)), () => stream.next().value ?? 0);
        expect([undefined, parsedTexts(json)]).toContainEqual(found(json));
      },
    ),
    seeded(2_000),
  );
});

test('what it accepts is JSON, wherever a text was altered', () => {
  const edit = fc.record({
    at: fc.nat(),
    removed: fc.nat({ max: 3 }),
    added: fc.string({
      unit: fc.constantFrom(...'{}[]",:\\ 0123456789-+.eEtrufalsn\u0001\n', 'é', '"id":"x"'),
      maxLength: 3,
    }),
  });
  let accepted = 0;
  fc.assert(
    fc.property(object, fc.array(edit, { minLength: 1, maxLength: 3 }), (one, edits) => {
      const json = edits.reduce((text, { at, removed, added }) => {
        const start = at % (text.length + 1);
        return (text.slice(0, start) + added + text.slice(start + removed)).toWellFormed();
      }, JSON.stringify(one));
      const texts = found(json);
      if (!texts) return;
      accepted += 1;
      expect(texts).toEqual(parsedTexts(json));
    }),
    seeded(20_000),
  );
  expect(accepted).toBeGreaterThan(1_000);
});

describe('it accepts', () => {
  test.each([
    ['nothing', '{}'],
    ['numbers', '{"n":[0,-0,10,1.5,-1.25e3,1E+10,1e-7,12345678901234567890]}'],
    ['words', '{"w":[true,false,null]}'],
    ['escapes elsewhere', String.raw`{"w":"\"\\\/\b\f\n\r\t\u00e9\uD800","x":{"\u0069d":"other"}}`],
    ['nothing in many', '{"a":{},"b":[],"c":[[],{}],"d":{"e":{}}}'],
    ['a prototype', '{"__proto__":{"id":"x"},"constructor":1}'],
  ])('%s', (_what, json) => {
    expect(found(json)).toEqual(parsedTexts(json));
  });

  test('what is nested a hundred times, and nothing deeper', () => {
    const nested = (depth: number) => `{"n":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expect(found(nested(100))).toEqual(PATHS.map(() => undefined));
    expect(found(nested(101))).toBeUndefined();
    expect(found(nested(100_000))).toBeUndefined();
  });
});

describe('it leaves to a parser', () => {
  test.each([
    ['white space', '{"id": "x"}'],
    ['white space at the end', '{"id":"x"}\n'],
    ['a text with an escape', String.raw`{"id":"\u0078"}`],
    ['a name with an escape', String.raw`{"\u0069d":"x"}`],
    ['a text that is there twice', '{"id":"x","id":"y"}'],
    ['an object that is there twice', '{"resource":{"id":"x"},"resource":{}}'],
    ['a number in place of a text', '{"id":1}'],
    ['null in place of a text', '{"id":null}'],
    ['a text in place of an object', '{"resource":"x"}'],
    ['null in place of an object', '{"resource":null}'],
    ['an array in place of an object', '{"resource":[]}'],
    ['an array', '[]'],
    ['a text', '"id"'],
  ])('%s', (_what, json) => {
    expect(() => JSON.parse(json)).not.toThrow();
    expect(found(json)).toBeUndefined();
  });

  test.each([
    ...['', '{', '{"id":"x"', '{"id":"x"}}', '{"id":"x"},', '{"id":"x",}', '{,}', '{"id"}', '{"id":}', '{id:"x"}'],
    ...['{"n":01}', '{"n":1.}', '{"n":.5}', '{"n":-}', '{"n":+1}', '{"n":1e}', '{"n":1e+}', '{"n":NaN}', '{"n":0x1}'],
    ...['{"n":tru}', '{"n":truee}', '{"n":nul', '{"n":[1,]}', '{"n":[,1]}', '{"n":[1}', '{"n":{]}', '{"n":[1 2]}'],
    ...['{"n":"a\tb"}', '{"n":"a\u0000"}', String.raw`{"n":"\x"}`, String.raw`{"n":"\u12g4"}`, String.raw`{"n":"\u12`],
    ...[String.raw`{"n":"\"}`, '{"n":"x}', '{"n":{"m"}}', '{"n":{"m":1,}}', '{"n":{1:2}}', "{'id':'x'}"],
  ])('what it may refuse: %j', (json) => {
    expect(() => JSON.parse(json)).toThrow();
    expect(found(json)).toBeUndefined();
  });
});
