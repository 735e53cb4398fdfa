import type { StartedKafkaContainer } from '@testcontainers/kafka';
import { entry, isAscending, readAll, tail, textOf, texts } from '../contract/event-log.harness.js';
import { sleep, until } from '../contract/harness.js';
import { brokersOf, COMPILED_ONCE, startKafka } from '../support/containers.js';
import { KafkaWorld, member } from './kafka-support.js';
import { containerSuite } from './support.js';

containerSuite('a broker that restarts', () => {
  let kafka: StartedKafkaContainer;
  beforeAll(async () => {
    kafka = await startKafka(process.env, { javaOptions: COMPILED_ONCE });
  }, 180_000);
  afterAll(() => kafka?.stop());

  test('loses nothing that was acknowledged; all go on by themselves', async () => {
    const world = new KafkaWorld([brokersOf(kafka)]);
    // Docker may publish another port after the restart than the one that the broker goes on naming.
    const proxy = await world.proxy();
    const log = await world.open({ route: () => proxy.address, deliveryMs: 60_000, requestMs: 5_000 });
    const reader = tail(log);
    const run = member(log, 'g');
    const acknowledged: string[] = [];
    const appends: Promise<unknown>[] = [];
    let writing = true;
    const writer = (async () => {
      for (let n = 0; writing; n += 1) {
        const one = entry(`${n}`, { key: `key-${n % 5}` });
        appends.push(log.append([one]).then(() => acknowledged.push(textOf(one))));
        await sleep(5);
      }
    })();
    await until(() => acknowledged.length > 100, 'appends are acknowledged');

    await kafka.restart({ timeout: 1_000 });
    proxy.upstream = brokersOf(kafka);
    const before = acknowledged.length;
    await waitUntil(() => acknowledged.length > before + 500);
    writing = false;
    await writer;
    await Promise.all(appends);

    const stored = await readAll(log);
    const there = new Set(texts(stored));
    expect(acknowledged.filter((text) => !there.has(text))).toEqual([]);
    for (const own of Map.groupBy(stored, ({ key }) => key).values()) {
      expect(isAscending([...new Set(texts(own))].map(Number))).toBe(true);
    }
    await until(() => reader.records.length >= stored.length, 'the reader has all');
    await waitUntil(() => new Set(texts(run.records())).size === there.size);
    expect(texts(reader.records).sort()).toEqual(texts(stored).sort());
    await Promise.all([reader.stop(), run.stop()]);
    await world.close();
  }, 180_000);
});

async function waitUntil(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!condition() && Date.now() < deadline) await sleep(20);
  expect(condition()).toBe(true);
}
