import { Kafka, logLevel } from 'kafkajs';
import { CorruptRecord, PositionOutOfRange } from '../../src/event-log/event-log.js';
import { entries, entry, isAscending, readAll, tail, texts } from '../contract/event-log.harness.js';
import { settled, sleep, until } from '../contract/harness.js';
import { FETCH } from '../support/kafka-proxy.js';
import { PATIENCE } from '../support/patience.js';
import { KafkaWorld } from './kafka-support.js';
import { clusterSuite } from './support.js';

clusterSuite('reading from Kafka', ({ kafkaBrokers }) => {
  let world = new KafkaWorld(kafkaBrokers);
  beforeEach(() => {
    world = new KafkaWorld(kafkaBrokers);
  });
  afterEach(() => world.close());

  async function behindProxy(options: Parameters<KafkaWorld['open']>[0] = {}) {
    const proxy = await world.proxy();
    return { proxy, log: await world.open({ route: () => proxy.address, ...options }) };
  }

  test('goes on where it was when its connections are cut, without a gap or a repetition', async () => {
    const { proxy, log } = await behindProxy();
    const writer = await world.open();
    const reader = tail(log);
    const cutting = setInterval(() => proxy.cut(), 60);
    const written: string[] = [];
    for (let round = 0; round < 60; round += 1) {
      const call = entries(20, `${round}-`);
      written.push(...texts(call));
      await writer.append(call);
    }

    clearInterval(cutting);
    await until(() => reader.records.length >= written.length, 'the reader has all');
    await reader.stop();
    expect(texts(reader.records).sort()).toEqual(written.sort());
    for (const records of Map.groupBy(reader.records, ({ partition }) => partition).values()) {
      expect(isAscending(records.map(({ offset }) => offset))).toBe(true);
    }
  });

  test('goes on by itself when Kafka is back', async () => {
    const { proxy, log } = await behindProxy();
    const writer = await world.open();
    const reader = tail(log, 'control');
    await writer.append([entry('before', { topic: 'control' })]);
    await until(() => reader.records.length === 1, 'the first record is there');
    proxy.refuse();
    await writer.append([entry('during', { topic: 'control' })]);
    await sleep(600);
    expect(texts(reader.records)).toEqual(['before']);
    proxy.accept();

    await until(() => reader.records.length === 2, 'the second record is there');

    await reader.stop();
    expect(texts(reader.records)).toEqual(['before', 'during']);
  });

  test('ends at once when it is aborted while Kafka is away', async () => {
    const { proxy, log } = await behindProxy();
    const reader = tail(log);
    await sleep(100);
    proxy.onAnswer = () => 'drop';
    proxy.cut();
    await sleep(200);
    const started = Date.now();

    await reader.stop();

    // Sooner than Kafka would be given up.
    expect(Date.now() - started).toBeLessThan(1_500 * PATIENCE);
  });

  test('gives no record of a batch whose bytes were altered, but all before it', async () => {
    const { proxy, log } = await behindProxy();
    await log.append(entries(5, 'sound', { topic: 'control' }));
    await log.append([entry('secret of the third', { topic: 'control' }), entry('beside it', { topic: 'control' })]);
    await log.append(entries(5, 'after', { topic: 'control' }));
    proxy.onAnswer = (apiKey, message) => {
      const at = apiKey === FETCH ? message.indexOf('secret') : -1;
      if (at >= 0) message[at] = 'S'.charCodeAt(0);
      return message;
    };
    const reader = tail(log, 'control');

    await expect(reader.ended).rejects.toBeInstanceOf(CorruptRecord);
    expect(texts(reader.records)).toEqual(texts(entries(5, 'sound')));
    await expect(reader.ended).rejects.toThrow(`control/0: the batch at 5: its checksum is another`);
    expect(texts(await readAll(log, 'control', { 0: 7 }))).toEqual(texts(entries(5, 'after')));
  });

  test('ends with PositionOutOfRange where the records at its place were deleted', async () => {
    const log = await world.open();
    await log.append(entries(10, 'a', { topic: 'control' }));
    await world.deleteRecordsBefore(4, 'control');

    await expect(tail(log, 'control', { 0: 3 }).ended).rejects.toThrow(
      new PositionOutOfRange(`${world.prefix}control/0 has records from 4 to 10; cannot read from 3`),
    );
    await expect(tail(log, 'control').ended).rejects.toBeInstanceOf(PositionOutOfRange);
    expect(texts(await readAll(log, 'control', { 0: 4 }))).toEqual(texts(entries(10, 'a')).slice(4));
  });

  test('ends with PositionOutOfRange when the records at its place are deleted while it reads', async () => {
    const { proxy, log } = await behindProxy();
    const writer = await world.open();
    const reader = tail(log, 'control');
    await writer.append(entries(3, 'a', { topic: 'control' }));
    await until(() => reader.records.length === 3, 'the reader is at the end');
    proxy.refuse();
    await writer.append(entries(7, 'b', { topic: 'control' }));
    await world.deleteRecordsBefore(9, 'control');
    proxy.accept();

    await expect(reader.ended).rejects.toBeInstanceOf(PositionOutOfRange);
    expect(reader.records).toHaveLength(3);
  });

  test('ends with PositionOutOfRange when the topic is deleted and made again', async () => {
    const log = await world.open();
    await log.append(entries(3, 'old', { topic: 'control' }));
    const reader = tail(log, 'control');
    await until(() => reader.records.length === 3, 'the reader is at the end');
    const admin = await world.admin();
    await admin.deleteTopics({ topics: [`${world.prefix}control`] });
    await sleep(300);
    const other = await world.open();
    await other.append(entries(20, 'new', { topic: 'control' }));

    await expect(reader.ended).rejects.toThrow(
      `${world.prefix}control was deleted and made again since this process started`,
    );
    expect(reader.records).toHaveLength(3);
  });

  test('takes partitions in turn when it is slower than all of them', async () => {
    const log = await world.open();
    for (let round = 0; round < 3; round += 1) await log.append(entries(5000, `${round}-`));
    const seen: number[] = [];
    const stop = new AbortController();
    for await (const { partition } of log.read('audit', {}, stop.signal)) {
      seen.push(partition);
      if (seen.length === 9) break;
      // A fetch need not have room for all partitions; the next one comes meanwhile.
      await sleep(20);
    }

    expect(new Set(seen).size).toBe(3);
    expect(Math.max(...[0, 1, 2].map((partition) => seen.filter((one) => one === partition).length))).toBeLessThan(7);
  });

  test('gives batches of at most 1,000 records that say exactly where to go on', async () => {
    const log = await world.open();
    await log.append(entries(1700, 'n', { key: 'one' }));
    const next: number[] = [];
    const stop = new AbortController();
    for await (const batch of log.read('audit', {}, stop.signal)) {
      expect(batch.records.length).toBeLessThanOrEqual(1_000);
      expect(batch.next).toBe((batch.records.at(-1)?.offset ?? -1) + 1);
      next.push(batch.next);
      if (batch.next === 1700) break;
    }
    expect(isAscending(next)).toBe(true);
  });

  test('reads what another client wrote, without keys, values or headers', async () => {
    const log = await world.open();
    const producer = new Kafka({ brokers: [...kafkaBrokers], logLevel: logLevel.NOTHING }).producer({
      createPartitioner: () => () => 0,
    });
    await producer.connect();
    const messages = [{ value: null }, { key: 'k', value: 'v', headers: { __proto__x: Buffer.from('1'), n: '2' } }];
    await producer.send({ topic: `${world.prefix}control`, messages });
    await producer.disconnect();

    const [empty, full] = await readAll(log, 'control');

    expect([empty?.key, empty?.value.byteLength, empty?.headers]).toEqual(['', 0, {}]);
    expect([full?.key, full?.headers]).toEqual(['k', { __proto__x: '1', n: '2' }]);
  });

  test('uses no group', async () => {
    const log = await world.open();
    await log.append([entry('a')]);
    const admin = await world.admin();
    const before = (await admin.listGroups()).groups.length;
    const reader = tail(log);
    await until(() => reader.records.length === 1, 'the reader reads');

    expect((await admin.listGroups()).groups.length).toBeLessThanOrEqual(before);
    await reader.stop();
  });

  test('answers its head with log_unavailable after about two seconds while Kafka is away', async () => {
    const { proxy, log } = await behindProxy();
    const position = await log.append([entry('a', { topic: 'control' })]);
    for (const fail of [() => proxy.refuse(), () => silence()]) {
      fail();
      const started = Date.now();
      const heads = await Promise.all(Array.from({ length: 5 }, () => settled(log.head('control'))));
      expect(heads).toEqual(
        Array.from({ length: 5 }, () => ({ error: expect.objectContaining({ code: 'log_unavailable' }) })),
      );
      expect(Date.now() - started).toBeGreaterThan(1_500);
      expect(Date.now() - started).toBeLessThan(5_000 * PATIENCE);
      proxy.accept();
      proxy.onAnswer = undefined;
    }
    expect(await log.head('control')).toEqual({ 0: (position[0]?.offset ?? 0) + 1 });

    function silence() {
      proxy.onAnswer = () => 'drop';
    }
  });
});
