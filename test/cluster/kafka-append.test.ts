import type { LogRecord } from '../../src/event-log/event-log.js';
import type { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { entries, entry, isAscending, placeOf, readAll, textOf, texts } from '../contract/event-log.harness.js';
import { settled, sleep } from '../contract/harness.js';
import { type KafkaProxy, PRODUCE } from '../support/kafka-proxy.js';
import { PATIENCE } from '../support/patience.js';
import { randomFor } from '../support/random.js';
import { KafkaWorld } from './kafka-support.js';
import { clusterSuite } from './support.js';

const KEYS = 20;
const NOT_ENOUGH_REPLICAS = 19;

clusterSuite('appending to Kafka', ({ kafkaBrokers }) => {
  let world = new KafkaWorld(kafkaBrokers);
  let proxy: KafkaProxy;
  beforeEach(async () => {
    world = new KafkaWorld(kafkaBrokers);
    proxy = await world.proxy();
  });
  afterEach(() => world.close());

  /** Behind the proxy. Answers that are lost are missed after a moment; it may take several to open it. */
  async function open(options: Parameters<KafkaWorld['open']>[0] = {}): Promise<KafkaEventLog> {
    for (const deadline = Date.now() + 10_000 * PATIENCE; ; ) {
      const opened = await settled(world.open({ route: () => proxy.address, requestMs: 300, ...options }));
      if ('value' in opened) return opened.value;
      if (Date.now() > deadline) throw opened.error;
    }
  }

  /** 2,000 at once, of 20 keys; answers the texts that were acknowledged, with their places. */
  async function appendMany(log: KafkaEventLog, count = 2000): Promise<Map<string, string>> {
    const acknowledged = new Map<string, string>();
    await Promise.all(
      numbered(count).map(async (one) => {
        const [position] = await log.append([one]);
        if (position) acknowledged.set(textOf(one), placeOf(position));
      }),
    );
    return acknowledged;
  }

  test('gives every record the place that it says, and keeps order, over many flushes', async () => {
    const log = await open();

    const acknowledged = await appendMany(log, 5000);

    const stored = await readAll(log);
    expect(new Map(stored.map((record) => [textOf(record), placeOf(record)]))).toEqual(acknowledged);
    expect(firstCopiesInOrder(stored)).toBe(true);
  });

  test('loses nothing that it acknowledged when every 40th answer is lost, and keeps the order', async () => {
    const log = await open({ batchRecords: 20 });
    let answers = 0;
    let lost = 0;
    proxy.onAnswer = (apiKey) => {
      if (apiKey !== PRODUCE) return undefined;
      answers += 1;
      if (answers % 40 !== 0) return undefined;
      lost += 1;
      return 'drop';
    };

    const acknowledged = await appendMany(log);

    expect(lost).toBeGreaterThan(1);
    expect(acknowledged.size).toBe(2000);
    const stored = await readAll(log);
    const places = new Map(stored.map((record) => [placeOf(record), textOf(record)]));
    expect([...acknowledged].every(([text, place]) => places.get(place) === text)).toBe(true);
    expect(firstCopiesInOrder(stored)).toBe(true);
    // What was stored and not acknowledged was sent again.
    expect(stored.length).toBeGreaterThan(2000);
  });

  test('loses nothing that it acknowledged when its connections are cut again and again', async () => {
    const log = await open({ batchRecords: 20 });
    const cutting = setInterval(() => proxy.cut(), 40);

    const acknowledged = await appendMany(log);

    clearInterval(cutting);
    expect(acknowledged.size).toBe(2000);
    const stored = await readAll(log);
    const places = new Map(stored.map((record) => [placeOf(record), textOf(record)]));
    expect([...acknowledged].every(([text, place]) => places.get(place) === text)).toBe(true);
    expect(firstCopiesInOrder(stored)).toBe(true);
  });

  test('keeps the order of one long call across lost answers', async () => {
    const log = await open({ batchRecords: 100 });
    let answers = 0;
    proxy.onAnswer = (apiKey) => (apiKey === PRODUCE && ++answers % 7 === 0 ? 'drop' : undefined);

    const positions = await log.append(entries(3000, 'n', { key: 'one' }));

    expect(isAscending(positions.map(({ offset }) => offset))).toBe(true);
    expect(withoutCopies(texts(await readAll(log)))).toEqual(texts(entries(3000, 'n')));
  });

  test('has one request in flight at a time', async () => {
    const log = await open({ batchRecords: 10, requestMs: 5000 });
    let inFlight = 0;
    let most = 0;
    proxy.onRequest = (apiKey) => {
      if (apiKey === PRODUCE) most = Math.max(most, ++inFlight);
      return undefined;
    };
    proxy.onAnswer = (apiKey) => {
      if (apiKey === PRODUCE) inFlight -= 1;
      return undefined;
    };
    proxy.delayMs = 5;

    await appendMany(log, 500);

    expect(most).toBe(1);
  });

  test('sends many appends together', async () => {
    const log = await open({ requestMs: 5000 });
    let requests = 0;
    proxy.onRequest = (apiKey) => {
      if (apiKey === PRODUCE) requests += 1;
      return undefined;
    };

    await appendMany(log);

    expect(requests).toBeLessThanOrEqual(20);
  });

  test('splits what is too large for one batch, in one call and over calls', async () => {
    const log = await open({ requestMs: 5000 });
    const noise = randomFor('large appends');
    const large = (text: string) => entry(text, { key: 'one', value: noise.bytes(400 * 1024), headers: { v: text } });
    const call = Array.from({ length: 7 }, (_, index) => large(`${index}`));
    const calls = Array.from({ length: 7 }, (_, index) => log.append([large(`${index + 7}`)]));

    await Promise.all([log.append(call), ...calls]);

    const stored = await readAll(log);
    expect(stored.map(({ headers }) => Number(headers.v)).toSorted((a, b) => a - b)).toEqual([...Array(14).keys()]);
    expect(stored.every(({ value }) => value.byteLength === 400 * 1024)).toBe(true);
  });

  test('takes a record of just the largest size, and refuses a larger one', async () => {
    const log = await open({ requestMs: 5000 });
    const sized = (bytes: number) => entry('x', { key: 'k', value: Buffer.alloc(bytes), headers: { v: '1' } });

    await log.append([sized(900 * 1024 - 60), sized(10)]);

    await expect(log.append([sized(900 * 1024)])).rejects.toMatchObject({ code: 'payload_too_large' });
    expect((await readAll(log)).map(({ value }) => value.byteLength)).toEqual([900 * 1024 - 60, 10]);
  });

  test('takes a record of very many headers, or refuses it before anything is sent', async () => {
    const log = await open({ requestMs: 5000 });
    const headers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n}`, '']));

    await expect(log.append([entry('x', { headers: headers(100_000) })])).rejects.toMatchObject({
      code: 'payload_too_large',
    });
    await log.append([entry('y', { headers: headers(50_000) })]);

    const [stored] = await readAll(log);
    expect(Object.keys(stored?.headers ?? {})).toHaveLength(50_000);
  });

  test('goes on by itself after an outage that is shorter than its patience', async () => {
    const log = await open({ deliveryMs: 20_000 });
    await log.append([entry('before', { key: 'k' })]);
    proxy.refuse();
    const during = entries(50, 'during', { key: 'k' }).map((one) => log.append([one]));
    await sleep(700);
    proxy.accept();

    await Promise.all(during);

    expect(texts(await readAll(log))).toEqual(['before', ...texts(entries(50, 'during'))]);
  });

  test('fills its queue while Kafka is away, refuses the rest at once, and says truly what it took', async () => {
    const log = await open({ deliveryMs: 500, maxPending: { entries: 100, bytes: 1_000_000 }, batchRecords: 50 });
    proxy.refuse();

    const outcomes = entries(150, 'e').map((one) => settled(log.append([one])));
    expect(log.pending.entries).toBe(100);
    const refused = await Promise.all(outcomes.slice(100));
    expect(refused.every((one) => 'error' in one)).toBe(true);
    await Promise.all(outcomes);
    expect(log.pending).toEqual({ entries: 0, bytes: 0 });
    proxy.accept();

    await log.append([entry('after')]);
    expect(texts(await readAll(log))).toEqual(['after']);
  });

  test('tells of a call in several flushes that its outcome is unknown when only some of it is stored', async () => {
    const log = await open({ deliveryMs: 3_000, batchRecords: 10 });
    let answers = 0;
    proxy.onAnswer = (apiKey) => {
      if (apiKey === PRODUCE && ++answers === 2) proxy.refuse();
      return undefined;
    };

    await expect(log.append(entries(100, 'part', { key: 'k' }))).rejects.toMatchObject({ code: 'outcome_unknown' });
    proxy.accept();

    const stored = texts(await readAll(log));
    expect(stored.length).toBeGreaterThanOrEqual(10);
    expect(stored.length).toBeLessThan(100);
    expect(withoutCopies(stored)).toEqual(texts(entries(withoutCopies(stored).length, 'part')));
    await log.append([entry('after', { key: 'k' })]);
    expect(texts(await readAll(log)).at(-1)).toBe('after');
  });

  test.each([
    [19, 'log_unavailable', 'too few replicas in sync, before anything is written'],
    [29, 'log_unavailable', 'not allowed'],
    [10, 'log_unavailable', 'too large for the topic as it is set now'],
    [20, 'outcome_unknown', 'too few replicas in sync after it was written'],
    [7, 'outcome_unknown', 'the replicas did not confirm in time'],
    [6, 'outcome_unknown', 'no longer the leader, perhaps since it was written'],
    [56, 'outcome_unknown', 'a disk fault'],
  ] as const)('answers to Kafka error %i with %s: %s', async (errorCode, code, _meaning) => {
    const log = await open({ deliveryMs: 2_000, requestMs: 5_000 });
    proxy.onAnswer = (apiKey, message) => {
      if (apiKey !== PRODUCE) return undefined;
      // size, correlation, topics, name, partitions, partition, and then the error.
      message.writeInt16BE(errorCode, 4 + 4 + 4 + (2 + `${world.prefix}audit`.length) + 4 + 4);
      return message;
    };

    await expect(log.append([entry('x')])).rejects.toMatchObject({ name: 'ControlError', code });
  });

  test('stores the records of other partitions once while one partition is refused', async () => {
    const log = await open({ requestMs: 5_000 });
    const refused = 1;
    let refusals = 0;
    proxy.onAnswer = (apiKey, message) => {
      if (apiKey !== PRODUCE || refusals === 5) return undefined;
      const count = 4 + 4 + 4 + 2 + `${world.prefix}audit`.length;
      // Of each partition: its number, the error, the base offset, the time and the oldest offset.
      for (let at = count + 4, left = message.readInt32BE(count); left > 0; left -= 1, at += 30) {
        if (message.readInt32BE(at) !== refused) continue;
        message.writeInt16BE(NOT_ENOUGH_REPLICAS, at + 4);
        refusals += 1;
      }
      return message;
    };

    const acknowledged = await appendMany(log, 500);

    expect(refusals).toBe(5);
    expect(acknowledged.size).toBe(500);
    const others = (await readAll(log)).filter(({ partition }) => partition !== refused);
    expect(others.length).toBeGreaterThan(100);
    expect(withoutCopies(texts(others))).toHaveLength(others.length);
  });

  test('settles what is under way when it is closed during an outage, within seconds', async () => {
    const log = await open({ deliveryMs: 60_000 });
    await log.append([entry('before')]);
    proxy.refuse();
    const outcomes = entries(700, 'e').map((one) => settled(log.append([one])));
    const started = Date.now();

    await log.close();

    expect(Date.now() - started).toBeLessThan(8_000 * PATIENCE);
    for (const outcome of await Promise.all(outcomes)) {
      expect(outcome).toMatchObject({ error: { code: expect.stringMatching(/^(log_unavailable|outcome_unknown)$/) } });
    }
  });

  test('has no more in its queue than what waits', async () => {
    const log = await open({ requestMs: 5000 });
    const appended = Promise.all([log.append(entries(30, 'a')), log.append([entry('b')])]);
    expect(log.pending.entries).toBe(31);
    expect(log.pending.bytes).toBeGreaterThan(60);

    await appended;

    expect(log.pending).toEqual({ entries: 0, bytes: 0 });
  });
});

function numbered(count: number) {
  return Array.from({ length: count }, (_, n) => entry(`${n}`, { key: `key-${n % KEYS}` }));
}

/** Whether the numbers of each key ascend, leaving out second copies. */
function firstCopiesInOrder(records: readonly LogRecord[]): boolean {
  return [...Map.groupBy(records, ({ key }) => key).values()].every((own) =>
    isAscending(withoutCopies(own.map(textOf)).map(Number)),
  );
}

const withoutCopies = (list: readonly string[]): string[] => [...new Set(list)];
