import { type Job, type Steps, Turns } from '../../src/platform/turns.js';

/** Holds the loop for about so long a step. */
function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

function* steps(count: number, ms: number, note: () => void = () => undefined): Steps<number> {
  for (let step = 0; step < count; step += 1) {
    spin(ms);
    note();
    yield;
  }
  return count;
}

describe('turns', () => {
  test('return what the work returns, at once if it is short', async () => {
    const turns = new Turns();
    let loops = 0;
    setImmediate(() => {
      loops += 1;
    });
    await expect(turns.run({ org: 'acme' }, steps(3, 0))).resolves.toBe(3);
    expect(loops).toBe(0);
  });

  test('let everything else run between slices, whatever is under way', async () => {
    const turns = new Turns();
    const work = Promise.all(Array.from({ length: 20 }, () => turns.run({ org: 'acme' }, steps(10, 1))));
    let loops = 0;
    let isDone = false;
    work.then(() => {
      isDone = true;
    });
    for (; !isDone; loops += 1) await new Promise((resolve) => setImmediate(resolve));
    // All of it takes 200 ms at least; a slice 5, and 2 where a step comes late.
    expect(loops).toBeGreaterThan(20);
  });

  test('give organizations the same share, however much each asks for', async () => {
    const turns = new Turns();
    const order: string[] = [];
    const run = (org: string) =>
      turns.run(
        { org },
        steps(30, 1, () => order.push(org)),
      );
    const many = Array.from({ length: 10 }, () => run('many'));
    await new Promise((resolve) => setImmediate(resolve));
    await run('one');
    const before = order.filter((org) => org === 'many').length;
    // Its own 30 ms, and about as much of the other's 300.
    expect(before).toBeLessThan(120);
    await Promise.all(many);
    expect(order).toHaveLength(330);
  });

  test('tell the work that its budget is spent, and refuse it if it continues', async () => {
    const turns = new Turns();
    function* modest(): Steps<number> {
      for (let step = 0; ; step += 1) {
        spin(1);
        if (yield) return step;
      }
    }
    await expect(turns.run({ org: 'acme', budgetMs: 10, mayEndEarly: true }, modest())).resolves.toEqual(
      expect.any(Number),
    );
    const greedy = turns.run({ org: 'acme', budgetMs: 10, remedy: 'ask for less of it' }, steps(10_000, 1));
    await expect(greedy).rejects.toMatchObject({
      code: 'too_costly',
      message: expect.stringContaining('ask for less of it'),
    });
  });

  test('keep work with a long first step until its turn, so that no two of them share an iteration of the loop', async () => {
    const turns = new Turns();
    let loops = 0;
    let isDone = false;
    const started: number[] = [];
    const long = () =>
      turns.run(
        { org: 'acme', beginsLong: true },
        steps(1, 10, () => started.push(loops)),
      );
    const work = Promise.all([long(), long(), long()]).then(() => {
      isDone = true;
    });
    for (; !isDone; loops += 1) await new Promise((resolve) => setImmediate(resolve));
    await work;
    expect(new Set(started).size).toBe(3);
  });

  test('count all runs of a job together', async () => {
    const turns = new Turns();
    const job: Job = { org: 'acme', budgetMs: 1_000 };
    await turns.run(job, steps(8, 1));
    expect(job.spentMs).toBeGreaterThanOrEqual(8);
    job.spentMs = 1_000;
    await expect(turns.run(job, steps(10_000, 1))).rejects.toMatchObject({ code: 'too_costly' });
  });

  test('end work that nobody waits for', async () => {
    const turns = new Turns();
    const gone = new AbortController();
    const work = turns.run({ org: 'acme', signal: gone.signal }, steps(10_000, 1));
    setImmediate(() => gone.abort(new Error('gone')));
    await expect(work).rejects.toThrow('gone');
  });
});
