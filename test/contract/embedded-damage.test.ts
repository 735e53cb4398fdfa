import { type EmbeddedModelHarness, openEmbeddedReadModel } from './embedded.harness.js';
import {
  codes,
  event,
  events,
  found,
  idAt,
  ids,
  none,
  ORG,
  place,
  promote,
  START,
  scan,
  store,
  strays,
} from './read-model.harness.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

let harness: EmbeddedModelHarness;
beforeEach(async () => {
  harness = await openEmbeddedReadModel();
});
afterEach(() => harness.destroy());

describe('a damaged document', () => {
  const damages: readonly [string, string][] = [
    ['its text', `source = '{"n":99}'`],
    ['its text, by taking that of the log', 'source = NULL'],
    ['a field, by a text that is not stored', 'f_podId = 999999'],
    ['a field', `f_podId = number('other')`],
    ['the value that it counts as', `f_contextName = number('other')`],
    ['its hash', `hash = 'x'`],
    ['its checksum', 'crc = crc + 1'],
    ['its time, by a number that JavaScript does not have', 'time = 9223372036854775807'],
    ['whether it was deleted', 'deleted = 1'],
  ];
  for (const [what, change] of damages) {
    test(`in ${what} is misplaced to a scan, and is mended by writing it anew`, async () => {
      const write = event(2, { hash: 'h', fields: { podId: 'p' } });
      await store(harness.model, [...events(0, 2), write, event(3)]);
      await harness.tamper(`UPDATE auditevent SET ${change} WHERE id = stored('${write.id}')`);
      const stored = await scan(harness.model);
      await harness.model.overwrite(write);

      expect(stored.map(({ id, misplaced }) => [id, misplaced])).toEqual(numbers(4).map((n) => [idAt(n), n === 2]));
      expect(stored[2]).toMatchObject({ org: ORG, place: { topic: 'audit', partition: 0, offset: 2, ordinal: 0 } });
      expect((await scan(harness.model)).some(({ misplaced }) => misplaced)).toBe(false);
      expect(await found(harness.model)).toEqual([0, 1, 2, 3]);
      expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 4]]));
    });

    test(`in ${what} can be removed`, async () => {
      await store(harness.model, events(0, 4));
      await harness.tamper(`UPDATE auditevent SET ${change} WHERE id = stored('${idAt(2)}')`);
      const [, , damaged] = await scan(harness.model);
      if (damaged) await harness.model.remove('auditevent', damaged);

      expect(await found(harness.model)).toEqual([0, 1, 3]);
      expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 3]]));
    });
  }

  test('is removed by writing it anew when it has expired', async () => {
    await store(harness.model, events(0, 4));
    harness.retention.setLimit(ORG, 'shop', START + 3);
    await harness.tamper(`UPDATE auditevent SET f_contextName = number('other') WHERE id = stored('${idAt(2)}')`);
    await harness.model.overwrite(event(2));

    expect(await found(harness.model)).toEqual([3]);
    expect(ids(await scan(harness.model))).toEqual([0, 1, 3].map((n) => idAt(n)));
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  test('that has expired is replaced by a new one, and is counted correctly', async () => {
    await store(harness.model, events(0, 4));
    harness.retention.setLimit(ORG, 'shop', START + 2);
    await harness.tamper(`UPDATE auditevent SET crc = crc + 1 WHERE id = stored('${idAt(1)}')`);

    expect(codes(await harness.model.apply('audit', [event(8), event(9, { id: idAt(1) }), event(10)], none))).toEqual(
      Array(3).fill('applied'),
    );
    expect(await found(harness.model)).toEqual([2, 3, 8, 9, 10]);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 5]]));
  });

  test('with a position beyond the log is a stray', async () => {
    await store(harness.model, [...events(0, 3), event(3, { place: place(-4) }), event(4, { org: 'other' })]);

    expect(ids(await strays(harness.model, 'auditevent', { audit: { 0: 4 } })).sort()).toEqual([idAt(3), idAt(4)]);
  });

  test('that is gone does not affect the document that took its location', async () => {
    await store(harness.model, events(0, 3));
    const [, , last] = await scan(harness.model);
    if (!last) throw new Error('nothing is stored');
    await harness.model.remove('auditevent', last);
    await store(harness.model, [event(7)]);
    const reused = (await scan(harness.model)).find(({ location }) => location === last.location);
    await harness.model.remove('auditevent', last);

    expect(reused?.id).toBe(idAt(7));
    expect(await found(harness.model)).toEqual([0, 1, 7]);
  });
});

test('a read of a damaged document fails, and names the repair', async () => {
  await store(harness.model, events(0, 4));
  await harness.tamper(`UPDATE auditevent SET source = '{"n":99}' WHERE id = stored('${idAt(2)}')`);

  await expect(harness.model.get('auditevent', ORG, idAt(2))).rejects.toThrow('svc reconcile --repair');
});

test('a read of counts that damage removed, with their sum, fails', async () => {
  await store(harness.model, events(0, 4));
  await harness.tamper(`DELETE FROM tally WHERE org = '${ORG}'`);

  await expect(harness.model.count('auditevent', ORG)).rejects.toThrow('svc rebuild');
});

test('a read of damaged counts fails, and they are right in the next generation', async () => {
  await store(harness.model, events(0, 4));
  await harness.tamper('UPDATE tally SET count = count + 1');
  await expect(harness.model.count('auditevent', ORG)).rejects.toThrow('svc rebuild');

  const next = await harness.model.begin();
  await store(next, events(0, 4));
  await promote(next);

  expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 4]]));
});
