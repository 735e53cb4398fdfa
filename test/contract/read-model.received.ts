import type { Topic } from '../../src/event-log/event-log.js';
import type { Document, Write } from '../../src/read-model/document.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import type { Cursor, SearchQuery } from '../../src/read-model/search.js';
import fc from '../support/fast-check.js';
import {
  allItems,
  controlPlace,
  event,
  idAt,
  ids,
  type ModelCases,
  none,
  ORG,
  pages,
  place,
  rebuild,
  START,
  search,
  store,
  throughJson,
} from './read-model.harness.js';

const received = { order: 'received' } as const satisfies Partial<SearchQuery>;

export function receivedCases({ it }: ModelCases): void {
  it('orders by position in the log, not by event time', async ({ model }) => {
    await store(
      model,
      [5, 1, 3].map((eventTime, n) => event(n, { fields: { eventTime } })),
    );

    expect(ids((await search(model, received)).items)).toEqual([idAt(0), idAt(1), idAt(2)]);
  });

  it('orders by position in the log, not by arrival in the model', async ({ model }) => {
    await store(model, [event(2), event(0), event(1)]);

    expect(ids((await search(model, received)).items)).toEqual([idAt(0), idAt(1), idAt(2)]);
  });

  it('merges partitions and topics by the time of their records', async ({ model }) => {
    await store(model, [
      event(1, { place: place(10, { partition: 0, time: START + 1 }) }),
      event(4, { place: place(11, { partition: 0, time: START + 4 }) }),
      event(2, { place: place(7, { partition: 1, time: START + 2 }) }),
      event(5, { place: place(8, { partition: 1, time: START + 5 }) }),
      event(3, { place: controlPlace(0, { time: START + 3 }) }),
    ]);

    expect(ids((await search(model, received)).items)).toEqual([1, 2, 3, 4, 5].map((n) => idAt(n)));
    expect(ids(await allItems(model, { ...received, limit: 1 }))).toEqual([1, 2, 3, 4, 5].map((n) => idAt(n)));
  });

  it("keeps a partition's order though the times of its records go backward", async ({ model }) => {
    await store(
      model,
      [9, 3, 7, 1].map((time, n) => event(n, { place: place(n, { time: START + time }) })),
    );

    expect(ids(await allItems(model, { ...received, limit: 1 }))).toEqual([0, 1, 2, 3].map((n) => idAt(n)));
  });

  it('continues from the last page with later records, however old the event', async ({ model }) => {
    await store(model, [event(0), event(1)]);
    const last = await search(model, received);
    await store(model, [event(2, { fields: { eventTime: 0 } })]);

    const next = await search(model, { ...received, ...(last.cursor && { cursor: last.cursor }) });

    expect(last.more).toBe(false);
    expect(ids(next.items)).toEqual([idAt(2)]);
  });

  it('continues with a record of a slower partition that is older than those shown', async ({ model }) => {
    await store(model, [event(0, { place: place(5, { partition: 0, time: START + 100 }) })]);
    const last = await search(model, received);
    await store(model, [event(1, { place: place(0, { partition: 1, time: START }) })]);

    const next = await search(model, { ...received, ...(last.cursor && { cursor: last.cursor }) });

    expect(ids(next.items)).toEqual([idAt(1)]);
  });

  it('splits the documents of one record over pages', async ({ model }) => {
    await store(
      model,
      [0, 1, 2, 3, 4].map((ordinal) => event(ordinal, { place: place(9, { ordinal }) })),
    );

    const list = await pages(model, { ...received, limit: 2 });

    expect(list.map(({ items }) => ids(items))).toEqual([[idAt(0), idAt(1)], [idAt(2), idAt(3)], [idAt(4)]]);
  });

  it('says exactly whether there is more', async ({ model }) => {
    await store(
      model,
      [0, 1, 2, 3].map((n) => event(n, { place: place(n, { partition: n % 2 }) })),
    );
    const more = async (limit: number) => (await search(model, { ...received, limit })).more;

    expect([await more(3), await more(4), await more(5)]).toEqual([true, false, false]);
  });

  it('returns the given cursor with an empty page, and none without', async ({ model }) => {
    expect(await search(model, received)).toEqual({ items: [], more: false });
    await store(model, [event(0), event(1, { place: controlPlace(3) })]);
    const { cursor } = await search(model, received);

    expect(await search(model, { ...received, ...(cursor && { cursor }) })).toEqual({ items: [], more: false, cursor });
    expect(cursor).toBeDefined();
  });

  it('passes over as many documents as `offset` says', async ({ model }) => {
    await store(
      model,
      [0, 1, 2, 3, 4].map((n) => event(n, { place: place(n, { partition: n % 2 }) })),
    );

    const page = await search(model, { ...received, offset: 2, limit: 2 });

    expect(ids(page.items)).toEqual([idAt(2), idAt(3)]);
    expect(page.more).toBe(true);
    expect(ids(await allItems(model, { ...received, ...(page.cursor && { cursor: page.cursor }) }))).toEqual([idAt(4)]);
  });

  it('keeps filters while it pages, and skips documents that do not match', async ({ model }) => {
    await store(
      model,
      Array.from({ length: 30 }, (_, n) =>
        event(n, { place: place(n, { partition: n % 3 }), fields: { podId: `p${n % 5}` } }),
      ),
    );

    const filters = [{ field: 'podId', op: '=', value: 'p2' }] as const;
    expect(ids(await allItems(model, { ...received, filters, limit: 2 }))).toEqual(
      [2, 7, 12, 17, 22, 27].map((n) => idAt(n)),
    );
  });

  it('finds later documents with filters, past others that do not match', async ({ model }) => {
    const filters = [{ field: 'podId', op: '=', value: 'mine' }] as const;
    const [mine, other] = [{ podId: 'mine' }, { podId: 'other' }];
    let cursor: Cursor | undefined;
    const shown: Document[] = [];
    for (let n = 0; n < 12; n += 3) {
      await store(model, [
        event(n, { fields: other, place: place(n, { partition: 0 }) }),
        event(n + 1, { fields: mine, place: place(n, { partition: 1 }) }),
        event(n + 2, { fields: other, place: place(n + 1, { partition: 1 }) }),
      ]);
      const page = await search(model, { ...received, filters, ...(cursor && { cursor }) });
      shown.push(...page.items);
      cursor = throughJson(page.cursor);
    }

    expect(ids(shown)).toEqual([1, 4, 7, 10].map((n) => idAt(n)));
  });

  it('refuses a cursor of another order', async ({ model }) => {
    await store(model, [event(0)]);

    await expect(search(model, { ...received, cursor: { after: [START, idAt(0)] } })).rejects.toThrow();
  });

  it('refuses a kind that is not listed in this order', async ({ model }) => {
    await expect(search(model, received, 'serviceaccount')).rejects.toThrow();
  });

  it('continues with an old cursor after a rebuild', async ({ model }) => {
    const writes = Array.from({ length: 20 }, (_, n) => event(n, { place: place(n, { partition: n % 3 }) }));
    await store(model, writes);
    const first = await search(model, { ...received, limit: 8 });
    await rebuild(model, (next) => store(next, writes));

    const rest = await allItems(model, { ...received, ...(first.cursor && { cursor: throughJson(first.cursor) }) });

    expect([...ids(first.items), ...ids(rest)]).toEqual(ids(writes));
  });

  it('reaches 3,000 documents deep by cursor, each once', async ({ model }) => {
    await store(
      model,
      Array.from({ length: 3000 }, (_, n) => event(n, { place: place(n, { partition: n % 3 }) })),
    );

    expect(ids(await allItems(model, { ...received, limit: 211 }))).toEqual(
      Array.from({ length: 3000 }, (_, n) => idAt(n)),
    );
  });

  it('shows a reader every document exactly once, in order within a partition, while others write', async ({
    model,
  }) => {
    let run = 0;
    const logs = LOGS.map((log) => ({ ...log, next: 0 }));
    const write = fc.record({
      log: fc.nat(logs.length - 1),
      records: fc.integer({ min: 1, max: 4 }),
      gap: fc.nat(2),
      lag: fc.nat(50),
    });
    const read = fc.record({ limit: fc.integer({ min: 1, max: 6 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(write, read), { minLength: 1, maxLength: 25 }), async (steps) => {
        run += 1;
        const org = `org${run}`;
        const reader = readerOf(model, org);
        const written: Write[] = [];
        for (const step of steps) {
          if ('limit' in step) {
            await reader.read(step.limit);
            continue;
          }
          const log = logs[step.log] ?? { topic: 'audit' as const, partition: 0, next: 0 };
          // A slower partition is behind by its lag: its records appear later with older times.
          const writes = Array.from({ length: step.records }, (_, ordinal) => {
            const time = START + log.next * 10 - step.lag;
            const at = { topic: log.topic, partition: log.partition, offset: log.next, ordinal, time };
            return event(written.length + ordinal, { org, id: idAt(run, written.length + ordinal), place: at });
          });
          log.next += 1 + step.gap;
          written.push(...writes);
          await model.apply(log.topic, writes, { [log.partition]: log.next });
          await model.refresh();
        }
        await reader.readAll();
        expect(ids(reader.shown).sort()).toEqual(ids(written).sort());
        for (const log of logs) {
          const of = (list: readonly (Document | Write)[]) =>
            list.flatMap(({ id, place: at }) => (at.topic === log.topic && at.partition === log.partition ? [id] : []));
          expect(of(reader.shown)).toEqual(of(written));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('misses nothing while writes and reads run at the same time', async ({ model }) => {
    const reader = readerOf(model, ORG);
    let writing = true;
    const writers = [0, 1, 2].map(async (partition) => {
      for (let n = 0; n < 40; n += 1) {
        await model.apply('audit', [event(n, { id: idAt(n, partition), place: place(n, { partition }) })], {
          [partition]: n + 1,
        });
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const reading = (async () => {
      while (writing) {
        await model.refresh();
        await reader.read(5);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await Promise.all(writers);
    writing = false;
    await reading;
    await model.refresh();
    await reader.readAll();

    expect(reader.shown).toHaveLength(120);
    for (const documents of Map.groupBy(reader.shown, (document) => document.place.partition).values()) {
      expect(documents.map(({ place: at }) => at.offset)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    }
  });

  it('shows a repeated document once', async ({ model }) => {
    await store(model, [event(0, { hash: 'h' })]);
    const { cursor } = await search(model, received);
    await model.apply('audit', [event(0, { hash: 'h' }), event(5, { id: idAt(0), hash: 'h' })], none);
    await model.refresh();

    expect((await search(model, { ...received, ...(cursor && { cursor }) })).items).toEqual([]);
  });
}

const LOGS: readonly { readonly topic: Topic; readonly partition: number }[] = [
  { topic: 'audit', partition: 0 },
  { topic: 'audit', partition: 1 },
  { topic: 'audit', partition: 2 },
  { topic: 'control', partition: 0 },
];

/** Follows the order received with its cursor, as `tail` does. */
function readerOf(model: ReadModel, org: string) {
  const shown: Document[] = [];
  let cursor: Cursor | undefined;
  const read = async (limit: number): Promise<boolean> => {
    const page = await search(model, { ...received, org, limit, ...(cursor && { cursor }) });
    shown.push(...page.items);
    cursor = throughJson(page.cursor);
    return page.more;
  };
  return {
    shown,
    read,
    readAll: async () => {
      while (await read(10));
    },
  };
}
