import { END, JsonTokens } from '../../src/contract/json-tokens.js';
import fc from '../support/fast-check.js';
import { jsonValue, seeded, spelled } from './arbitraries.js';

/** The texts of all tokens, and how deep the deepest is. */
function tokensOf(bytes: Buffer): { readonly texts: string[]; readonly depth: number; readonly end: number } {
  const tokens = new JsonTokens(bytes);
  const texts: string[] = [];
  let depth = 0;
  while (tokens.next() !== END) {
    texts.push(bytes.toString('utf8', tokens.start, tokens.end));
    depth = Math.max(depth, tokens.depth);
  }
  return { texts, depth, end: tokens.end };
}

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

test('the tokens of a JSON text, without the white space between them, are the same JSON', () => {
  fc.assert(
    fc.property(jsonValue, fc.infiniteStream(fc.double({ min: 0, max: 0.999 })), (value, stream) => {
      const text = spelled(value, () => stream.next().value ?? 0);
      const { texts, depth } = tokensOf(Buffer.from(text));
      expect(JSON.stringify(JSON.parse(texts.join('')))).toBe(JSON.stringify(JSON.parse(text)));
      expect(depth).toBe(depthOf(JSON.parse(text)));
    }),
    seeded(1_000),
  );
});

test('any bytes end, with a token for each byte that is not white space', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
    fc
      .string({ unit: fc.constantFrom(...'{}[],:"\\ \n\u0000\u0001u01e-t'), maxLength: 40 })
      .map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bytes, (any) => {
      const tokens = new JsonTokens(any);
      let before = 0;
      while (tokens.next() !== END) {
        expect(tokens.end).toBeGreaterThan(tokens.start);
        expect(any.toString('latin1', before, tokens.start)).toMatch(/^[ \t\r\n]*$/);
        before = tokens.end;
      }
      expect(tokens.end).toBe(any.length);
    }),
    seeded(2_000),
  );
});
