import type { Offsets, Topic } from '../../src/event-log/event-log.js';
import type { StrayPage, StrayRange } from '../../src/read-model/read-model.js';
import {
  controlPlace,
  event,
  idAt,
  ids,
  type ModelCases,
  none,
  ORG,
  place,
  put,
  remove,
  START,
  scan,
  store,
  strays,
  sweep,
} from './read-model.harness.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

export function scanCases({ it }: ModelCases): void {
  it('returns a stored document whole', async ({ model }) => {
    const write = event(3, { hash: 'h', fields: { resourceName: 'cart', podId: '' }, source: '{"n":3,"e":1.10e+400}' });
    await store(model, [write, event(4)]);

    const [first, second] = await scan(model);

    const { op: _, kind: __, ...stored } = write;
    expect(first).toEqual({ ...stored, deleted: false, misplaced: false, location: expect.any(String) });
    expect(second).not.toHaveProperty('hash');
    expect(first?.location).not.toBe(second?.location);
  });

  it('returns the documents of all organizations in the order of the log', async ({ model }) => {
    const orgs = ['zebra', ORG, '', 'other'];
    const writes = numbers(24).map((n) =>
      event(n, { org: orgs[n % 4] ?? '', place: place(Math.floor(n / 2), { ordinal: n % 2 }) }),
    );
    await store(model, writes.toReversed());

    expect(ids(await scan(model))).toEqual(ids(writes));
  });

  it('takes the range from its first offset to before its last', async ({ model }) => {
    await store(
      model,
      [0, 1, 2, 2, 3, 4].map((offset, ordinal) => event(ordinal, { place: place(offset, { ordinal }) })),
    );
    const range = async (from: number, to: number) => ids(await scan(model, { from, to }));

    expect(await range(1, 3)).toEqual([1, 2, 3].map((n) => idAt(n)));
    expect(await range(4, 100)).toEqual([idAt(5)]);
    expect(await range(2, 2)).toEqual([]);
    expect(await range(5, 9)).toEqual([]);
    expect(await range(0, 1)).toEqual([idAt(0)]);
  });

  it('takes one partition of one topic, and one kind', async ({ model }) => {
    await store(model, [
      event(0),
      event(1, { place: place(0, { partition: 1 }) }),
      event(2, { place: place(0, { partition: 10 }) }),
      event(3, { place: controlPlace(0) }),
    ]);
    await model.apply('control', [put('robot', 0), put('acme', 1, { kind: 'org' })], none);
    await model.refresh();

    expect(ids(await scan(model))).toEqual([idAt(0)]);
    expect(ids(await scan(model, { partition: 1 }))).toEqual([idAt(1)]);
    expect(ids(await scan(model, { partition: 2 }))).toEqual([]);
    expect(ids(await scan(model, { topic: 'control' }))).toEqual([idAt(3)]);
    expect(ids(await scan(model, { topic: 'control' }, 'serviceaccount'))).toEqual(['robot']);
    expect(ids(await scan(model, { topic: 'control' }, 'org'))).toEqual(['acme']);
  });

  it('gives pages that go on behind a document, full until the end', async ({ model }) => {
    await store(
      model,
      numbers(23).map((n) => event(n, { org: `org${n % 5}`, place: place(Math.floor(n / 3), { ordinal: n % 3 }) })),
    );
    for (const limit of [1, 4, 22, 23, 24]) {
      expect(ids(await scan(model, { limit }))).toEqual(numbers(23).map((n) => idAt(n)));
    }
    const range = { topic: 'audit', partition: 0, from: 2, to: 7, limit: 4 } as const;
    const first = await model.scan('auditevent', range);
    const after = first.at(-1);
    const second = await model.scan('auditevent', { ...range, ...(after && { after }) });

    expect([ids(first), ids(second)]).toEqual([[6, 7, 8, 9].map((n) => idAt(n)), [10, 11, 12, 13].map((n) => idAt(n))]);
  });

  it('finds the few documents of a long range', async ({ model }) => {
    const offsets = [0, 1, 999, 1000, 70_000, 4_000_000, 4_000_001];
    await store(
      model,
      offsets.map((offset) => event(offset)),
    );

    expect((await scan(model, { to: 5_000_000, limit: 3 })).map(({ place: at }) => at.offset)).toEqual(offsets);
  });

  it('pages through thousands, a thousand at a time', async ({ model }) => {
    await store(
      model,
      numbers(2300).map((n) => event(n, { org: `org${n % 3}` })),
    );

    expect(ids(await scan(model))).toEqual(numbers(2300).map((n) => idAt(n)));
  });

  it('shows what was deleted, and what has expired until it is swept', async ({ model, retention }) => {
    await store(
      model,
      numbers(4).map((n) => event(n)),
    );
    await model.apply('control', [put('kept', 1), put('gone', 2), remove('gone', 3)], none);
    retention.setLimit(ORG, 'shop', START + 2);
    await model.refresh();
    const accounts = await scan(model, { topic: 'control' }, 'serviceaccount');
    const before = await scan(model);
    await sweep(model);

    expect(accounts.map(({ id, deleted, place: at }) => [id, deleted, at.offset])).toEqual([
      ['kept', false, 1],
      ['gone', true, 3],
    ]);
    expect([ids(before), ids(await scan(model))]).toEqual([
      [0, 1, 2, 3].map((n) => idAt(n)),
      [2, 3].map((n) => idAt(n)),
    ]);
  });

  strayCases({ it });
}

function strayCases({ it }: Pick<ModelCases, 'it'>): void {
  const ends: readonly [string, Partial<Record<Topic, Offsets>>, readonly number[]][] = [
    ['finds none where all is in the log', { audit: { 0: 3, 1: 6 }, control: { 0: 8 } }, []],
    [
      'finds what lies at or beyond the end of its partition',
      { audit: { 0: 2, 1: 4 }, control: { 0: 7 } },
      [2, 4, 5, 7],
    ],
    ['finds all of a partition that the log does not have', { audit: { 0: 9 }, control: { 0: 8 } }, [3, 4, 5]],
    ['finds all of an empty log', { audit: {}, control: {} }, [0, 1, 2, 3, 4, 5, 6, 7]],
    ['leaves alone the topics that are not named', { audit: { 0: 9 } }, [3, 4, 5]],
    ['leaves everything alone where no topic is named', {}, []],
  ];
  for (const [what, given, expected] of ends) {
    it(what, async ({ model }) => {
      await store(model, [
        ...[0, 1, 2].map((n) => event(n, { org: `org${n}` })),
        ...[3, 4, 5].map((n) => event(n, { org: `org${n % 2}`, place: place(n, { partition: 1 }) })),
        ...[6, 7].map((n) => event(n, { place: controlPlace(n) })),
      ]);

      const found = await strays(model, 'auditevent', given);

      expect(ids(found).sort()).toEqual(expected.map((n) => idAt(n)));
    });
  }

  it('finds no more strays than asked for, of the kind alone, deleted and expired ones too', async (harness) => {
    const { model, retention } = harness;
    await store(
      model,
      numbers(10).map((n) => event(n)),
    );
    await model.apply('control', [put('kept', 1), put('gone', 5), remove('gone', 6)], none);
    retention.setLimit(ORG, 'shop', START + 100);
    await model.refresh();

    expect((await model.strays('auditevent', { audit: { 0: 4 } }, { limit: 3 })).documents).toHaveLength(3);
    expect(await strays(model, 'auditevent', { audit: { 0: 4 } })).toHaveLength(6);
    expect(ids(await strays(model, 'serviceaccount', { control: { 0: 2 } }))).toEqual(['gone']);
    expect(await model.strays('org', { control: {} }, { limit: 10 })).toEqual({ documents: [] });
  });

  for (const limit of [1, 2, 7])
    it(`finds each stray once, ${limit} a page, though those before are removed`, async ({ model }) => {
      // The same offset in several partitions, organizations and ordinals; one before the log begins.
      const places = [-2, 3, 3, 4, 9].flatMap((offset, ordinal) =>
        [0, 1].map((partition) => place(offset, { partition, ordinal })),
      );
      const events = ['zebra', ORG, 'été'].flatMap((org, which) =>
        places.map((at, n) => event(which * 10 + n, { org, place: at })),
      );
      await store(model, [...events, event(90, { place: place(0) }), event(91, { place: place(2) })]);
      const ends = { audit: { 0: 3, 1: 3 } };

      const found: string[] = [];
      for (let range: StrayRange | undefined = { limit }; range; ) {
        const { documents, next }: StrayPage = await model.strays('auditevent', ends, range);
        found.push(...ids(documents));
        await model.refresh();
        for (const document of documents) await model.remove('auditevent', document);
        range = next === undefined ? undefined : { limit, after: next };
      }

      expect(found.toSorted()).toEqual(ids(events).toSorted());
    });

  it('finds strays until they are removed', async ({ model }) => {
    await store(
      model,
      numbers(10).map((n) => event(n, { fields: { contextName: n < 7 ? 'shop' : 'late' } })),
    );
    const ends = { audit: { 0: 7 } };
    for (let round = 0; round < 2; round += 1) {
      const { documents } = await model.strays('auditevent', ends, { limit: 2 });
      for (const stray of documents) await model.remove('auditevent', stray);
      await model.refresh();
    }

    expect(await strays(model, 'auditevent', ends)).toEqual([]);
    expect(ids(await scan(model))).toEqual(numbers(7).map((n) => idAt(n)));
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 7]]));
  });
}
