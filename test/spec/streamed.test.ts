import { pieces } from '../../src/http/server/streamed.js';
import fc from '../support/fast-check.js';

const MOST = 64 * 1024;

/** Texts of many lengths about that of a piece, some of characters that take two units of UTF-16. */
const text = fc
  .record({ unit: fc.constantFrom('x', '😀', 'x😀'), length: fc.oneof(fc.nat(50), fc.nat(3 * MOST)) })
  .map(({ unit, length }) => unit.repeat(length));

test('pieces of texts are the whole, none longer than 64 Ki, and no character is cut in two', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 12 }), (texts) => {
      const cut = [...pieces(texts)];
      expect(cut.join('') === texts.join('')).toBe(true);
      expect(cut.filter((piece) => piece.length > MOST || piece === '' || !piece.isWellFormed())).toEqual([]);
    }),
  );
});

test('short texts are joined into few pieces', () => {
  expect([...pieces(Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)))].length).toBeLessThan(20);
});
