import type { Write } from '../../src/read-model/document.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import fc from '../support/fast-check.js';
import { answersOf } from './read-model.answers.js';
import {
  codes,
  controlPlace,
  event,
  found,
  idAt,
  ids,
  type ModelCases,
  NEWEST_FIRST,
  none,
  ORG,
  place,
  put,
  rebuild,
  type SetRetention,
  START,
  scan,
  search,
  store,
  sweep,
} from './read-model.harness.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const of = (contextName: string, n: number) => event(n, { fields: { contextName } });

export function sweepCases(given: ModelCases): void {
  removalCases(given);
  repetitionCases(given);
  modelCases(given);
}

function removalCases({ it }: ModelCases): void {
  it('removes expired documents, returns their number, and changes no read', async ({ model, retention }) => {
    await store(
      model,
      numbers(20).map((n) => of(['shop', 'billing', 'svc'][n % 3] ?? '', n)),
    );
    retention.setLimit(ORG, 'shop', START + 10);
    retention.setLimit(ORG, 'billing', START + 5);
    const before = await answersOf(model, 2);
    const left = numbers(20).filter((n) => n % 3 === 2 || n >= (n % 3 === 0 ? 10 : 5));
    const stored = (await scan(model)).length;

    expect(await sweep(model)).toBe(20 - left.length);

    expect(stored).toBe(20);
    expect(ids(await scan(model))).toEqual(left.map((n) => idAt(n)));
    expect(await answersOf(model, 2)).toEqual(before);
    expect(await found(model)).toEqual(left);
  });

  it('removes nothing without a limit', async ({ model }) => {
    await store(
      model,
      numbers(5).map((n) => of('shop', n)),
    );

    expect(await sweep(model)).toBe(0);
    expect(await scan(model)).toHaveLength(5);
  });

  it("removes neither another organization's documents nor another kind's", async ({ model, retention }) => {
    await store(model, [of('shop', 0), event(1, { org: 'other' })]);
    await model.apply('control', [put('shop', 0)], none);
    retention.setLimit(ORG, 'shop', START + 100);

    expect(await sweep(model)).toBe(1);
    expect(await model.get('auditevent', 'other', idAt(1))).toBeDefined();
    expect(await model.get('serviceaccount', ORG, 'shop')).toBeDefined();
  });

  it('removes of each organization, partition and topic', async ({ model, retention }) => {
    await store(model, [
      ...numbers(9).map((n) => event(n, { place: place(n, { partition: n % 3 }) })),
      event(9, { place: controlPlace(0, { time: START }) }),
      event(10, { place: controlPlace(1, { time: START + 10 }) }),
      ...numbers(4).map((n) => event(20 + n, { org: 'other' })),
    ]);
    retention.setLimit(ORG, 'shop', START + 6);
    retention.setLimit('other', 'shop', START + 22);

    expect(await sweep(model)).toBe(9);
    expect(await found(model)).toEqual([6, 7, 8, 10]);
    expect(await model.count('auditevent', 'other')).toEqual(new Map([['shop', 2]]));
  });

  it('removes thousands of mixed contexts', async ({ model, retention }) => {
    const limits = [2000, 1500, 0, 2400];
    await store(
      model,
      numbers(2400).map((n) => of(`ctx${n % 4}`, n)),
    );
    for (const [at, limit] of limits.entries()) retention.setLimit(ORG, `ctx${at}`, START + limit);
    const left = numbers(2400).filter((n) => n >= (limits[n % 4] ?? 0));

    expect(await sweep(model)).toBe(2400 - left.length);
    expect(ids(await scan(model, { limit: 500 }))).toEqual(left.map((n) => idAt(n)));
    expect([...(await model.count('auditevent', ORG)).values()]).toEqual([100, 225, 600]);
  });

  it('stops when the signal aborts, and removes the rest the next time', async ({ model, retention }) => {
    await store(
      model,
      numbers(30).map((n) => of('shop', n)),
    );
    retention.setLimit(ORG, 'shop', START + 25);

    const first = await model.sweep(AbortSignal.abort());

    expect(first + (await sweep(model))).toBe(25);
    expect(await scan(model)).toHaveLength(5);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 5]]));
  });
}

function repetitionCases({ it }: ModelCases): void {
  it('removes documents that have expired since the last sweep', async ({ model, retention }) => {
    await store(
      model,
      numbers(10).map((n) => of('shop', n)),
    );
    const removed: number[] = [];
    for (const limit of [3, 3, 4, 9, 9]) {
      retention.setLimit(ORG, 'shop', START + limit);
      removed.push(await sweep(model));
      expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 10 - limit]]));
    }

    expect(removed).toEqual([3, 0, 1, 5, 0]);
    expect(await found(model)).toEqual([9]);
  });

  it('removes earlier documents of a context that gets its limit later', async ({ model, retention }) => {
    await store(
      model,
      numbers(10).map((n) => of(n % 2 ? 'shop' : 'billing', n)),
    );
    retention.setLimit(ORG, 'shop', START + 8);
    const first = await sweep(model);
    retention.setLimit(ORG, 'billing', START + 5);

    expect([first, await sweep(model)]).toEqual([4, 3]);
    expect(await found(model)).toEqual([6, 8, 9]);
    expect(await model.count('auditevent', ORG)).toEqual(
      new Map([
        ['billing', 2],
        ['shop', 1],
      ]),
    );
  });

  it('continues after a reopen', async (harness) => {
    await store(
      harness.model,
      numbers(10).map((n) => of('shop', n)),
    );
    harness.retention.setLimit(ORG, 'shop', START + 4);
    await sweep(harness.model);

    const reopened = await harness.reopen();
    expect(await reopened.count('auditevent', ORG)).toEqual(new Map([['shop', 6]]));
    harness.retention.setLimit(ORG, 'shop', START + 6);

    expect(await reopened.count('auditevent', ORG)).toEqual(new Map([['shop', 4]]));
    expect(await sweep(reopened)).toBe(2);
    expect(await found(reopened)).toEqual([6, 7, 8, 9]);
  });

  it('is not undone by repeated deliveries', async ({ model, retention }) => {
    const writes = numbers(8).map((n) => event(n, { hash: 'h' }));
    await store(model, writes);
    retention.setLimit(ORG, 'shop', START + 5);
    await sweep(model);

    expect(codes(await model.apply('audit', writes, none))).toEqual(writes.map(() => 'applied'));
    await model.refresh();

    expect(await found(model)).toEqual([5, 6, 7]);
    expect(await scan(model)).toHaveLength(3);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 3]]));
    expect(await sweep(model)).toBe(0);
  });

  it('keeps a document that replaced an expired one', async ({ model, retention }) => {
    await store(
      model,
      numbers(4).map((n) => of('shop', n)),
    );
    retention.setLimit(ORG, 'shop', START + 3);
    await store(model, [event(9, { id: idAt(0) }), event(10, { id: idAt(1), fields: { contextName: 'billing' } })]);

    expect(await sweep(model)).toBe(1);
    expect(await found(model)).toEqual([3, 9, 10]);
    expect([...(await model.count('auditevent', ORG))]).toEqual([
      ['billing', 1],
      ['shop', 2],
    ]);
  });

  it('leaves the same as a rebuild does', async ({ model, retention }) => {
    const writes = numbers(40).map((n) => of(`ctx${n % 3}`, n));
    await store(model, writes);
    retention.setLimit(ORG, 'ctx0', START + 30);
    retention.setLimit(ORG, 'ctx1', START + 11);
    await sweep(model);
    const before = await answersOf(model, 2);
    await rebuild(model, (next) => store(next, writes));

    expect(await answersOf(model, 2)).toEqual(before);
    expect(await sweep(model)).toBe(0);
    retention.setLimit(ORG, 'ctx0', START + 40);
    expect(await sweep(model)).toBe(before.count.find(([context]) => context === 'ctx0')?.[1]);
  });
}

const CONTEXTS = ['a', 'b', 'c'] as const;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      create: fc.nat(7),
      context: fc.constantFrom(...CONTEXTS),
      hash: fc.constantFrom('h', 'i', undefined),
      partition: fc.nat(1),
      later: fc.nat(3),
    }),
  },
  { weight: 2, arbitrary: fc.record({ limit: fc.constantFrom(...CONTEXTS), behind: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.constant('sweep' as const) },
  { weight: 1, arbitrary: fc.constant('read' as const) },
);

type Create = Write & { readonly op: 'create' };

function modelCases({ it }: ModelCases): void {
  it('shows what a plain model shows, whatever is created, expires and is swept', async (harness) => {
    const { model, retention } = harness;
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        run += 1;
        const org = `org${run}`;
        const plain = plainModel(org, retention);
        const next = [run * 1000, run * 1000];
        let time = START;
        for (const one of steps) {
          if (one === 'sweep') expect(await sweep(model)).toBe(plain.sweep());
          else if (one === 'read') expect(await readsOf(model, org)).toEqual(plain.reads());
          else if ('limit' in one) retention.setLimit(org, one.limit, plain.limitOf(one.limit, time - one.behind));
          else {
            time += one.later;
            const offset = next[one.partition] ?? 0;
            next[one.partition] = offset + 1;
            const at = place(offset, { partition: one.partition, time });
            const write = event(offset, {
              org,
              id: idAt(one.create, run),
              place: at,
              fields: { contextName: one.context },
              ...(one.hash !== undefined && { hash: one.hash }),
            });
            expect(codes(await model.apply('audit', [write], none))).toEqual([plain.create(write)]);
            await model.refresh();
          }
        }
        expect(await readsOf(model, org)).toEqual(plain.reads());
        expect(await sweep(model)).toBe(plain.sweep());
        expect(await readsOf(model, org)).toEqual(plain.reads());
      }),
      { numRuns: 40 },
    );
  });
}

/** The specification of retention, in its simplest form. */
function plainModel(org: string, retention: SetRetention) {
  const stored = new Map<string, Create>();
  const expired = ({ fields, place: at }: Create) =>
    at.time < (retention.limits('auditevent', org).get(`${fields.contextName}`) ?? -1);
  const left = () => [...stored.values()].filter((write) => !expired(write));
  return {
    /** A limit only ever moves forward. */
    limitOf: (value: string, before: number) =>
      Math.max(before, retention.limits('auditevent', org).get(value) ?? before),
    create(write: Create) {
      if (expired(write)) return 'applied';
      const there = stored.get(write.id);
      if (there && !expired(there)) return there.hash === write.hash ? 'duplicate' : 'conflict';
      stored.set(write.id, write);
      return 'applied';
    },
    sweep() {
      const all = stored.size;
      for (const write of [...stored.values()].filter(expired)) stored.delete(write.id);
      return all - stored.size;
    },
    reads() {
      const contexts = left().map(({ fields }) => `${fields.contextName}`);
      return {
        ids: ids(left()).sort(),
        received: ids(left()).sort(),
        gets: ids(left()).sort(),
        count: [...new Set(contexts)].sort().map((value) => [value, contexts.filter((one) => one === value).length]),
      };
    },
  };
}

async function readsOf(model: ReadModel, org: string) {
  const { items } = await search(model, { org, order: NEWEST_FIRST });
  const { items: received } = await search(model, { org, order: 'received' });
  const known = ids(
    await Promise.all(numbers(8).map((n) => model.get('auditevent', org, idAt(n, Number(org.slice(3)))))).then((all) =>
      all.filter((one) => one !== undefined),
    ),
  );
  return {
    ids: ids(items).sort(),
    received: ids(received).sort(),
    gets: known.sort(),
    count: [...(await model.count('auditevent', org))],
  };
}
