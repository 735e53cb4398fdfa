import { randomUUID } from 'node:crypto';
import {
  type Batch,
  type Consumer,
  type EventLog,
  PositionOutOfRange,
  type Topic,
} from '../../src/event-log/event-log.js';
import { entries, entry, isAscending, type LogCases, placeOf, textOf, texts } from './event-log.harness.js';
import { settled, sleep, until } from './harness.js';

export function consumeCases({ it }: LogCases): void {
  it('takes over all partitions when it is alone in its group', async ({ log, partitions }) => {
    const run = consume(log);
    await until(() => run.assigned.length === partitions, 'all partitions are assigned');
    await run.stop();

    expect(run.assigned.toSorted()).toEqual(Array.from({ length: partitions }, (_, index) => index));
  });

  it('hands over what is there, then what is appended later', async ({ log }) => {
    await log.append(entries(20, 'early'));
    const run = consume(log);
    await until(() => run.handled().length === 20, 'the early records are handled');

    await log.append(entries(20, 'late'));

    await until(() => run.handled().length === 40, 'the late records are handled');
    await run.stop();
    expect(texts(run.handled().slice(20)).sort()).toEqual(texts(entries(20, 'late')).sort());
  });

  it('starts in each partition where `assigned` answers', async ({ log }) => {
    const positions = await log.append(entries(60, 's'));
    const start: Record<number, number> = {};
    for (const { partition, offset } of positions.slice(0, 30)) start[partition] = offset + 1;
    const expected = positions.filter(({ partition, offset }) => offset >= (start[partition] ?? 0));

    const run = consume(log, { assigned: async () => start });
    await until(() => run.handled().length >= expected.length, 'the rest is handled');
    await run.stop();

    expect(run.handled().map(placeOf).sort()).toEqual(expected.map(placeOf).sort());
  });

  it('keeps the order of each partition', async ({ log }) => {
    for (let round = 0; round < 20; round += 1) await log.append(entries(20, `${round}-`));

    const run = consume(log);
    await until(() => run.handled().length >= 400, 'all is handled');
    await run.stop();

    expect(run.handled()).toHaveLength(400);
    for (const batches of Map.groupBy(run.batches, ({ partition }) => partition).values()) {
      expect(isAscending(batches.flatMap(({ records }) => records.map(({ offset }) => offset)))).toBe(true);
    }
  });

  it('has one batch of a partition in hand at a time, and the next only when it is done', async ({ log }) => {
    const inHand = new Map<number, number>();
    const overlaps: number[] = [];
    const run = consume(log, {
      handle: async ({ partition }) => {
        inHand.set(partition, (inHand.get(partition) ?? 0) + 1);
        await sleep(4);
        if (inHand.get(partition) !== 1) overlaps.push(partition);
        inHand.set(partition, (inHand.get(partition) ?? 0) - 1);
      },
    });
    for (let round = 0; round < 15; round += 1) {
      await log.append(entries(20, `${round}-`));
      await sleep(2);
    }

    await until(() => run.handled().length >= 300, 'all is handled');
    await run.stop();
    expect(overlaps).toEqual([]);
    expect(run.batches.length).toBeGreaterThan(3);
  });

  it('ends with the error of a `handle` that rejects, though other partitions wait', async ({ log }) => {
    const failure = new Error('cannot');
    await log.append([entry('bad')]);
    const run = consume(log, { handle: () => Promise.reject(failure) });

    expect(await settled(run.ended)).toEqual({ error: failure });
  });

  it('hands over no more of a partition whose `handle` rejected', async ({ log }) => {
    const seen: string[] = [];
    await log.append([entry('bad', { topic: 'control' })]);
    const run = consume(log, {
      topic: 'control',
      handle: async ({ records }) => {
        seen.push(...texts(records));
        throw new Error('cannot');
      },
    });
    expect(await settled(run.ended)).toHaveProperty('error');

    await log.append([entry('next', { topic: 'control' })]);
    await sleep(30);

    expect(seen).toEqual(['bad']);
  });

  it('ends with the error of an `assigned` that rejects', async ({ log }) => {
    const failure = new Error('no place');
    const run = consume(log, { assigned: () => Promise.reject(failure) });

    expect(await settled(run.ended)).toEqual({ error: failure });
    expect(run.batches).toEqual([]);
  });

  it('rejects with PositionOutOfRange when `assigned` answers a place beyond the head', async ({ log }) => {
    await log.append([entry('a', { topic: 'control' })]);
    const run = consume(log, { topic: 'control', assigned: async () => ({ 0: 100 }) });

    await expect(run.ended).rejects.toBeInstanceOf(PositionOutOfRange);
  });

  it('waits at an abort for the `handle` that runs, and starts no other', async ({ log }) => {
    await log.append(entries(10, 'a', { topic: 'control' }));
    const done: string[] = [];
    let started = 0;
    const run = consume(log, {
      topic: 'control',
      handle: async (batch) => {
        started += 1;
        await sleep(60);
        done.push(...texts(batch.records));
      },
    });
    await until(() => started === 1, 'a batch is in hand');
    await log.append(entries(10, 'b', { topic: 'control' }));

    await run.stop();

    expect(done.length).toBeGreaterThan(0);
    expect(started).toBe(1);
  });

  it('resolves when it is aborted while nothing is there', async ({ log }) => {
    const run = consume(log);
    await until(() => run.assigned.length > 0, 'partitions are assigned');

    expect(await settled(run.stop())).toEqual({ value: undefined });
    expect(run.batches).toEqual([]);
  });

  it('hands over the same records again to whoever starts at an older place', async ({ log }) => {
    await log.append(entries(40, 'again'));
    const first = consume(log);
    await until(() => first.handled().length >= 40, 'all is handled');
    await first.stop();

    const second = consume(log, { group: first.group });
    await until(() => second.handled().length >= 40, 'all is handled again');
    await second.stop();

    const facts = (run: Run) =>
      new Map(run.handled().map((record) => [placeOf(record), [textOf(record), record.time]]));
    expect(facts(second)).toEqual(facts(first));
  });

  it('hands over to each of two groups all', async ({ log }) => {
    const runs = [consume(log), consume(log)];
    await log.append(entries(50, 'g'));

    for (const run of runs) {
      await until(() => run.handled().length >= 50, 'each group has all');
      await run.stop();
      expect(texts(run.handled()).sort()).toEqual(texts(entries(50, 'g')).sort());
    }
  });
}

interface Run {
  readonly group: string;
  readonly assigned: number[];
  /** Whose `handle` resolved. */
  readonly batches: Batch[];
  handled(): Batch['records'][number][];
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

function consume(log: EventLog, options: Partial<Consumer> & { topic?: Topic } = {}): Run {
  const stop = new AbortController();
  const assigned: number[] = [];
  const batches: Batch[] = [];
  const group = options.group ?? `group-${randomUUID()}`;
  const consumer: Consumer = {
    group,
    assigned: async (partitions) => {
      assigned.push(...partitions);
      return (await options.assigned?.(partitions)) ?? {};
    },
    handle: async (batch) => {
      await options.handle?.(batch);
      batches.push(batch);
    },
  };
  const ended = log.consume(options.topic ?? 'audit', consumer, stop.signal);
  ended.catch(() => undefined);
  return {
    group,
    assigned,
    batches,
    handled: () => batches.flatMap(({ records }) => records),
    ended,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}
