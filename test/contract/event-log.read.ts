import { CorruptRecord, PositionOutOfRange } from '../../src/event-log/event-log.js';
import {
  byPartition,
  type EventLogHarness,
  entries,
  entry,
  isAscending,
  type LogCases,
  placeOf,
  readAll,
  readBatches,
  tail,
  textOf,
  texts,
} from './event-log.harness.js';
import { need, settled, sleep, until } from './harness.js';

export function readCases({ it, itWith }: LogCases): void {
  it('has a head of 0 in every partition while it is empty', async ({ log }) => {
    expect(Object.values(await log.head('audit')).every((offset) => offset === 0)).toBe(true);
    expect(Object.values(await log.head('control')).every((offset) => offset === 0)).toBe(true);
  });

  it('has a head just behind the newest record of each partition', async ({ log }) => {
    const positions = await log.append(entries(60, 'h'));

    const head = await log.head('audit');
    for (const [partition, group] of Map.groupBy(positions, (position) => position.partition)) {
      expect(head[partition]).toBe(Math.max(...group.map(({ offset }) => offset)) + 1);
    }
  });

  it('has a head that includes every append that resolved before', async ({ log }) => {
    await Promise.all(
      entries(50, 'h').map(async (one) => {
        const [position] = await log.append([one]);
        const head = await log.head('audit');
        expect(head[position?.partition ?? -1]).toBeGreaterThan(position?.offset ?? Number.POSITIVE_INFINITY);
      }),
    );
  });

  it('gives batches that are never empty, of one partition, ascending, and say where to go on', async ({ log }) => {
    await log.append(entries(500, 'b'));

    const batches = await readBatches(log);
    expect(batches.length).toBeGreaterThan(0);
    for (const { partition, records, next } of batches) {
      expect(records.length).toBeGreaterThan(0);
      expect(new Set(records.map((record) => record.partition))).toEqual(new Set([partition]));
      expect(isAscending(records.map(({ offset }) => offset))).toBe(true);
      expect(next).toBeGreaterThan(records.at(-1)?.offset ?? Number.POSITIVE_INFINITY);
    }
  });

  it('gives the records of a partition in order over all batches', async ({ log }) => {
    for (let round = 0; round < 30; round += 1) await log.append(entries(20, `${round}-`));

    const partitions = byPartition(await readAll(log));
    expect(partitions.flat()).toHaveLength(600);
    for (const records of partitions) expect(isAscending(records.map(({ offset }) => offset))).toBe(true);
  });

  it('starts midway at exactly the offsets it is given', async ({ log }) => {
    const positions = await log.append(entries(100, 'm'));
    const middle: Record<number, number> = {};
    for (const { partition, offset } of positions.slice(0, 50)) middle[partition] = offset + 1;

    const expected = positions.filter(({ partition, offset }) => offset >= (middle[partition] ?? 0));
    expect(expected.length).toBeGreaterThan(0);
    expect((await readAll(log, 'audit', middle)).map(placeOf).sort()).toEqual(expected.map(placeOf).sort());
  });

  it('goes on where a batch says, without a gap or a repetition', async ({ log }) => {
    await log.append(entries(300, 'r', { key: 'one' }));
    const stop = new AbortController();
    const first = await log.read('audit', {}, stop.signal)[Symbol.asyncIterator]().next();
    stop.abort();
    const batch = need(first.done ? undefined : first.value, 'first batch');

    const rest = await readAll(log, 'audit', { [batch.partition]: batch.next });

    expect([...texts(batch.records), ...texts(rest)]).toEqual(texts(entries(300, 'r')));
  });

  it('starts a partition that is not named at 0', async ({ log, partitions }) => {
    const positions = await log.append(entries(60, 'p'));
    const head = await log.head('audit');
    const skipped = 0;

    const read = await readAll(log, 'audit', { [skipped]: head[skipped] ?? 0 });

    const others = positions.filter(({ partition }) => partition !== skipped);
    expect(new Set(others.map(({ partition }) => partition)).size).toBe(partitions - 1);
    expect(read.map(placeOf).sort()).toEqual(others.map(placeOf).sort());
  });

  it('goes on with what is appended later', async ({ log }) => {
    await log.append(entries(10, 'early'));
    const reader = tail(log);
    await until(() => reader.records.length === 10, 'the early records are there');

    await log.append(entries(10, 'late'));

    await until(() => reader.records.length === 20, 'the late records are there');
    await reader.stop();
    expect(texts(reader.records.slice(10)).sort()).toEqual(texts(entries(10, 'late')));
  });

  it('gives a reader at the head only what comes later', async ({ log }) => {
    await log.append(entries(10, 'early'));
    const reader = tail(log, 'audit', await log.head('audit'));

    await log.append(entries(3, 'late'));

    await until(() => reader.records.length >= 3, 'the late records are there');
    await reader.stop();
    expect(texts(reader.records).sort()).toEqual(texts(entries(3, 'late')));
  });

  it('neither misses nor repeats a record while many append at the head', async ({ log }) => {
    const reader = tail(log);
    const written: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      const call = Array.from({ length: 10 }, (_, index) => entry(`${round}-${index}`));
      written.push(...texts(call));
      await Promise.all(call.map((one) => log.append([one])));
    }

    await until(() => reader.records.length >= written.length, 'the reader has all');
    await reader.stop();
    expect(texts(reader.records).sort()).toEqual(written.sort());
    for (const records of byPartition(reader.records))
      expect(isAscending(records.map(({ offset }) => offset))).toBe(true);
  });

  it('gives nothing, without an error, to a reader that was aborted before', async ({ log }) => {
    await log.append(entries(5, 'a'));
    const batches = [];

    for await (const batch of log.read('audit', {}, AbortSignal.abort())) batches.push(batch);

    expect(batches).toEqual([]);
  });

  it('ends without an error when aborted while it waits for records', async ({ log }) => {
    await log.append([entry('only')]);
    const reader = tail(log);
    await until(() => reader.records.length === 1, 'the reader waits');
    await sleep(20);

    await reader.stop();

    await log.append([entry('unread')]);
    expect(texts(reader.records)).toEqual(['only']);
  });

  it('ends without an error when aborted between two batches', async ({ log }) => {
    const stop = new AbortController();
    const iterator = log.read('audit', {}, stop.signal)[Symbol.asyncIterator]();
    await log.append([entry('first')]);
    expect((await iterator.next()).done).toBe(false);
    await log.append([entry('second')]);

    stop.abort();

    expect((await iterator.next()).done).toBe(true);
  });

  it('lets a reader leave early, and serves others as before', async ({ log }) => {
    await log.append(entries(20, 'a'));
    const stop = new AbortController();
    for await (const _ of log.read('audit', {}, stop.signal)) break;

    await log.append(entries(20, 'b'));

    expect(await readAll(log)).toHaveLength(40);
  });

  it('gives a reader that is slower than the writer all, in order', async ({ log }) => {
    const value = Buffer.alloc(4096, 'v');
    const stop = new AbortController();
    const reader = (async () => {
      const keys: string[] = [];
      for await (const batch of log.read('audit', {}, stop.signal)) {
        await sleep(5);
        keys.push(...batch.records.map(({ headers }) => headers.n ?? ''));
        if (keys.length >= 3000) stop.abort();
      }
      return keys;
    })();

    const numbered = Array.from({ length: 3000 }, (_, n) =>
      entry('', { key: 'one', headers: { v: '1', n: `${n}` }, value }),
    );
    for (let start = 0; start < 3000; start += 300) await log.append(numbered.slice(start, start + 300));

    expect(await reader).toEqual(numbered.map(({ headers }) => headers.n));
  });

  it('lets a reader that does not ask hold up neither the writer nor another reader', async ({ log }) => {
    const stop = new AbortController();
    const idle = log.read('audit', {}, stop.signal)[Symbol.asyncIterator]();
    await log.append(entries(5, 'a'));
    await idle.next();

    await log.append(entries(500, 'b'));

    expect(await readAll(log)).toHaveLength(505);
    stop.abort();
    expect((await idle.next()).done).toBe(true);
  });

  it('gives each of two readers all', async ({ log }) => {
    const readers = [tail(log), tail(log)];
    await log.append(entries(100, 'x'));

    for (const reader of readers) {
      await until(() => reader.records.length >= 100, 'each reader has all');
      await reader.stop();
      expect(texts(reader.records).sort()).toEqual(texts(entries(100, 'x')).sort());
    }
  });

  it('gives a reader of one topic nothing of another', async ({ log }) => {
    const reader = tail(log, 'control');
    await log.append(entries(20, 'audit'));
    await log.append([entry('mine', { topic: 'control' })]);

    await until(() => reader.records.length > 0, 'the record of the topic is there');
    await reader.stop();
    expect(reader.records.map((record) => [record.topic, textOf(record)])).toEqual([['control', 'mine']]);
  });

  it('throws PositionOutOfRange beyond the head, never a silent reset', async ({ log }) => {
    const [position] = await log.append([entry('a', { topic: 'control' })]);

    const reader = tail(log, 'control', { 0: (position?.offset ?? 0) + 2 });

    await expect(reader.ended).rejects.toBeInstanceOf(PositionOutOfRange);
    expect(reader.records).toEqual([]);
  });

  it('throws PositionOutOfRange when only one of the partitions is beyond the head', async ({ log }) => {
    await log.append(entries(60, 'a'));
    const head = await log.head('audit');

    await expect(tail(log, 'audit', { ...head, 1: (head[1] ?? 0) + 1 }).ended).rejects.toBeInstanceOf(
      PositionOutOfRange,
    );
  });

  it('throws PositionOutOfRange beyond the head of an empty log', async ({ log }) => {
    await expect(tail(log, 'audit', { 0: 1 }).ended).rejects.toBeInstanceOf(PositionOutOfRange);
  });

  it('ends its readers at close without an error', async (harness) => {
    await harness.log.append([entry('a')]);
    const reader = tail(harness.log);
    await until(() => reader.records.length === 1, 'the reader waits');

    await harness.log.close();

    expect(await settled(reader.ended)).toEqual({ value: undefined });
  });

  itWith.corrupt('throws CorruptRecord at a record whose bytes were altered, and never gives it', async (harness) => {
    const reader = tail((await corruptedAt12(harness)).log, 'control');

    await expect(reader.ended).rejects.toBeInstanceOf(CorruptRecord);
    expect(reader.records.length).toBeLessThanOrEqual(12);
  });

  itWith.corrupt('gives all records before the one whose bytes were altered', async (harness) => {
    const reader = tail((await corruptedAt12(harness)).log, 'control');

    expect(await settled(reader.ended)).toHaveProperty('error');
    expect(texts(reader.records)).toEqual(texts(entries(12, 'c')));
  });

  itWith.corrupt('reads on behind a record whose bytes were altered', async (harness) => {
    const { log, altered } = await corruptedAt12(harness);

    expect(texts(await readAll(log, 'control', { 0: altered.offset + 1 }))).toEqual(texts(entries(20, 'c')).slice(13));
  });
}

/** A log of 20 records in `control`, of which number 12 was altered. */
async function corruptedAt12(harness: EventLogHarness) {
  const positions = await harness.log.append(entries(20, 'c', { topic: 'control' }));
  const altered = need(positions[12], 'position');
  return { log: await need(harness.corrupt?.bind(harness), 'corrupt')('control', altered), altered };
}
