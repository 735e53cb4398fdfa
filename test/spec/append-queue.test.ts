import { type Append, AppendQueue, type Queued } from '../../src/event-log/append-queue.js';
import { entries } from '../contract/event-log.harness.js';

describe('the queue of appends', () => {
  const bounds = { entries: 10, bytes: 1000, recordBytes: 100 };
  const append = (count: number): Append => ({
    entries: entries(count, 'n', { key: '', headers: {} }),
    resolve: () => undefined,
    reject: () => undefined,
  });

  test('gives what waits in its order, and counts it until it is released', () => {
    const queue = new AppendQueue(bounds);
    const [first, second] = [append(3), append(2)];
    queue.add(first);
    queue.add(second);

    const taken = [take(queue), take(queue)] as const;
    expect(taken.map(({ append }) => append)).toEqual([first, second]);
    expect(queue.take()).toBeUndefined();
    expect(queue.pending).toEqual({ entries: 5, bytes: 10 });
    queue.release(taken[0]);
    expect(queue.pending).toEqual({ entries: 2, bytes: 4 });
    queue.release(taken[1]);
    expect(queue.pending).toEqual({ entries: 0, bytes: 0 });
  });

  test('is full with what was taken and not released', () => {
    const queue = new AppendQueue(bounds);
    queue.add(append(9));
    const first = take(queue);

    expect(queue.add(append(2))).toMatchObject({ code: 'log_unavailable' });
    expect(queue.add(append(1))).toBeUndefined();
    queue.release(first);
    expect(queue.add(append(9))).toBeUndefined();
  });

  test('takes one that is larger than itself when it is empty', () => {
    const queue = new AppendQueue(bounds);

    expect(queue.add(append(50))).toBeUndefined();
    expect(queue.add(append(1))).toMatchObject({ code: 'log_unavailable' });
    queue.release(take(queue));
    expect(queue.add(append(1))).toBeUndefined();
  });

  test('gives all at once, and has nothing pending when all of it was released', () => {
    const queue = new AppendQueue(bounds);
    queue.add(append(3));
    queue.add(append(4));

    const taken = queue.takeUpTo({ entries: 100, bytes: 1_000 });
    expect(taken).toHaveLength(2);
    expect(queue.pending).toMatchObject({ entries: 7 });
    for (const one of taken) queue.release(one);
    expect(queue.pending).toEqual({ entries: 0, bytes: 0 });
    expect(queue.takeUpTo({ entries: 100, bytes: 1_000 })).toEqual([]);
  });
});

function take(queue: AppendQueue): Queued {
  const queued = queue.take();
  if (!queued) throw new Error('nothing waits');
  return queued;
}
