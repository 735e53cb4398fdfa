import { InProcessProgressFeed, type ProgressUpdate } from '../../src/progress/progress-feed.js';
import { Waiters } from '../../src/progress/waiters.js';

function setUp() {
  const feed = new InProcessProgressFeed();
  const waiters = new Waiters(feed);
  const searchable = (to: number, more: Partial<ProgressUpdate> = {}) =>
    feed.publish({ topic: 'audit', generation: 1, partition: 0, indexed: to, searchable: to, outcomes: [], ...more });
  const waitFor = (offset: number, timeoutMs = 1_000, partition = 0) =>
    waiters.waitFor('audit', { partition, offset }, timeoutMs);
  const waitForAll = (positions: readonly [partition: number, offset: number][], timeoutMs = 1_000) =>
    waiters.waitForAll(
      'audit',
      positions.map(([partition, offset]) => ({ partition, offset })),
      timeoutMs,
    );
  return { waiters, searchable, waitFor, waitForAll };
}

describe('waiting until a record is searchable', () => {
  it('releases everyone below the watermark, and nobody at it', async () => {
    const { searchable, waitFor } = setUp();
    const waits = [waitFor(0), waitFor(6), waitFor(7, 10)];
    await searchable(7);
    expect(await Promise.all(waits)).toEqual([{ code: 'searchable' }, { code: 'searchable' }, { code: 'timeout' }]);
  });

  it('resolves at once for a record that is already searchable', async () => {
    const { searchable, waitFor } = setUp();
    await searchable(3);
    expect(await waitFor(2, 0)).toEqual({ code: 'searchable' });
  });

  it('keeps partitions and topics apart', async () => {
    const { searchable, waitFor } = setUp();
    const other = waitFor(0, 10, 1);
    await searchable(5);
    await searchable(5, { topic: 'control' });
    expect(await other).toEqual({ code: 'timeout' });
  });

  it('returns the outcome of a record, whether asked before or after', async () => {
    const { searchable, waitFor } = setUp();
    const before = waitFor(1);
    const conflict = { offset: 1, code: 'conflict', id: 'x' } as const;
    await searchable(2, { outcomes: [conflict] });
    expect(await before).toEqual(conflict);
    expect(await waitFor(1)).toEqual(conflict);
    expect(await waitFor(0)).toEqual({ code: 'searchable' });
  });

  it('never goes back within a generation', async () => {
    const { searchable, waitFor } = setUp();
    await searchable(9);
    await searchable(4);
    expect(await waitFor(8, 0)).toEqual({ code: 'searchable' });
  });

  it('does not believe a generation that was left', async () => {
    const { searchable, waitFor } = setUp();
    await searchable(9, { generation: 2 });
    await searchable(100, { generation: 1 });
    expect(await waitFor(50, 10)).toEqual({ code: 'timeout' });
  });

  it('starts again with a new generation', async () => {
    const { searchable, waitFor } = setUp();
    await searchable(9);
    await searchable(3, { generation: 2 });
    expect(await waitFor(5, 10)).toEqual({ code: 'timeout' });
    expect(await waitFor(2)).toEqual({ code: 'searchable' });
  });

  it('ends every wait when the process stops', async () => {
    const { waiters, waitFor } = setUp();
    const wait = waitFor(0, 60_000);
    waiters.close();
    expect(await wait).toEqual({ code: 'timeout' });
    expect(await waitFor(0, 60_000)).toEqual({ code: 'timeout' });
  });

  it('returns the outcome of each of many records once the last is searchable', async () => {
    const { searchable, waitForAll } = setUp();
    let ended = false;
    const all = waitForAll([
      [0, 4],
      [1, 0],
      [0, 3],
    ]).finally(() => {
      ended = true;
    });
    const duplicate = { offset: 3, code: 'duplicate', id: 'x' } as const;
    await searchable(4, { outcomes: [duplicate] });
    await searchable(1, { partition: 1 });
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    await searchable(5);
    expect(await all).toEqual([{ code: 'searchable' }, { code: 'searchable' }, duplicate]);
  });

  it('returns which of many records are searchable when the time is over', async () => {
    const { searchable, waitForAll } = setUp();
    const all = waitForAll(
      [
        [0, 2],
        [0, 7],
        [1, 0],
      ],
      10,
    );
    await searchable(3);
    expect(await all).toEqual([{ code: 'searchable' }, { code: 'timeout' }, { code: 'timeout' }]);
  });
});
