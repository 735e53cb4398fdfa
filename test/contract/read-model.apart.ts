import { DENIED_ATTEMPTS } from '../../src/read-model/kinds.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import type { Filter } from '../../src/read-model/search.js';
import {
  codes,
  event,
  found,
  idAt,
  ids,
  type ModelCases,
  NEWEST_FIRST,
  none,
  OLDEST_FIRST,
  ORG,
  rebuild,
  START,
  scan,
  search,
  store,
  sweep,
} from './read-model.harness.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** Event `n` of the service's context: every second one a denied attempt. */
const ofService = (n: number) =>
  event(n, { fields: { contextName: 'svc', resultStatus: n % 2 ? 'DENIED' : 'OK', podId: 'p' } });
const isDenied = (n: number): boolean => n % 2 === 1;
const is = (field: string, value: string): Filter => ({ field, op: '=', value });

/** Denied attempts expire by a limit of their own. */
export function apartCases({ it }: ModelCases): void {
  it('hides denied attempts from every read, and nothing else of their context', async ({ model, retention }) => {
    await store(model, [...numbers(10).map(ofService), event(10, { fields: { resultStatus: 'DENIED' } })]);
    retention.setLimit(ORG, DENIED_ATTEMPTS, START + 6);
    const left = [0, 2, 4, 6, 7, 8, 9, 10];

    expect(await shown(model)).toEqual({ gets: left, lists: [left, left, left], last: left, scanned: 11 });
    expect([...(await model.count('auditevent', ORG))]).toEqual([
      ['shop', 1],
      ['svc', 7],
    ]);
  });

  for (const [what, filters, left] of [
    ['the context', [is('contextName', 'svc')], [0, 2, 4, 6, 7, 8, 9]],
    ['the result', [is('resultStatus', 'DENIED')], [7, 9]],
    ['both', [is('resultStatus', 'DENIED'), is('contextName', 'svc')], [7, 9]],
    ['another result', [is('resultStatus', 'OK'), is('contextName', 'svc')], [0, 2, 4, 6, 8]],
    ['one of several contexts', [{ field: 'contextName', op: 'in', values: ['svc', 'x'] }], [0, 2, 4, 6, 7, 8, 9]],
    ['another field', [is('podId', 'p')], [0, 2, 4, 6, 7, 8, 9]],
    ['another context', [is('contextName', 'shop')], [10]],
  ] as const satisfies readonly (readonly [string, readonly Filter[], readonly number[]])[]) {
    for (const more of [0, 20]) {
      it(`hides denied attempts from a search by ${what}, beside ${more} other limits`, async (harness) => {
        const { model, retention } = harness;
        await store(model, [...numbers(10).map(ofService), event(10, { fields: { podId: 'q' } })]);
        retention.setLimit(ORG, DENIED_ATTEMPTS, START + 6);
        for (const n of numbers(more)) retention.setLimit(ORG, `ctx${n}`, START + 1000);

        for (const order of [NEWEST_FIRST, 'received'] as const) {
          const { items } = await search(model, { order, filters });
          expect(ids(items).sort()).toEqual(left.map((n) => idAt(n)));
        }
      });
    }
  }

  it('distinguishes the limit of denied attempts from that of their context', async ({ model, retention }) => {
    await store(model, numbers(10).map(ofService));
    retention.setLimit(ORG, 'svc', START + 5);
    expect(await found(model)).toEqual(numbers(10).filter((n) => isDenied(n) || n >= 5));
    expect([...(await model.count('auditevent', ORG))]).toEqual([['svc', 7]]);
    retention.setLimit(ORG, DENIED_ATTEMPTS, START + 8);
    expect(await found(model)).toEqual(numbers(10).filter((n) => n >= (isDenied(n) ? 8 : 5)));
    expect([...(await model.count('auditevent', ORG))]).toEqual([['svc', 3]]);
    retention.setLimit(ORG, 'svc', START + 8);
    expect(await found(model)).toEqual([8, 9]);
  });

  it('sweeps denied attempts of all organizations, with unchanged counts', async ({ model, retention }) => {
    const others = numbers(10).map((n) => ({ ...ofService(n), org: 'other' }));
    await store(model, [...numbers(10).map(ofService), ...others]);
    for (const org of [ORG, 'other']) retention.setLimit(org, DENIED_ATTEMPTS, START + 6);
    const before = [await model.count('auditevent', ORG), await model.count('auditevent', 'other')];

    expect(await sweep(model)).toBe(6);
    await model.refresh();

    expect(await scan(model)).toHaveLength(14);
    expect([await model.count('auditevent', ORG), await model.count('auditevent', 'other')]).toEqual(before);
    expect(before).toEqual([new Map([['svc', 7]]), new Map([['svc', 7]])]);
    expect(await sweep(model)).toBe(0);
    retention.setLimit(ORG, DENIED_ATTEMPTS, START + 8);
    expect(await sweep(model)).toBe(1);
    await model.refresh();
    expect([...(await model.count('auditevent', ORG))]).toEqual([['svc', 6]]);
  });

  it('stores no expired denied attempt, not even in a rebuild', async ({ model, retention }) => {
    retention.setLimit(ORG, DENIED_ATTEMPTS, START + 6);
    expect(codes(await model.apply('audit', numbers(10).map(ofService), none))).toEqual(
      numbers(10).map(() => 'applied'),
    );
    await model.refresh();
    const left = [0, 2, 4, 6, 7, 8, 9];
    expect(await found(model)).toEqual(left);
    await rebuild(model, (next) => next.apply('audit', numbers(10).map(ofService), none));
    expect(await found(model)).toEqual(left);
    expect(await scan(model)).toHaveLength(left.length);
  });

  it('replaces an expired denied attempt whose identifier has no month', async (harness) => {
    const { model, retention } = harness;
    await store(model, [
      { ...ofService(1), id: 'keyed', hash: 'h' },
      { ...ofService(2), id: 'kept', hash: 'h' },
    ]);
    retention.setLimit(ORG, DENIED_ATTEMPTS, START + 5);
    expect(await model.get('auditevent', ORG, 'keyed')).toBeUndefined();
    const outcomes = await model.apply('audit', [event(7, { id: 'keyed' }), event(8, { id: 'kept' })], none);
    expect(codes(outcomes)).toEqual(['applied', 'conflict']);
    expect((await model.get('auditevent', ORG, 'keyed'))?.place.offset).toBe(7);
  });
}

/** What each read shows, by the numbers of the events. */
async function shown(model: ReadModel) {
  const numberOf = ({ source }: { readonly source: string }): number => JSON.parse(source).n;
  const gets = await Promise.all(numbers(20).map((n) => model.get('auditevent', ORG, idAt(n))));
  const lists = [];
  for (const order of [NEWEST_FIRST, OLDEST_FIRST, 'received'] as const) {
    lists.push((await search(model, { order })).items.map(numberOf).sort((one, other) => one - other));
  }
  const { items } = await model.last('auditevent', { org: ORG, filters: [], limit: 1000 });
  return {
    gets: gets.flatMap((document) => (document ? [numberOf(document)] : [])),
    lists,
    last: items.map(numberOf),
    scanned: (await scan(model)).length,
  };
}
