import type { Document } from '../../src/read-model/document.js';
import fc from '../support/fast-check.js';
import {
  allItems,
  controlPlace,
  event,
  idAt,
  ids,
  type ModelCases,
  ORG,
  place,
  START,
  search,
  store,
  throughJson,
} from './read-model.harness.js';

const received = { order: 'received' } as const;
const everything = { org: ORG, filters: [], limit: 1000 } as const;

export function lastCases({ it }: ModelCases): void {
  it('returns the end of the order received, earliest first', async ({ model }) => {
    await store(model, [
      event(1, { place: place(10, { partition: 0, time: START + 1 }), fields: { eventTime: 9 } }),
      event(4, { place: place(11, { partition: 0, time: START + 4 }), fields: { eventTime: 8 } }),
      event(2, { place: place(7, { partition: 1, time: START + 2 }), fields: { eventTime: 7 } }),
      event(3, { place: controlPlace(0, { time: START + 3 }), fields: { eventTime: 6 } }),
    ]);

    const ends = await Promise.all(
      [0, 1, 3, 4, 1000].map((limit) => model.last('auditevent', { ...everything, limit })),
    );

    expect(ends.map(({ items }) => ids(items))).toEqual(
      [[], [4], [2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]].map((all) => all.map((n) => idAt(n))),
    );
  });

  it('is the end of what the pages show, for any number of documents at equal times', async ({ model }) => {
    await store(
      model,
      Array.from({ length: 40 }, (_, n) =>
        event(n, { place: place(Math.floor(n / 4), { partition: n % 4, time: START + Math.floor(n / 8) }) }),
      ),
    );
    const all = ids(await allItems(model, { ...received, limit: 7 }));

    for (let limit = 1; limit <= 41; limit += 1) {
      const { items } = await model.last('auditevent', { ...everything, limit });
      expect(ids(items)).toEqual(all.slice(-limit));
    }
  });

  it('continues behind everything, with later records however old they are', async ({ model }) => {
    await store(model, [event(0), event(1, { place: controlPlace(3, { time: START + 100 }) })]);
    const { cursor } = await model.last('auditevent', { ...everything, limit: 0 });
    const then = await search(model, { ...received, cursor: throughJson(cursor) });
    await store(model, [event(2, { fields: { eventTime: 0 }, place: place(2, { time: START }) })]);
    const later = await search(model, { ...received, cursor: throughJson(cursor) });

    expect([ids(then.items), ids(later.items)]).toEqual([[], [idAt(2)]]);
  });

  it('splits the documents of one record where they were split in time', async ({ model }) => {
    const ofOneRecord = (ordinal: number) => event(ordinal, { place: place(9, { ordinal }) });
    await store(model, [ofOneRecord(0), ofOneRecord(1)]);
    const { items, cursor } = await model.last('auditevent', { ...everything, limit: 1 });
    await store(model, [ofOneRecord(2)]);

    expect(ids(items)).toEqual([idAt(1)]);
    expect(ids((await search(model, { ...received, cursor })).items)).toEqual([idAt(2)]);
  });

  it('returns nothing for an empty model, and a cursor to the first record', async ({ model }) => {
    const { items, cursor } = await model.last('auditevent', everything);
    await store(model, [event(0), event(1, { place: place(0, { partition: 2 }) })]);

    expect(items).toEqual([]);
    expect(ids(await allItems(model, { ...received, cursor }))).toHaveLength(2);
  });

  it('filters its result, and continues behind documents that do not match', async ({ model }) => {
    const filters = [{ field: 'podId', op: '=', value: 'p1' }] as const;
    const pod = (n: number) => event(n, { fields: { podId: `p${n % 3}` } });
    await store(model, [0, 1, 2, 3, 4, 5, 6].map(pod));
    const { items, cursor } = await model.last('auditevent', { ...everything, filters, limit: 1 });
    await store(model, [7, 8].map(pod));

    expect(ids(items)).toEqual([idAt(4)]);
    expect(ids((await search(model, { ...received, filters, cursor })).items)).toEqual([idAt(7)]);
  });

  it("shows no other organization's documents", async ({ model }) => {
    await store(model, [event(0), event(1, { org: 'other' })]);
    const { items, cursor } = await model.last('auditevent', everything);
    await store(model, [event(2, { org: 'other' }), event(3)]);

    expect(ids(items)).toEqual([idAt(0)]);
    expect(ids((await search(model, { ...received, cursor })).items)).toEqual([idAt(3)]);
  });

  it('refuses what `search` refuses', async ({ model }) => {
    const unknown = [{ field: 'nope', op: '=', value: 'x' }] as const;

    await expect(model.last('serviceaccount', everything)).rejects.toThrow();
    await expect(model.last('auditevent', { ...everything, filters: unknown })).rejects.toThrow();
    await expect(model.last('auditevent', { ...everything, limit: 1001 })).rejects.toThrow();
    await expect(model.last('auditevent', { ...everything, limit: -1 })).rejects.toThrow();
  });

  it('leaves no gap between its result and the next page', async ({ model }) => {
    let run = 0;
    const step = fc.record({ partition: fc.nat(2), records: fc.integer({ min: 1, max: 4 }), lag: fc.nat(50) });
    const steps = fc.array(step, { maxLength: 8 });
    const next = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(steps, steps, async (before, after) => {
        run += 1;
        const org = `org${run}`;
        let count = 0;
        const write = async (all: typeof before) => {
          for (const { partition, records, lag } of all) {
            const time = START + (next[partition] ?? 0) * 10 - lag;
            const offset = (next[partition] ?? 0) + 1;
            next[partition] = offset;
            const writes = Array.from({ length: records }, (_, ordinal) => {
              count += 1;
              return event(count, { org, id: idAt(run, count), place: place(offset, { partition, ordinal, time }) });
            });
            await store(model, writes);
          }
          return count;
        };
        const early = await write(before);
        const { items, cursor } = await model.last('auditevent', { ...everything, org });
        const all = await write(after);
        const later = await allItems(model, { ...received, org, cursor: throughJson(cursor), limit: 3 });
        const numbers = (list: readonly Document[]) => ids(list).sort();
        const expected = (from: number, to: number) =>
          Array.from({ length: to - from }, (_, n) => idAt(run, from + n + 1)).sort();
        expect([numbers(items), numbers(later)]).toEqual([expected(0, early), expected(early, all)]);
      }),
      { numRuns: 40 },
    );
  });
}
