import { Instances } from '../../support/instances.js';
import { KafkaProxy, PRODUCE } from '../../support/kafka-proxy.js';
import { randomOf, SEED } from '../../support/random.js';
import { Client } from '../client.js';
import { faultSuite, MINUTES, ROOT_KEY, ROUNDS, report } from './cluster.js';
import { Ledger, ORG } from './ledger.js';
import { Load } from './load.js';

const EVENTS = ROUNDS * 150;

faultSuite('answers of the broker that get lost', () => {
  const instances = new Instances();
  const proxies: KafkaProxy[] = [];
  let every = Number.POSITIVE_INFINITY;
  let produced = 0;
  let dropped = 0;

  /** The service in this process, which reaches Kafka through a proxy that loses answers to produce requests. */
  async function start(): Promise<string> {
    const proxy = await KafkaProxy.start((process.env.TEST_KAFKA_BROKERS ?? '').split(',')[0] ?? '');
    proxies.push(proxy);
    proxy.onAnswer = (apiKey) => {
      if (apiKey !== PRODUCE) return undefined;
      produced += 1;
      if (produced % every !== 0) return undefined;
      dropped += 1;
      return 'drop';
    };
    return instances.startOne(proxy);
  }

  let urls: string[];
  beforeAll(async () => {
    urls = await Promise.all([start(), start()]);
  }, 3 * MINUTES);
  afterAll(async () => {
    every = Number.POSITIVE_INFINITY;
    await Load.stopAll();
    await instances.remove();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }, 3 * MINUTES);

  test(
    'every 40th: nothing acknowledged is lost, and nothing is there twice',
    async () => {
      const { key } = await new Client(urls[0] ?? '', ROOT_KEY).org(ORG);
      const ledger = new Ledger();
      every = 40;
      const load = new Load({ urls, key, ledger, random: randomOf(SEED), clients: 12 }).start();
      while (ledger.counts.acknowledged < EVENTS && ledger.faults.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await load.stop();
      every = Number.POSITIVE_INFINITY;
      await ledger.check(urls[1] ?? '', key);
      report(`produce answers lost: ${dropped} of ${produced}, ${JSON.stringify(ledger.counts)}`);
      expect(dropped).toBeGreaterThan(2);
    },
    10 * MINUTES,
  );

  test(
    'every second: an organization that was made is never answered as already there',
    async () => {
      const admin = (at: number) => new Client(urls[at % 2] ?? '', ROOT_KEY);
      every = 2;
      const names = Array.from({ length: 5 * ROUNDS }, (_, at) => `lost-${at}`);
      const answers = await Promise.all(names.map((name, at) => admin(at).post('/org', { name })));
      every = Number.POSITIVE_INFINITY;
      const statuses = answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 202);
      expect(statuses).toEqual([]);
      for (const [at, name] of names.entries()) expect((await admin(at).post('/org', { name })).status).toBe(409);
      report(`organizations made while answers are lost: ${names.length} of ${names.length}`);
    },
    10 * MINUTES,
  );
});
