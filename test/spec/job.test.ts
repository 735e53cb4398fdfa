import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { eachAtOnce, readAhead } from '../../src/projections/upkeep/pace.js';

/** How many are under way, and how many were at most. */
class Watched {
  now = 0;
  most = 0;

  async work(ms: number): Promise<number> {
    this.now += 1;
    this.most = Math.max(this.most, this.now);
    await delay(ms);
    this.now -= 1;
    return ms;
  }
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) {
    await turn();
    yield item;
  }
}

const TIMES = [9, 1, 7, 3, 5, 2, 8];

describe('work for each, so many at a time', () => {
  it.each([1, 3, 100])('is done for all, at most %i at once', async (most) => {
    const watched = new Watched();
    const done: number[] = [];
    await eachAtOnce(TIMES, most, async (ms) => {
      done.push(await watched.work(ms));
    });
    expect([done.sort(), watched.most]).toEqual([[...TIMES].sort(), Math.min(most, TIMES.length)]);
  });

  it('begins nothing more after a failure, and rejects with it', async () => {
    const begun: number[] = [];
    const work = async (ms: number) => {
      begun.push(ms);
      await delay(ms);
      if (ms === 1) throw new Error('the second');
    };
    await expect(eachAtOnce(TIMES, 2, work)).rejects.toThrow('the second');
    await delay(20);
    expect(begun).toEqual([9, 1]);
  });
});

describe('work that is read ahead', () => {
  it.each([0, 2])('comes in order, with %i more under way', async (most) => {
    const watched = new Watched();
    const found: number[] = [];
    for await (const one of readAhead(each(TIMES), most, (ms) => watched.work(ms))) found.push(one);
    expect([found, watched.most]).toEqual([TIMES, most + 1]);
  });

  it('fails at its turn, not before', async () => {
    const found: number[] = [];
    const read = async () => {
      const work = async (ms: number) => (ms === 7 ? Promise.reject(new Error('the third')) : ms);
      for await (const one of readAhead(each(TIMES), 5, work)) found.push(one);
    };
    await expect(read()).rejects.toThrow('the third');
    expect(found).toEqual([9, 1]);
  });
});
