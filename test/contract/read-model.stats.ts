import type { ReadModel } from '../../src/read-model/read-model.js';
import type { Filter } from '../../src/read-model/search.js';
import type { Stats, StatsQuery } from '../../src/read-model/stats.js';
import fc from '../support/fast-check.js';
import { allItems, event, events, type ModelCases, OLDEST_FIRST, ORG, START, store } from './read-model.harness.js';

const count = (model: ReadModel, query: Partial<StatsQuery> = {}): Promise<Stats> =>
  model.stats('auditevent', { org: ORG, filters: [], by: 'actionType', top: 10, bounds: [], ...query });

const acts = (...types: (string | undefined)[]) => types.map((actionType, n) => event(n, { fields: { actionType } }));

export function statsCases({ it }: ModelCases): void {
  it('counts by the values of a field, the most frequent first, equals by code point', async ({ model }) => {
    await store(model, acts('view', 'edit', 'edit', 'view', 'add', '\u{1f600}', '\u{ff5e}', undefined));

    expect(await count(model)).toEqual({
      count: 8,
      without: 1,
      values: [
        { value: 'edit', count: 2 },
        { value: 'view', count: 2 },
        { value: 'add', count: 1 },
        { value: '\u{ff5e}', count: 1 },
        { value: '\u{1f600}', count: 1 },
      ],
      error: 0,
      otherValues: 0,
      buckets: [],
    });
  });

  it('returns so many values, and how many others there are', async ({ model }) => {
    await store(model, acts(...Array.from({ length: 300 }, (_, n) => `v${Math.floor(Math.sqrt(n))}`)));

    const { values, otherValues, error } = await count(model, { top: 2 });
    expect(values).toEqual([
      { value: 'v16', count: 33 },
      { value: 'v15', count: 31 },
    ]);
    expect({ otherValues, error }).toEqual({ otherValues: 16, error: 0 });
    const tied = acts(...Array.from({ length: 100 }, (_, n) => `t${n}`)).map((write, n) => ({
      ...event(1_000 + n, { org: 'tied', fields: write.fields }),
    }));
    await store(model, tied);
    expect((await count(model, { org: 'tied', top: 3 })).values.map(({ value }) => value)).toEqual(['t0', 't1', 't10']);
  });

  it('counts between bounds, from inclusive, to exclusive, beside all that matches', async ({ model }) => {
    await store(model, events(0, 10));

    const { count: all, buckets } = await count(model, { bounds: [2, 5, 5, 9].map((n) => START + n) });
    expect({ all, buckets }).toEqual({ all: 10, buckets: [3, 0, 4] });
    const far = await count(model, { bounds: [-62_135_596_800_000, START, 253_402_300_800_000] });
    expect(far.buckets).toEqual([0, 10]);
  });

  it('counts nothing of another organization, of what is filtered out, or of what expired', async ({
    model,
    retention,
  }) => {
    await store(model, [
      event(0, { fields: { actionType: 'edit', contextName: 'billing' } }),
      event(1, { fields: { actionType: 'view' } }),
      event(2, { fields: { actionType: 'view' } }),
      event(3, { org: 'other', fields: { actionType: 'secret' } }),
    ]);
    const within: Filter = { field: 'contextName', op: 'in', values: ['billing', 'none'] };
    const bounds = [START, START + 100];

    expect(await count(model, { filters: [within], bounds })).toMatchObject({
      count: 1,
      values: [{ value: 'edit', count: 1 }],
      buckets: [1],
    });
    expect(await count(model, { filters: [{ ...within, values: [] }], bounds })).toMatchObject({
      count: 0,
      without: 0,
      values: [],
      otherValues: 0,
      buckets: [0],
    });
    retention.setLimit(ORG, 'shop', START + 2);
    expect(await count(model, { bounds })).toMatchObject({ count: 2, otherValues: 0, buckets: [2] });
    expect(await count(model, { org: 'nobody', bounds })).toMatchObject({ count: 0, values: [], buckets: [0] });
  });

  it('counts what has an identifier with an ending', async ({ model }) => {
    const ids = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8058'] as const;
    await store(
      model,
      ids.map((id, n) => event(n, { id, fields: { actionType: `act ${n}` } })),
    );
    const filters: Filter[] = [{ field: 'id', op: 'ends', value: '099a8057' }];
    expect(await count(model, { filters })).toMatchObject({ count: 1, values: [{ value: 'act 0', count: 1 }] });
    await expect(count(model, { filters: [{ field: 'id', op: 'ends', value: '*7' }] })).rejects.toThrow('hexadecimal');
  });

  it('counts, for any events and filters, what a list of them has', async ({ model }) => {
    const word = fc.constantFrom('', 'a', 'A', 'b', '\u{ff5e}');
    const some = fc.record({ resourceName: word, actionType: word }, { requiredKeys: [] });
    let [n, run] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(some, { maxLength: 20 }), word, async (all, value) => {
        run += 1;
        const org = `run${run}`;
        await store(
          model,
          all.map((fields) => event(n++, { org, fields })),
        );
        const filters: Filter[] = [{ field: 'resourceName', op: '=', value }];
        const stats = await count(model, { org, filters });
        const found = await allItems(model, { org, filters, order: OLDEST_FIRST });
        const named = found.flatMap(({ fields }) => (typeof fields.actionType === 'string' ? [fields.actionType] : []));
        expect(new Map(stats.values.map((one) => [one.value, one.count]))).toEqual(
          new Map([...Map.groupBy(named, (one) => one)].map(([one, same]) => [one, same.length])),
        );
        expect([stats.count, stats.without]).toEqual([found.length, found.length - named.length]);
      }),
      { numRuns: 10 },
    );
  });

  for (const by of ['requestId', 'eventTime', 'source', 'constructor', "actionType' OR '1'='1"]) {
    it(`does not count by ${by}`, async ({ model }) => {
      await expect(count(model, { by })).rejects.toThrow();
    });
  }
}
