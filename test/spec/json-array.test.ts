import { arrayItems } from '../../src/http/json/array.js';
import fc from '../support/fast-check.js';
import { finish } from '../support/steps.js';

function itemsOf(text: string): { items: string[] | undefined; steps: number } {
  const { result, steps } = finish(arrayItems(Buffer.from(text)));
  return { items: result?.map(String), steps };
}

/** Escapes and brackets in texts, again and again, so that steps end within them and behind a backslash. */
const value = fc
  .record({ unit: fc.constantFrom('\\', '"', '[{', '",', 'x', '\\"]'), count: fc.nat(120_000), depth: fc.nat(3) })
  .map(({ unit, count, depth }) => {
    let nested: unknown = unit.repeat(count);
    for (let level = 0; level < depth; level += 1) nested = level % 2 === 0 ? [nested, 1] : { [unit]: nested };
    return nested;
  });

test('the items of an array are found whole, wherever a step ends', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 12 }), (values) => {
      const texts = values.map((one) => JSON.stringify(one));
      const { items, steps } = itemsOf(`[${texts.join(',')}]`);
      expect(items?.length === texts.length && items.every((item, at) => item === texts[at])).toBe(true);
      // No step is longer than 256 KiB and the string that it is in.
      const longest = Math.max(0, ...texts.map((text) => text.length));
      expect(steps).toBeGreaterThanOrEqual(Math.floor(texts.join().length / (257 * 1024 + longest)));
    }),
    { numRuns: 50 },
  );
});

test.each(['["x', '["\\', '[1]]', '[1', '[[1]', '["\\"]'])('%s is refused', (text) => {
  expect(() => itemsOf(text)).toThrow(/is not valid JSON/);
});
