import {
  allItems,
  BY_NAME,
  event,
  idAt,
  ids,
  type ModelCases,
  NEWEST_FIRST,
  OLDEST_FIRST,
  pages,
  put,
  START,
  search,
  store,
  throughJson,
} from './read-model.harness.js';

/** Numbers from 0 on. */
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** Events of one instant, which only their identifiers tell apart. */
const ties = (count: number, n = 0) =>
  numbers(count).map((tie) => event(tie, { id: idAt(n, tie), fields: { eventTime: START } }));

export function pageCases({ it }: ModelCases): void {
  it('returns an empty page without a cursor if nothing matches', async ({ model }) => {
    await store(model, [event(1)]);

    const page = await search(model, { filters: [{ field: 'resourceName', op: '=', value: 'nothing' }] });

    expect(page).toEqual({ items: [], more: false });
    expect(page.cursor).toBeUndefined();
  });

  it('orders newest first, and oldest first when asked', async ({ model }) => {
    await store(
      model,
      [3, 1, 4, 0, 2].map((n) => event(n)),
    );

    expect(ids((await search(model, { order: NEWEST_FIRST })).items)).toEqual([4, 3, 2, 1, 0].map((n) => idAt(n)));
    expect(ids((await search(model, { order: OLDEST_FIRST })).items)).toEqual([0, 1, 2, 3, 4].map((n) => idAt(n)));
  });

  it('breaks ties by identifier, in the same direction', async ({ model }) => {
    await store(model, ties(6).toReversed());

    expect(ids((await search(model, { order: NEWEST_FIRST })).items)).toEqual(
      [5, 4, 3, 2, 1, 0].map((tie) => idAt(0, tie)),
    );
    expect(ids((await search(model, { order: OLDEST_FIRST })).items)).toEqual(
      [0, 1, 2, 3, 4, 5].map((tie) => idAt(0, tie)),
    );
  });

  it('omits documents without the field of the order', async ({ model }) => {
    await store(model, [event(0), event(1, { fields: { eventTime: undefined } })]);

    expect(ids((await search(model, { order: NEWEST_FIRST })).items)).toEqual([idAt(0)]);
    expect(ids((await search(model, { order: OLDEST_FIRST })).items)).toEqual([idAt(0)]);
  });

  for (const order of [NEWEST_FIRST, OLDEST_FIRST]) {
    it(`shows each of 120 events of one instant once over pages (${order === NEWEST_FIRST ? 'newest' : 'oldest'} first)`, async ({
      model,
    }) => {
      await store(model, ties(120));

      const list = await pages(model, { order, limit: 7 });

      expect(list.map(({ items }) => items.length)).toEqual([...numbers(17).map(() => 7), 1]);
      const shown = ids(list.flatMap(({ items }) => items));
      expect(order === NEWEST_FIRST ? shown.toReversed() : shown).toEqual(numbers(120).map((tie) => idAt(0, tie)));
    });
  }

  it('repeats and skips nothing while newer documents arrive', async ({ model }) => {
    await store(
      model,
      numbers(30).map((n) => event(n)),
    );
    const shown: string[] = [];
    let page = await search(model, { limit: 4 });
    for (let n = 30; page.items.length > 0; n += 1) {
      shown.push(...ids(page.items));
      await store(model, [event(n)]);
      page = await search(model, { limit: 4, ...(page.cursor && { cursor: page.cursor }) });
    }

    expect(shown).toEqual(numbers(30).map((n) => idAt(29 - n)));
  });

  it('continues behind a cursor whose document is gone', async ({ model }) => {
    await model.apply(
      'control',
      numbers(6).map((n) => put(`a${n}`, n)),
      {},
    );
    await model.refresh();
    const first = await search(model, { limit: 3 }, 'serviceaccount');
    await model.apply(
      'control',
      [{ op: 'delete', kind: 'serviceaccount', org: 'acme', id: 'a2', place: put('', 9).place }],
      {},
    );
    await model.refresh();

    const next = await search(model, { limit: 3, ...(first.cursor && { cursor: first.cursor }) }, 'serviceaccount');

    expect(ids(next.items)).toEqual(['a3', 'a4', 'a5']);
  });

  it('says exactly whether there is more, at the boundary of a page too', async ({ model }) => {
    await store(
      model,
      numbers(10).map((n) => event(n)),
    );
    const more = async (limit: number, offset = 0) => (await search(model, { limit, offset })).more;

    expect([await more(9), await more(10), await more(11)]).toEqual([true, false, false]);
    expect([await more(5, 4), await more(5, 5), await more(5, 10)]).toEqual([true, false, false]);
    const half = await search(model, { limit: 5 });
    expect((await search(model, { limit: 5, ...(half.cursor && { cursor: half.cursor }) })).more).toBe(false);
    expect((await search(model, { limit: 4, ...(half.cursor && { cursor: half.cursor }) })).more).toBe(true);
  });

  it('counts only what matches for `more`', async ({ model }) => {
    await store(
      model,
      numbers(10).map((n) => event(n, { fields: { podId: n < 5 ? 'a' : 'b' } })),
    );

    const page = await search(model, { limit: 5, filters: [{ field: 'podId', op: '=', value: 'b' }] });

    expect([page.items.length, page.more]).toEqual([5, false]);
  });

  it('passes over as many documents as `offset` says', async ({ model }) => {
    await store(
      model,
      numbers(20).map((n) => event(n)),
    );

    expect(ids((await search(model, { offset: 3, limit: 4 })).items)).toEqual([16, 15, 14, 13].map((n) => idAt(n)));
    expect((await search(model, { offset: 20, limit: 4 })).items).toEqual([]);
    expect((await search(model, { offset: 10_000, limit: 1000 })).items).toEqual([]);
  });

  it('returns a cursor that continues behind a page reached by offset', async ({ model }) => {
    await store(
      model,
      numbers(20).map((n) => event(n)),
    );
    const { cursor } = await search(model, { offset: 5, limit: 5 });

    expect(ids((await search(model, { limit: 3, ...(cursor && { cursor }) })).items)).toEqual(
      [9, 8, 7].map((n) => idAt(n)),
    );
  });

  it('accepts limits from 1 to 1000', async ({ model }) => {
    await store(
      model,
      numbers(1001).map((n) => event(n)),
    );

    expect((await search(model, { limit: 1 })).items).toHaveLength(1);
    const page = await search(model, { limit: 1000 });
    expect([page.items.length, page.more]).toEqual([1000, true]);
  });

  for (const [what, query] of [
    ['a limit of 0', { limit: 0 }],
    ['a limit of 1001', { limit: 1001 }],
    ['a limit below 0', { limit: -1 }],
    ['a limit that is not whole', { limit: 1.5 }],
    ['an offset below 0', { offset: -1 }],
    ['an offset of 10,001', { offset: 10_001 }],
    ['a cursor together with an offset', { offset: 1, cursor: { after: [START, idAt(0)] } }],
    ['a cursor of the order received', { cursor: { seen: {} } }],
  ] as const) {
    it(`refuses ${what}`, async ({ model }) => {
      await store(
        model,
        numbers(3).map((n) => event(n)),
      );

      await expect(search(model, query)).rejects.toThrow();
    });
  }

  it('returns the given cursor with an empty page', async ({ model }) => {
    await store(
      model,
      numbers(3).map((n) => event(n)),
    );
    const { cursor } = await search(model);

    const beyond = await search(model, { ...(cursor && { cursor }) });

    expect(beyond).toEqual({ items: [], more: false, cursor });
    expect(cursor).toBeDefined();
  });

  it('continues from the last page with later documents', async ({ model }) => {
    await store(
      model,
      numbers(3).map((n) => event(n)),
    );
    const last = await search(model, { order: OLDEST_FIRST });
    expect(last.more).toBe(false);
    await store(model, [event(3), event(4)]);

    const next = await search(model, { order: OLDEST_FIRST, ...(last.cursor && { cursor: last.cursor }) });

    expect(ids(next.items)).toEqual([idAt(3), idAt(4)]);
  });

  it('makes cursors of plain data that pass through JSON', async ({ model }) => {
    await model.apply(
      'control',
      ['"', '\\', '\u{1f600}', '\u2028', 'ä', 'z'].map((name, n) => put(`id${n}`, n, { fields: { name } })),
      {},
    );
    await model.refresh();

    const list = await pages(model, { limit: 1, order: BY_NAME }, 'serviceaccount');

    expect(list.map(({ items }) => items[0]?.fields.name)).toEqual(['"', '\\', 'z', 'ä', '\u2028', '\u{1f600}']);
    for (const { cursor } of list) expect(throughJson(cursor)).toEqual(cursor);
  });

  it('pages by keyword over ties, astral names among them', async ({ model }) => {
    const names = ['\u{1f600}', '\u{ff5e}', '\u{1f600}', 'a', '\u{ff5e}', '\u{1f600}'];
    await model.apply(
      'control',
      names.map((name, n) => put(`id${n}`, n, { fields: { name } })),
      {},
    );
    await model.refresh();

    const shown = await allItems(model, { limit: 2, order: BY_NAME }, 'serviceaccount');

    expect(ids(shown)).toEqual(['id3', 'id1', 'id4', 'id0', 'id2', 'id5']);
    const reversed = await allItems(
      model,
      { limit: 2, order: { field: 'name', direction: 'descending' } },
      'serviceaccount',
    );
    expect(ids(reversed)).toEqual(ids(shown).toReversed());
  });

  it('keeps filters while it pages', async ({ model }) => {
    await store(
      model,
      numbers(40).map((n) => event(n, { fields: { podId: `p${n % 3}` } })),
    );

    const shown = await allItems(model, { limit: 4, filters: [{ field: 'podId', op: '=', value: 'p1' }] });

    expect(ids(shown)).toEqual(
      numbers(40)
        .filter((n) => n % 3 === 1)
        .map((n) => idAt(n))
        .toReversed(),
    );
  });

  it('reaches 3,000 documents deep by cursor, each once', async ({ model }) => {
    await store(
      model,
      numbers(3000).map((n) => event(n, { fields: { eventTime: START + Math.floor(n / 50) } })),
    );

    expect(ids(await allItems(model, { limit: 113 }))).toEqual(numbers(3000).map((n) => idAt(2999 - n)));
  });
}
