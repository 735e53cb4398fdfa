import { parse } from 'smile-js';
import { SmileDocuments, type SmileObject } from '../../src/read-model/elasticsearch/smile.js';
import fc from '../support/fast-check.js';
import { seeded, unicode } from './arbitraries.js';

const name = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/).filter((text) => text !== '__proto__');
const text = fc.oneof(unicode(), unicode({ minLength: 60, maxLength: 200 }), fc.json());

const { document } = fc.letrec<{ document: SmileObject; value: SmileObject[string] }>((tie) => ({
  document: fc.dictionary(name, tie('value'), { maxKeys: 8, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    text.map((one) => Buffer.from(one)),
    fc.maxSafeInteger(),
    fc.integer({ min: -(2 ** 32), max: 2 ** 32 }),
    fc.boolean(),
    fc.constant(undefined),
    tie('document'),
  ),
}));

/** As JSON would have it. */
function plain(value: SmileObject[string]): unknown {
  if (value instanceof Uint8Array) return value.toString();
  if (typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [[key, plain(one)]])),
  );
}

function written(documents: readonly SmileObject[]): Buffer[] {
  const smile = SmileDocuments.empty();
  const ends = documents.map((one) => {
    smile.add(one);
    return smile.length;
  });
  const found = ends.map((end, at) => Buffer.from(smile.bytes.subarray(ends[at - 1] ?? 0, end)));
  smile.reuse();
  return found;
}

test('what is written is what another program reads', () => {
  fc.assert(
    fc.property(fc.array(document, { minLength: 1, maxLength: 3 }), (documents) => {
      const read = written(documents).map((bytes) => parse(new Uint8Array(bytes)));
      expect(read).toEqual(documents.map(plain));
    }),
    seeded(2_000),
  );
});

test('the byte that ends a document stands nowhere else', () => {
  fc.assert(
    fc.property(document, (one) => {
      const [bytes] = written([one]);
      expect(bytes?.indexOf(0xff)).toBe((bytes?.length ?? 0) - 1);
    }),
    seeded(1_000),
  );
});

test.each([0, -1, 31, 32, -33, 8_191, 8_192, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1])(
  'the whole number %p',
  (number) => expect(written([{ number }]).map((bytes) => parse(new Uint8Array(bytes)))).toEqual([{ number }]),
);

test.each([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])('the whole number %p, the farthest', (number) => {
  expect(written([{ number }]).map((bytes) => parse(new Uint8Array(bytes)))).toEqual([{ number }]);
});

test.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('%p is refused', (number) => {
  expect(() => written([{ number }])).toThrow('a number of a document is a safe integer');
});

test.each([[0xfc, 0xfb, 0xff], [0xc3], [0x61, 0xed, 0xa0, 0x80]])('bytes that are no text are refused', (...bytes) => {
  expect(() => written([{ text: Uint8Array.from(bytes) }])).toThrow('a text of a document is UTF-8');
});

test.each(['', 'ü', 'x'.repeat(65), 'with space'])('the name %p is refused', (key) => {
  expect(() => written([{ [key]: true }])).toThrow('1 to 64 characters of ASCII');
});

test('a document larger than all memory that is kept', () => {
  const large = 'ü"'.repeat(1_500_000);
  const [bytes] = written([{ large, last: 1 }]);
  expect(parse(new Uint8Array(bytes ?? []))).toEqual({ large, last: 1 });
});
