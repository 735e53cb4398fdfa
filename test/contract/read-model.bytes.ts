import {
  event,
  idAt,
  ids,
  type ModelCases,
  NEWEST_FIRST,
  OLDEST_FIRST,
  ORG,
  pages,
  search,
  store,
} from './read-model.harness.js';

const SIZE = 10_000;

/** Event `n`, of about so many bytes. */
const large = (n: number, size = SIZE) =>
  event(n, { source: JSON.stringify({ n, fill: 'ü'.repeat(size / 2) }), fields: { podId: `p${n % 2}` } });

const larges = (count: number, size = SIZE) => Array.from({ length: count }, (_, n) => large(n, size));

const shown = (count: number) => Array.from({ length: count }, (_, n) => idAt(n));

export function byteCases({ it }: ModelCases): void {
  for (const order of [OLDEST_FIRST, NEWEST_FIRST, 'received'] as const) {
    const name = order === 'received' ? order : `eventTime ${order.direction}`;

    it(`ends a page with the document that brings it to the bytes asked for, and goes on behind it (${name})`, async ({
      model,
    }) => {
      await store(model, larges(20));

      const list = await pages(model, { order, maxBytes: 3 * SIZE - 500, limit: 1000 });

      expect(list.map(({ items }) => items.length)).toEqual([3, 3, 3, 3, 3, 3, 2]);
      const all = ids(list.flatMap(({ items }) => items));
      expect(order === NEWEST_FIRST ? all.toReversed() : all).toEqual(shown(20));
    });

    it(`has one document at least, however large it is (${name})`, async ({ model }) => {
      await store(model, larges(3));

      const list = await pages(model, { order, maxBytes: 1, limit: 1000 });

      expect(list.map(({ items }) => items.length)).toEqual([1, 1, 1]);
    });

    it(`says exactly whether there is more where the bytes or the count end with the last document (${name})`, async ({
      model,
    }) => {
      await store(model, larges(2));
      const more = async (limit: number, maxBytes: number) => (await search(model, { order, limit, maxBytes })).more;

      expect(await more(10, 2 * SIZE - 500)).toBe(false);
      expect(await more(2, 10 * SIZE)).toBe(false);
      expect(await more(10, 10 * SIZE)).toBe(false);
      expect(await more(1, 10 * SIZE)).toBe(true);
    });

    it(`counts what a page shows alone: filters and what is passed over do not end it (${name})`, async ({ model }) => {
      await store(model, larges(12));
      const filters = [{ field: 'podId', op: '=', value: 'p1' }] as const;

      const list = await pages(model, { order, filters, maxBytes: 2 * SIZE - 500, limit: 1000 });
      const behind = await search(model, { order, offset: 8, maxBytes: 2 * SIZE - 500, limit: 3 });

      expect(list.map(({ items }) => items.length)).toEqual([2, 2, 2]);
      expect(behind.items).toHaveLength(2);
      const places = order === NEWEST_FIRST ? [3, 2] : [8, 9];
      expect(ids(behind.items)).toEqual(places.map((n) => idAt(n)));
      const next = await search(model, { order, limit: 3, ...(behind.cursor && { cursor: behind.cursor }) });
      expect(ids(next.items)).toEqual((order === NEWEST_FIRST ? [1, 0] : [10, 11]).map((n) => idAt(n)));
    });

    it(`fills a page of many small documents to its count (${name})`, async ({ model }) => {
      await store(model, larges(200, 20));

      const list = await pages(model, { order, maxBytes: 1_000_000, limit: 90 });

      expect(list.map(({ items }) => items.length)).toEqual([90, 90, 20]);
      const all = ids(list.flatMap(({ items }) => items));
      expect(order === NEWEST_FIRST ? all.toReversed() : all).toEqual(shown(200));
    });
  }

  it('keeps the documents nearest to the end within the byte limit', async ({ model }) => {
    await store(model, larges(9));
    const last = (maxBytes: number) => model.last('auditevent', { org: ORG, filters: [], limit: 6, maxBytes });

    expect(ids((await last(2 * SIZE - 500)).items)).toEqual([7, 8].map((n) => idAt(n)));
    expect(ids((await last(1)).items)).toEqual([idAt(8)]);
    const { items, cursor } = await last(100 * SIZE);
    expect(ids(items)).toEqual([3, 4, 5, 6, 7, 8].map((n) => idAt(n)));
    await store(model, [large(9)]);
    expect(ids((await search(model, { order: 'received', cursor })).items)).toEqual([idAt(9)]);
  });
}
