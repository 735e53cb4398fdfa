import { Frequencies } from '../../src/read-model/embedded/stats.js';
import { isCounted } from '../../src/read-model/stats.js';
import { AuditFilterDto, COUNTED_BY } from '../../src/shapes/audit-list.js';
import { compileShape } from '../../src/shapes/compiled.js';
import fc from '../support/fast-check.js';

test('is exact for as many different numbers as it holds', () => {
  const frequencies = new Frequencies(3);
  for (const number of [7, 8, 7, 9, 7, 8]) frequencies.add(number);

  expect(frequencies.mostFrequent(2)).toEqual([
    [7, 3],
    [8, 2],
  ]);
  expect([frequencies.size, frequencies.error]).toEqual([3, 0]);
});

test('never counts too much, nor too little by more than it says, whatever comes', () => {
  const numbers = fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 200 })), {
    maxLength: 500,
  });
  fc.assert(
    fc.property(numbers, fc.integer({ min: 1, max: 20 }), (all, most) => {
      const frequencies = new Frequencies(most);
      for (const number of all) frequencies.add(number);
      const found = new Map(frequencies.mostFrequent(all.length + 1));
      for (const [number, same] of Map.groupBy(all, (one) => one)) {
        const counted = found.get(number) ?? 0;
        expect(counted).toBeLessThanOrEqual(same.length);
        expect(counted + frequencies.error).toBeGreaterThanOrEqual(same.length);
      }
      expect(frequencies.error).toBeLessThanOrEqual(all.length / (most + 1));
      expect(frequencies.size).toBeLessThanOrEqual(most);
    }),
  );
});

test('events are counted by all that lists filter by, but for the identifiers of requests', () => {
  const isFilter = (name: string) => compileShape(AuditFilterDto)({ [name]: 'x' }).length === 0;
  expect(COUNTED_BY.filter((name) => !isFilter(name) || !isCounted('auditevent', name))).toEqual([]);
  expect(isCounted('auditevent', 'requestId')).toBe(false);
});
