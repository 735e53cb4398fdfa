import { type Append, AppendQueue } from '../../src/event-log/append-queue.js';
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

    expect([queue.take(), queue.take(), queue.take()]).toEqual([first, second, undefined]);
    expect(queue.pending).toEqual({ entries: 5, bytes: 10 });
    queue.release(first);
    expect(queue.pending).toEqual({ entries: 2, bytes: 4 });
    queue.release(second);
    expect(queue.pending).toEqual({ entries: 0, bytes: 0 });
  });

  test('is full with what was taken and not released', () => {
    const queue = new AppendQueue(bounds);
    const first = append(9);
    queue.add(first);
    queue.take();

    expect(queue.add(append(2))).toMatchObject({ code: 'log_unavailable' });
    expect(queue.add(append(1))).toBeUndefined();
    queue.release(first);
    expect(queue.add(append(9))).toBeUndefined();
  });

  test('takes one that is larger than itself when it is empty', () => {
    const queue = new AppendQueue(bounds);
    const large = append(50);

    expect(queue.add(large)).toBeUndefined();
    expect(queue.add(append(1))).toMatchObject({ code: 'log_unavailable' });
    queue.take();
    queue.release(large);
    expect(queue.add(append(1))).toBeUndefined();
  });

  test('has nothing pending after all was taken', () => {
    const queue = new AppendQueue(bounds);
    queue.add(append(3));
    queue.add(append(4));

    expect(queue.takeAll()).toHaveLength(2);
    expect(queue.pending).toEqual({ entries: 0, bytes: 0 });
    expect(queue.takeAll()).toEqual([]);
  });
});
