import type { ReadModel } from '../../src/read-model/read-model.js';
import type { Filter } from '../../src/read-model/search.js';
import {
  allItems,
  BY_NAME,
  controlPlace,
  event,
  found,
  idAt,
  ids,
  type ModelCases,
  NEWEST_FIRST,
  none,
  OLDEST_FIRST,
  ORG,
  pages,
  place,
  put,
  START,
  search,
  store,
  throughJson,
} from './read-model.harness.js';

const received = { order: 'received' } as const;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
/** Event `n` of a context, which the log took at `START + n`. */
const of = (contextName: string | undefined, n: number) => event(n, { fields: { contextName } });
const context = (op: '=' | '>=' | '<', value: string): Filter => ({ field: 'contextName', op, value });

export function retentionCases(given: ModelCases): void {
  hidingCases(given);
  filterCases(given);
  pagingCases(given);
}

function hidingCases({ it }: ModelCases): void {
  it('hides from every read exactly the records taken before the limit', async ({ model, retention }) => {
    await store(
      model,
      numbers(8).map((n) => of(n % 2 ? 'shop' : 'billing', n)),
    );
    retention.setLimit(ORG, 'shop', START + 4);

    expect(await shown(model)).toEqual(
      shownOf(
        [0, 2, 4, 5, 6, 7],
        [
          ['billing', 4],
          ['shop', 2],
        ],
      ),
    );
  });

  it('keeps a record taken at the instant of the limit', async ({ model, retention }) => {
    await store(
      model,
      numbers(3).map((n) => of('shop', n)),
    );
    retention.setLimit(ORG, 'shop', START + 1);

    expect(await shown(model)).toEqual(shownOf([1, 2], [['shop', 2]]));
    expect(await found(model, context('=', 'shop'))).toEqual([1, 2]);
  });

  it('follows a limit that moves, without a write or a refresh', async ({ model, retention }) => {
    await store(
      model,
      numbers(6).map((n) => of('shop', n)),
    );
    const left: number[][] = [];
    for (const limit of [0, 1, 3, 5, 6]) {
      retention.setLimit(ORG, 'shop', START + limit);
      const kept = numbers(6).slice(limit);
      expect(await shown(model)).toEqual(shownOf(kept, kept.length > 0 ? [['shop', kept.length]] : []));
      left.push(kept);
    }

    expect(left.at(-1)).toEqual([]);
  });

  it("goes by the log's time, not by the event's", async ({ model, retention }) => {
    await store(model, [
      event(0, { fields: { eventTime: START + 1000 } }),
      event(1, { fields: { eventTime: 0 }, place: place(1, { time: START + 1000 }) }),
    ]);
    retention.setLimit(ORG, 'shop', START + 500);

    expect(await found(model)).toEqual([1]);
  });

  it('hides in each partition and topic', async ({ model, retention }) => {
    await store(model, [
      ...numbers(6).map((n) => event(n, { place: place(n, { partition: n % 3 }) })),
      event(6, { place: controlPlace(0, { time: START }) }),
      event(7, { place: controlPlace(1, { time: START + 9 }) }),
    ]);
    retention.setLimit(ORG, 'shop', START + 4);

    expect(await found(model)).toEqual([4, 5, 7]);
    expect(ids((await search(model, received)).items)).toEqual([idAt(4), idAt(5), idAt(7)]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 3]]));
  });

  it("touches neither another organization's documents nor another kind's", async ({ model, retention }) => {
    await store(model, [of('shop', 0), event(1, { org: 'other' })]);
    await model.apply('control', [put('shop', 0)], none);
    await model.refresh();
    retention.setLimit(ORG, 'shop', START + 100);

    expect(await shown(model, 'other')).toEqual(shownOf([1], [['shop', 1]]));
    expect(await shown(model)).toEqual(shownOf([], []));
    expect(ids((await search(model, { order: BY_NAME }, 'serviceaccount')).items)).toEqual(['shop']);
    expect(await model.get('serviceaccount', ORG, 'shop')).toBeDefined();
  });

  it('never hides a document without the field', async ({ model, retention }) => {
    await store(model, [of(undefined, 0), of('', 1), of('undefined', 2), of('null', 3)]);
    for (const value of ['', 'undefined', 'null']) retention.setLimit(ORG, value, START + 100);

    expect(await found(model)).toEqual([0]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map());
  });

  it('distinguishes values whatever they look like', async ({ model, retention }) => {
    const values = [
      '$.a',
      '$',
      '[0]',
      '0',
      'a.b',
      `a"b`,
      `a'b`,
      'a\\b',
      '\\u0061',
      '__proto__',
      'constructor',
      '日本',
      '👩‍👩‍👧',
      'Shop',
      'shop ',
    ];
    await store(model, [of('a', 100), of('shop', 101), ...values.map(of)]);
    for (const [n, value] of values.entries()) {
      retention.setLimit(ORG, value, START + 50);
      expect(await found(model)).toEqual([...numbers(values.length).slice(n + 1), 100, 101]);
    }

    expect(await model.count('auditevent', ORG)).toEqual(
      new Map([
        ['a', 1],
        ['shop', 1],
      ]),
    );
  });

  it('applies thousands of limits', async ({ model, retention }) => {
    await store(
      model,
      numbers(40).map((n) => of(`ctx${n % 4}`, n)),
    );
    for (const n of numbers(3000)) retention.setLimit(ORG, `ctx${n + 1}`, START + 20);

    expect(await found(model)).toEqual(numbers(40).filter((n) => n >= 20 || n % 4 === 0));
    expect([...(await model.count('auditevent', ORG)).values()]).toEqual([10, 5, 5, 5]);
  });

  it('applies after a reopen', async (harness) => {
    await store(
      harness.model,
      numbers(4).map((n) => of('shop', n)),
    );
    harness.retention.setLimit(ORG, 'shop', START + 2);
    await shown(harness.model);

    expect(await shown(await harness.reopen())).toEqual(shownOf([2, 3], [['shop', 2]]));
  });
}

function filterCases({ it }: ModelCases): void {
  const filters: readonly [string, readonly Filter[], readonly number[]][] = [
    ['the value', [context('=', 'shop')], [5, 7]],
    ['another value', [context('=', 'billing')], [0, 2, 4, 6]],
    ['values from one on', [context('>=', 'shop')], [5, 7]],
    ['values below one', [context('<', 'shop')], [0, 2, 4, 6]],
    ['values of a range', [context('>=', 'a'), context('<', 'z')], [0, 2, 4, 5, 6, 7]],
    ['one of several values', [{ field: 'contextName', op: 'in', values: ['shop', 'x'] }], [5, 7]],
    ['several values', [{ field: 'contextName', op: 'in', values: ['shop', 'billing'] }], [0, 2, 4, 5, 6, 7]],
    ['the same value twice', [context('=', 'shop'), context('=', 'shop')], [5, 7]],
    ['one of several values', [{ field: 'contextName', op: 'in', values: ['shop', 'x'] }], [5, 7]],
    ['several values', [{ field: 'contextName', op: 'in', values: ['shop', 'billing'] }], [0, 2, 4, 5, 6, 7]],
    ['two values', [context('=', 'shop'), context('=', 'billing')], []],
    ['another field', [{ field: 'podId', op: '=', value: 'p' }], [0, 2, 4, 5, 6, 7]],
    ['a list', [{ field: 'resourceName', op: '=', value: 'r' }], [0, 2, 4, 5, 6, 7]],
  ];
  for (const [what, by, expected] of filters) {
    it(`hides what has expired from a search by ${what}`, async ({ model, retention }) => {
      const common = { podId: 'p', resourceName: 'r' };
      await store(
        model,
        numbers(8).map((n) => event(n, { fields: { ...common, contextName: n % 2 ? 'shop' : 'billing' } })),
      );
      retention.setLimit(ORG, 'shop', START + 4);

      for (const order of [NEWEST_FIRST, OLDEST_FIRST, 'received'] as const) {
        const { items } = await search(model, { order, filters: by });
        expect(ids(items).sort()).toEqual(expected.map((n) => idAt(n)));
      }
      const { items } = await model.last('auditevent', { org: ORG, filters: by, limit: 1000 });
      expect(ids(items)).toEqual(expected.map((n) => idAt(n)));
    });
  }
}

function pagingCases({ it }: ModelCases): void {
  for (const order of [NEWEST_FIRST, OLDEST_FIRST, 'received'] as const) {
    const name = typeof order === 'string' ? order : `${order.field} ${order.direction}`;
    it(`pages over what is left, and says exactly whether there is more (${name})`, async ({ model, retention }) => {
      await store(
        model,
        numbers(60).map((n) => of(['shop', 'billing', 'svc'][n % 3], n)),
      );
      retention.setLimit(ORG, 'shop', START + 50);
      retention.setLimit(ORG, 'billing', START + 20);
      const left = numbers(60).filter((n) => n >= ([50, 20, 0][n % 3] ?? 0));

      const list = await pages(model, { order, limit: 7 });

      expect(ids(list.flatMap(({ items }) => items)).sort()).toEqual(left.map((n) => idAt(n)));
      expect(list.slice(0, -1).every(({ items }) => items.length === 7)).toBe(true);
      expect((await search(model, { order, limit: left.length })).more).toBe(false);
      expect((await search(model, { order, limit: left.length - 1 })).more).toBe(true);
      const all = ids((await search(model, { order })).items);
      expect(ids((await search(model, { order, offset: 5, limit: 4 })).items)).toEqual(all.slice(5, 9));
    });
  }

  it('continues with cursors that the limit has passed', async ({ model, retention }) => {
    await store(
      model,
      numbers(30).map((n) => of('shop', n)),
    );
    const orders = [OLDEST_FIRST, 'received'] as const;
    const firsts = await Promise.all(orders.map((order) => search(model, { order, limit: 5 })));
    retention.setLimit(ORG, 'shop', START + 12);
    const rests = firsts.map(({ cursor }, at) => {
      const order = orders[at] ?? OLDEST_FIRST;
      return allItems(model, { order, limit: 5, ...(cursor && { cursor: throughJson(cursor) }) });
    });

    const left = ids(
      numbers(30)
        .slice(12)
        .map((n) => event(n)),
    );
    expect((await Promise.all(rests)).map(ids)).toEqual([left, left]);
  });

  it('continues from a cursor before which everything has expired', async ({ model, retention }) => {
    await store(
      model,
      numbers(5).map((n) => of('shop', n)),
    );
    retention.setLimit(ORG, 'shop', START + 5);
    const { items, cursor } = await model.last('auditevent', { org: ORG, filters: [], limit: 10 });
    const page = await search(model, received);
    await store(model, [of('shop', 5), of('other', 6)]);

    expect([items, page.items]).toEqual([[], []]);
    expect(ids((await search(model, { ...received, cursor })).items)).toEqual([idAt(5), idAt(6)]);
    expect(ids((await search(model, { ...received, ...(page.cursor && { cursor: page.cursor }) })).items)).toEqual([
      idAt(5),
      idAt(6),
    ]);
  });

  it('returns the last documents that are left', async ({ model, retention }) => {
    await store(
      model,
      numbers(12).map((n) => of(n % 2 ? 'shop' : 'billing', n)),
    );
    retention.setLimit(ORG, 'shop', START + 10);

    const { items } = await model.last('auditevent', { org: ORG, filters: [], limit: 4 });

    expect(ids(items)).toEqual([6, 8, 10, 11].map((n) => idAt(n)));
  });
}

/** What each read shows of the first hundred events, by their numbers. */
async function shown(model: ReadModel, org = ORG) {
  const gets = await Promise.all(numbers(100).map((n) => model.get('auditevent', org, idAt(n))));
  const read = async (order: typeof NEWEST_FIRST) =>
    (await search(model, { org, order })).items.map(({ source }) => JSON.parse(source).n);
  const { items } = await model.last('auditevent', { org, filters: [], limit: 1000 });
  return {
    gets: gets.flatMap((document) => (document ? [JSON.parse(document.source).n] : [])),
    newest: await read(NEWEST_FIRST),
    oldest: await read(OLDEST_FIRST),
    received: await read('received'),
    last: items.map(({ source }) => JSON.parse(source).n),
    count: [...(await model.count('auditevent', org))],
  };
}

/** The same of exactly these events, where all orders are one. */
function shownOf(kept: readonly number[], count: readonly (readonly [string, number])[]) {
  return { gets: kept, newest: kept.toReversed(), oldest: kept, received: kept, last: kept, count };
}
