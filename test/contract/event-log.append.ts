import type { LogEntry } from '../../src/event-log/event-log.js';
import fc from '../support/fast-check.js';
import { randomFor } from '../support/random.js';
import {
  byPartition,
  type EventLogHarness,
  entries,
  entry,
  isAscending,
  type LogCases,
  placeOf,
  readAll,
  textOf,
  texts,
} from './event-log.harness.js';

export function appendCases({ it }: LogCases, open: () => Promise<EventLogHarness>): void {
  it('resolves with one position an entry, in the order of the entries', async ({ log }) => {
    const appended = entries(50, 'e');

    const positions = await log.append(appended);

    const stored = new Map((await readAll(log)).map((record) => [placeOf(record), textOf(record)]));
    expect(positions.map((position) => stored.get(placeOf(position)))).toEqual(texts(appended));
  });

  it('resolves an empty append with no positions and appends nothing', async ({ log }) => {
    const [first] = await log.append([entry('a')]);
    const before = await log.head('audit');

    expect(await log.append([])).toEqual([]);

    expect(await log.head('audit')).toEqual(before);
    expect((await readAll(log)).map(placeOf)).toEqual([placeOf(first ?? { partition: -1, offset: -1 })]);
  });

  it('has after a reopen all that it acknowledged before', async (harness) => {
    const positions = await harness.log.append(entries(30, 'kept'));
    const before = await readAll(harness.log);

    const reopened = await harness.reopen();

    const after = await readAll(reopened);
    expect(after.map(placeOf).sort()).toEqual(positions.map(placeOf).sort());
    expect(new Set(after)).toEqual(new Set(before));
  });

  it('goes on after a reopen behind what was there before', async (harness) => {
    const [old] = await harness.log.append([entry('old', { key: 'k' })]);

    const reopened = await harness.reopen();
    const [young] = await reopened.append([entry('young', { key: 'k' })]);

    expect(young?.partition).toBe(old?.partition);
    expect(young?.offset).toBeGreaterThan(old?.offset ?? Number.POSITIVE_INFINITY);
    expect(texts(await readAll(reopened))).toEqual(['old', 'young']);
  });

  it('gives whole offsets from 0 that ascend within a partition', async ({ log, partitions }) => {
    const positions = [...(await log.append(entries(40, 'a'))), ...(await log.append(entries(40, 'b')))];

    expect(positions.every(({ offset }) => Number.isSafeInteger(offset) && offset >= 0)).toBe(true);
    expect(positions.every(({ partition }) => partition >= 0 && partition < partitions)).toBe(true);
    const offsets = [...Map.groupBy(positions, ({ partition }) => partition).values()];
    expect(offsets.every((group) => isAscending(group.map(({ offset }) => offset)))).toBe(true);
  });

  it('puts records of one key into one partition, in one call, over calls and after a reopen', async (harness) => {
    const keys = entries(20, 'key').map(({ key }) => key);
    const write = (text: string) => keys.flatMap((key) => [entry(text, { key }), entry(text, { key })]);
    const first = await harness.log.append(write('first'));
    const second = await harness.log.append(write('second'));
    const reopened = await harness.reopen();
    const third = await reopened.append(write('third'));

    const homes = new Map(keys.map((key, index) => [key, first[index * 2]?.partition]));
    for (const records of [first, second, third]) {
      expect(records.map(({ partition }) => partition)).toEqual(
        keys.flatMap((key) => [homes.get(key), homes.get(key)]),
      );
    }
  });

  it('spreads many keys over all partitions of a topic', async ({ log, partitions }) => {
    const positions = await log.append(entries(300, 'some/resource/'));

    expect(new Set(positions.map(({ partition }) => partition)).size).toBe(partitions);
  });

  it('keeps control in exactly one partition, whatever the keys', async ({ log }) => {
    const positions = await log.append(entries(100, 'group/', { topic: 'control' }));

    expect(new Set(positions.map(({ partition }) => partition))).toEqual(new Set([0]));
    expect(texts(await readAll(log, 'control'))).toEqual(texts(entries(100, 'group/')));
    expect(Object.keys(await log.head('control'))).toEqual(['0']);
  });

  it('keeps the order of the entries of one call within a partition', async ({ log }) => {
    await log.append(entries(200, 'n', { key: 'one' }));

    expect(texts(await readAll(log))).toEqual(texts(entries(200, 'n')));
  });

  it('keeps the order of the calls of one caller that does not wait in between', async ({ log }) => {
    const calls = entries(200, 'n', { key: 'one' }).map((one) => log.append([one]));

    const offsets = (await Promise.all(calls)).map(([position]) => position?.offset ?? -1);

    expect(isAscending(offsets)).toBe(true);
    expect(texts(await readAll(log))).toEqual(texts(entries(200, 'n')));
  });

  it('stores 200 concurrent appends whole, each at positions of its own', async ({ log }) => {
    const calls = Array.from({ length: 200 }, (_, call) => entries(3, `${call}-`));

    const positions = (await Promise.all(calls.map((call) => log.append(call)))).flat();

    expect(new Set(positions.map(placeOf)).size).toBe(600);
    const stored = await readAll(log);
    expect(stored).toHaveLength(600);
    const textAt = new Map(stored.map((record) => [placeOf(record), textOf(record)]));
    expect(positions.map((position) => textAt.get(placeOf(position)))).toEqual(texts(calls.flat()));
  });

  it('takes entries of several topics in one call and answers in their order', async ({ log }) => {
    const mixed = [
      entry('a', { topic: 'audit' }),
      entry('c', { topic: 'control' }),
      entry('d', { topic: 'audit.dead' }),
      entry('b', { topic: 'audit' }),
    ];

    const positions = await log.append(mixed);

    for (const [index, { topic }] of mixed.entries()) {
      const stored = await readAll(log, topic);
      const found = stored.find(
        (record) => placeOf(record) === placeOf(positions[index] ?? { partition: -1, offset: 0 }),
      );
      expect(found && [found.topic, textOf(found)]).toEqual([topic, textOf(mixed[index] ?? entry('?'))]);
    }
  });

  it('keeps topics apart: each is read and counted alone', async ({ log }) => {
    await log.append(entries(5, 'audit'));
    await log.append(entries(3, 'control', { topic: 'control' }));

    expect((await readAll(log, 'audit')).map(textOf).sort()).toEqual(texts(entries(5, 'audit')));
    expect(texts(await readAll(log, 'control'))).toEqual(texts(entries(3, 'control')));
    expect(await readAll(log, 'audit.dead')).toEqual([]);
  });

  const wide = Uint8Array.from({ length: 768 }, (_, index) => index);
  for (const [what, value] of [
    ['no bytes at all', new Uint8Array()],
    ['every byte from 0 to 255', wide.slice(0, 256)],
    ['a view into a larger buffer', wide.subarray(100, 200)],
    ['512 KiB of noise', randomFor('noise').bytes(512 * 1024)],
    ['bytes that are no UTF-8', Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80)],
  ] as const) {
    it(`gives back a value of ${what} as it was`, async ({ log }) => {
      await log.append([entry('before', { key: 'k' }), entry('', { key: 'k', value }), entry('after', { key: 'k' })]);

      const [, stored] = await readAll(log);
      expect(Buffer.compare(Buffer.from(stored?.value ?? []), Buffer.from(value))).toBe(0);
      expect(stored?.value.byteLength).toBe(value.byteLength);
    });
  }

  it('gives back keys of any Unicode as they were', async ({ log }) => {
    const keys = [
      '',
      ' ',
      'a/b/c',
      'ä',
      'a\u0308',
      '日本',
      '👩‍👩‍👧',
      '\u{10ffff}',
      "'; DROP TABLE records; --",
      'x'.repeat(1024),
    ];

    const positions = await log.append(keys.map((key) => entry(key, { key })));

    const keyAt = new Map((await readAll(log)).map((record) => [placeOf(record), record.key]));
    expect(positions.map((position) => keyAt.get(placeOf(position)))).toEqual(keys);
  });

  it('gives back headers as they were: none added, none lost', async ({ log }) => {
    const headers = { v: '12', empty: '', 'x-long': 'y'.repeat(2000), übër: '日本 👍', quoted: '"\\\n\'' };

    await log.append([entry('a', { key: 'k', headers }), entry('b', { key: 'k' })]);

    expect((await readAll(log)).map((record) => record.headers)).toEqual([headers, { v: '1' }]);
  });

  it('gives a record the same time at every reading, after a reopen too', async (harness) => {
    await harness.log.append(entries(10, 't'));
    const timesOf = async () => new Map((await readAll(harness.log)).map((record) => [placeOf(record), record.time]));
    const first = await timesOf();
    expect([...first.values()].every((time) => Number.isSafeInteger(time) && time > 0)).toBe(true);

    expect(await timesOf()).toEqual(first);
    await harness.reopen();
    expect(await timesOf()).toEqual(first);
  });

  it('never lets the time go backward within a partition', async ({ log }) => {
    for (let round = 0; round < 20; round += 1) await log.append(entries(10, `${round}-`));

    for (const records of byPartition(await readAll(log))) {
      const times = records.map(({ time }) => time);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
  });

  it('takes 5,000 entries in one call', async ({ log }) => {
    const many = entries(5000, 'many');

    const positions = await log.append(many);

    expect(new Set(positions.map(placeOf)).size).toBe(5000);
    expect((await readAll(log)).map(textOf).sort()).toEqual(texts(many).sort());
  });

  it('has an id that stays over a reopen', async (harness) => {
    const { id } = harness.log;
    await harness.log.append([entry('a')]);

    expect(id).not.toBe('');
    expect((await harness.reopen()).id).toBe(id);
  });

  it('has another id than another log', async ({ log }) => {
    const other = await open();
    try {
      expect(other.log.id).not.toBe(log.id);
    } finally {
      await other.destroy();
    }
  });

  it('holds, for any entries in any calls, what was appended, in order within each partition', async ({ log }) => {
    const bytes = fc.uint8Array({ maxLength: 40 });
    const anyEntry = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), value: bytes });
    const calls = fc.array(fc.array(anyEntry, { maxLength: 12 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(calls, async (batches) => {
        const from = await log.head('audit');
        const positions = await Promise.all(
          batches.map((batch) => log.append(batch.map((one) => entry('', { ...one })))),
        );
        const written = batches.flat().map((one, index) => ({ ...one, at: positions.flat()[index] }));
        const read = await readAll(log, 'audit', from);
        expect(read).toHaveLength(written.length);
        for (const key of 'abcde') expect(valuesOf(key, read)).toEqual(valuesOf(key, written));
      }),
      { numRuns: 20 },
    );
  });
}

const valuesOf = (key: string, list: readonly Pick<LogEntry, 'key' | 'value'>[]): string[] =>
  list.filter((one) => one.key === key).map(({ value }) => Buffer.from(value).toString('hex'));
