import { setImmediate as turn } from 'node:timers/promises';
import type { OutcomeCode, Write } from '../../src/read-model/document.js';
import { GatheredWrites } from '../../src/read-model/elasticsearch/gathered.js';

function writes(name: string, count: number): Write[] {
  const place = { topic: 'control', partition: 0, offset: 0, ordinal: 0, time: 0 } as const;
  return Array.from({ length: count }, (_, at) => ({
    op: 'delete',
    kind: 'group',
    org: 'o',
    id: `${name}-${at}`,
    place,
  }));
}

describe('writes that wait at the same time', () => {
  let runs: { ids: string[]; done(): void }[];
  let gathered: GatheredWrites;

  beforeEach(() => {
    runs = [];
    gathered = new GatheredWrites(async (all) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      runs.push({ ids: all.map(({ id }) => id), done: resolve });
      await promise;
      if (all.some(({ id }) => id.startsWith('bad'))) throw new Error('refused');
      return all.map(({ id }): OutcomeCode => (id.startsWith('twice') ? 'duplicate' : 'applied'));
    });
  });

  async function finish(): Promise<void> {
    for (let run = 0; run < runs.length; run += 1) {
      runs[run]?.done();
      for (let turns = 0; turns < 5; turns += 1) await turn();
    }
  }

  it('go together, each caller with the codes of its own', async () => {
    const codes = Array.from({ length: 120 }, (_, n) => gathered.add(writes(n % 2 ? `twice${n}` : `once${n}`, 2)));
    await finish();
    expect(runs.map(({ ids }) => ids.length)).toEqual([2, 238]);
    const expected = codes.map((_, n) => (n % 2 ? ['duplicate', 'duplicate'] : ['applied', 'applied']));
    expect(await Promise.all(codes)).toEqual(expected);
  });

  it('are at most 1,000 in a run, unless one caller has more', async () => {
    const all = Array.from({ length: 7 }, (_, n) => gathered.add(writes(`${n}`, 400)));
    const large = gathered.add(writes('large', 3_000));
    await finish();
    expect(runs.map(({ ids }) => ids.length)).toEqual([400, 800, 800, 800, 3_000]);
    expect((await Promise.all([...all, large])).flat()).toHaveLength(7 * 400 + 3_000);
  });

  it('have four runs under way at most, and one that is not full', async () => {
    const all = Array.from({ length: 7 }, (_, n) => gathered.add(writes(`${n}`, 1_000)));
    expect(runs).toHaveLength(4);
    await finish();
    expect(runs).toHaveLength(7);
    await Promise.all(all);
    const few = [1, 2, 3].map((n) => gathered.add(writes(`${n}`, 1)));
    expect(runs).toHaveLength(8);
    await finish();
    expect(runs).toHaveLength(9);
    await Promise.all(few);
  });

  it('hold nobody else up when they are refused', async () => {
    const filling = [gathered.add(writes('first', 1))];
    const results = Promise.allSettled(['a', 'bad', 'c'].map((name) => gathered.add(writes(name, 1))));
    await finish();
    await Promise.all(filling);
    expect((await results).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});
