import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { type EmbeddedModelHarness, openEmbeddedReadModel } from './embedded.harness.js';
import { settled } from './harness.js';
import { event, events, failWrites, found, ORG, repair, START, store, sweep } from './read-model.harness.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

let harness: EmbeddedModelHarness;
beforeEach(async () => {
  harness = await openEmbeddedReadModel();
});
afterEach(() => harness.destroy());

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('the sweep', () => {
  test('yields to other work, whose writes are counted correctly meanwhile', async () => {
    await store(harness.model, events(0, 4000));
    harness.retention.setLimit(ORG, 'shop', START + 3500);
    await harness.model.count('auditevent', ORG);
    let isSwept = false;
    const sweeping = harness.model.sweep(new AbortController().signal).then((removed) => {
      isSwept = true;
      return removed;
    });
    const seen: unknown[] = [];
    for (let n = 4000; !isSwept; n += 1) {
      await harness.model.apply('audit', [event(n)], { 0: n + 1 });
      seen.push((await harness.model.count('auditevent', ORG)).get('shop') === n + 1 - 3500);
      await turns(1);
    }

    expect(await sweeping).toBe(3500);
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.every((isRight) => isRight === true)).toBe(true);
  });

  test('stops after the slice in which the signal aborts or the model closes', async () => {
    await store(harness.model, events(0, 4000));
    harness.retention.setLimit(ORG, 'shop', START + 3500);
    const stop = new AbortController();
    const stopping = harness.model.sweep(stop.signal);
    await turns(3);
    stop.abort();
    const first = await stopping;
    const closing = harness.model.sweep(new AbortController().signal);
    await turns(3);
    await harness.model.close();
    const second = await closing;
    await harness.reopen();

    expect([first, second].every((removed) => removed > 0 && removed < 3500)).toBe(true);
    expect(first + second + (await sweep(harness.model))).toBe(3500);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 500]]));
  });

  test('reads only expired rows', async () => {
    await store(
      harness.model,
      numbers(2000).map((n) => event(n, { fields: { contextName: n % 2 ? 'shop' : 'kept' } })),
    );
    harness.retention.setLimit(ORG, 'shop', START + 1900);
    await sweep(harness.model);
    const { prepare } = DatabaseSync.prototype;
    let rows = 0;
    DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
      const statement = prepare.call(this, sql);
      const iterate = statement.iterate.bind(statement);
      const counted = (...values: SQLInputValue[]) =>
        iterate(...values).map((row) => {
          rows += 1;
          return row;
        });
      return Object.assign(statement, { iterate: counted });
    };
    await harness.reopen();
    harness.retention.setLimit(ORG, 'shop', START + 1910);
    const removed = await sweep(harness.model);
    DatabaseSync.prototype.prepare = prepare;

    expect([removed, rows]).toEqual([5, 5]);
  });

  test('continues after a slice that failed', async () => {
    await store(harness.model, events(0, 1200));
    harness.retention.setLimit(ORG, 'shop', START + 1100);
    failWrites(harness);
    const failed = await settled(harness.model.sweep(new AbortController().signal));
    repair(harness);

    expect(failed).toHaveProperty('error');
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 100]]));
    expect(await sweep(harness.model)).toBe(1100);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 100]]));
  });

  test('finds expired documents stored while the limit was unknown', async () => {
    await store(harness.model, events(5, 10));
    harness.retention.setLimit(ORG, 'shop', START + 8);
    expect(await sweep(harness.model)).toBe(3);
    await harness.reopen();
    const { limits } = harness.retention;
    harness.retention.limits = () => new Map();
    await store(harness.model, events(0, 7));
    harness.retention.limits = limits;

    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
    expect(await found(harness.model)).toEqual([8, 9]);
    expect(await sweep(harness.model)).toBe(7);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
  });
});
