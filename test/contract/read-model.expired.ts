import type { Write } from '../../src/read-model/document.js';
import type { Cursor } from '../../src/read-model/search.js';
import {
  codes,
  documentOf,
  event,
  found,
  idAt,
  ids,
  type ModelCases,
  none,
  ORG,
  START,
  scan,
  search,
  store,
  throughJson,
} from './read-model.harness.js';

const received = { order: 'received' } as const;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
/** Event `n` of a context, which the log took at `START + n`. */
const of = (contextName: string, n: number) => event(n, { fields: { contextName } });

export function expiredCreationCases({ it }: ModelCases): void {
  it('returns applied for an expired creation, and stores nothing', async ({ model, retention }) => {
    retention.setLimit(ORG, 'shop', START + 2);

    const outcomes = await model.apply('audit', [of('shop', 1), of('shop', 2), of('billing', 0)], { 0: 3 });
    await model.refresh();

    expect(codes(outcomes)).toEqual(['applied', 'applied', 'applied']);
    expect(await found(model)).toEqual([0, 2]);
    expect(ids(await scan(model))).toEqual([idAt(0), idAt(2)]);
    expect([...(await model.count('auditevent', ORG))]).toEqual([
      ['billing', 1],
      ['shop', 1],
    ]);
    expect((await model.progress('audit')).next[0]).toBe(3);
  });

  for (const [what, hash] of [
    ['the same content', 'h'],
    ['another content', 'other'],
    ['content without a hash', undefined],
  ] as const) {
    it(`puts a creation with ${what} in the place of what has expired`, async ({ model, retention }) => {
      await store(model, [event(1, { hash: 'h' }), of('shop', 5)]);
      retention.setLimit(ORG, 'shop', START + 2);
      const fields = { contextName: 'billing', resourceName: 'new' };
      const anew = event(7, { id: idAt(1), fields, ...(hash !== undefined && { hash }) });

      expect(codes(await model.apply('audit', [anew, anew], none))).toEqual(['applied', 'applied']);
      await model.refresh();

      expect(await model.get('auditevent', ORG, idAt(1))).toEqual(documentOf(anew));
      expect(await found(model)).toEqual([5, 7]);
      expect(ids((await search(model, received)).items)).toEqual([idAt(5), idAt(1)]);
      expect(ids(await scan(model))).toEqual([idAt(5), idAt(1)]);
      expect([...(await model.count('auditevent', ORG))]).toEqual([
        ['billing', 1],
        ['shop', 1],
      ]);
    });
  }

  it('keeps the new document when the expired creation is delivered again', async ({ model, retention }) => {
    const [old, anew] = [event(1, { hash: 'h' }), event(7, { id: idAt(1), hash: 'other' })];
    await store(model, [old]);
    retention.setLimit(ORG, 'shop', START + 2);
    await store(model, [anew]);

    expect(codes(await model.apply('audit', [old], none))).toEqual(['applied']);
    await model.refresh();

    expect(await model.get('auditevent', ORG, idAt(1))).toEqual(documentOf(anew));
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  it('still reports duplicates and conflicts of documents that have not expired', async ({ model, retention }) => {
    await store(model, [event(1, { hash: 'h' }), event(2, { hash: 'h', fields: { contextName: 'billing' } })]);
    retention.setLimit(ORG, 'shop', START + 1);
    const again = [
      event(5, { id: idAt(1), hash: 'h' }),
      event(6, { id: idAt(1), hash: 'other' }),
      event(7, { id: idAt(2), hash: 'other' }),
    ];

    expect(codes(await model.apply('audit', again, none))).toEqual(['duplicate', 'conflict', 'conflict']);
  });

  it('replaces within one apply, each time by a document that has not expired', async ({ model, retention }) => {
    await store(model, [event(1, { hash: 'a' })]);
    retention.setLimit(ORG, 'shop', START + 4);
    const writes: Write[] = [2, 3, 4, 5].map((n) => event(n, { id: idAt(1), hash: `${n}` }));

    expect(codes(await model.apply('audit', writes, none))).toEqual(['applied', 'applied', 'applied', 'conflict']);
    await model.refresh();

    expect(await found(model)).toEqual([4]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  it('follows the order received while expired ones are replaced', async ({ model, retention }) => {
    await store(
      model,
      numbers(4).map((n) => of('shop', n)),
    );
    let cursor: Cursor | undefined = (await search(model, { ...received, limit: 3 })).cursor;
    retention.setLimit(ORG, 'shop', START + 2);
    await store(model, [event(8, { id: idAt(0) }), event(9, { id: idAt(1) })]);

    const page = await search(model, { ...received, ...(cursor && { cursor: throughJson(cursor) }) });
    cursor = page.cursor;

    expect(ids(page.items)).toEqual([idAt(3), idAt(0), idAt(1)]);
    expect((await search(model, { ...received, ...(cursor && { cursor }) })).items).toEqual([]);
  });
}
