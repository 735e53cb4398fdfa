import { entry, isAscending, readAll, tail, textOf, texts } from '../contract/event-log.harness.js';
import { sleep } from '../contract/harness.js';
import { type StartedCluster, startKafkaCluster } from '../support/containers.js';
import { KafkaWorld, member } from './kafka-support.js';

/** Three brokers are much for a small machine, so this runs only when it is asked for: `TEST_FAILOVER=1`. */
const asked = process.env.TEST_FAILOVER === '1';

(asked ? describe : describe.skip)('a cluster of three brokers', () => {
  let kafka: StartedCluster;
  beforeAll(async () => {
    kafka = await startKafkaCluster(process.env, 3);
  }, 240_000);
  afterAll(() => kafka?.stop());

  test('loses nothing that was acknowledged while one broker after the other is killed and comes back', async () => {
    const world = new KafkaWorld(kafka.brokers);
    const options = { replication: 3, partitions: 6, deliveryMs: 60_000 } as const;
    const [log, other] = [await world.open(options), await world.open(options)];
    const reader = tail(log);
    const done = new Map<number, number>();
    const runs = [member(log, 'g', { done }), member(other, 'g', { done })];
    const acknowledged: string[] = [];
    const failures: unknown[] = [];
    const appends: Promise<unknown>[] = [];
    let writing = true;
    let longest = 0;
    const writer = (async () => {
      for (let n = 0; writing; n += 1) {
        const one = entry(`${n}`, { key: `key-${n % 20}` });
        const started = Date.now();
        const append = log.append([one]).then(
          () => {
            longest = Math.max(longest, Date.now() - started);
            acknowledged.push(textOf(one));
          },
          (error) => failures.push(error),
        );
        appends.push(append);
        await sleep(5);
      }
    })();

    for (const container of kafka.containers) {
      await sleep(3_000);
      await container.restart({ timeout: 500 });
      await grows(() => acknowledged.length);
      await wholeAgain(log, 30_000);
    }
    writing = false;
    await writer;
    await Promise.all(appends);

    expect(failures).toEqual([]);
    const stored = await readAll(log);
    const there = new Set(texts(stored));
    expect(acknowledged.filter((text) => !there.has(text))).toEqual([]);
    for (const own of Map.groupBy(stored, ({ key }) => key).values()) {
      expect(isAscending([...new Set(texts(own))].map(Number))).toBe(true);
    }
    await reaches(() => reader.records.length >= stored.length);
    expect(texts(reader.records).sort()).toEqual(texts(stored).sort());
    await reaches(() => new Set(runs.flatMap((run) => texts(run.records()))).size === there.size);
    process.stderr.write(`failover: ${acknowledged.length} acknowledged, the slowest after ${longest} ms\n`);
    await Promise.all([reader.stop(), ...runs.map((run) => run.stop())]);
    await world.close();
  }, 400_000);
});

async function grows(count: () => number): Promise<void> {
  const before = count();
  await reaches(() => count() > before + 200);
}

/** Until the log has answered for a while: the broker that came back has caught up, or nearly so. */
async function wholeAgain(log: { head(topic: 'audit'): Promise<unknown> }, ms: number): Promise<void> {
  const deadline = Date.now() + ms;
  for (let good = 0; good < 20 && Date.now() < deadline; await sleep(250)) {
    good = await log.head('audit').then(
      () => good + 1,
      () => 0,
    );
  }
}

async function reaches(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!condition() && Date.now() < deadline) await sleep(20);
  expect(condition()).toBe(true);
}
