import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '../faults/client.js';
import { eventually } from '../faults/cluster/cluster.js';
import { tell } from '../hardening/scale.js';
import { Instances } from '../support/instances.js';
import { KafkaProxy } from '../support/kafka-proxy.js';
import { PATIENCE } from '../support/patience.js';
import { clusterSuite } from './support.js';

const NOTICED_MS = 1_000 * PATIENCE;
const FAST_MS = 200 * PATIENCE;
/** A value that cannot be read is left out after 2 s; all of them together take no longer. */
const SCRAPED_MS = 3_000 * PATIENCE;
/** After so long a process knows that it is cut from Kafka: a confirmation takes 2 s, and begins each half second. */
const KNOWN_MS = 3_000 * PATIENCE;

/** An address of Elasticsearch that can be closed, or left open without an answer. */
class Door {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private state: 'open' | 'closed' | 'silent' = 'open';

  constructor(to: URL) {
    this.server = createServer((client) => {
      if (this.state === 'closed') return void client.destroy();
      const behind = connect(Number(to.port), to.hostname);
      for (const [from, into] of [[client, behind] as const, [behind, client] as const]) {
        this.sockets.add(from);
        from.on('error', () => undefined);
        from.on('close', () => into.destroy());
        from.on('data', (chunk) => this.state === 'silent' || into.write(chunk));
      }
    });
  }

  listen(): Promise<string> {
    return new Promise((done) => {
      this.server.listen(0, '127.0.0.1', () => {
        const address = this.server.address();
        done(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
      });
    });
  }

  set(state: 'open' | 'closed' | 'silent'): void {
    this.state = state;
    if (state === 'silent') return;
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  close(): void {
    this.set('closed');
    this.server.close();
  }
}

clusterSuite('a process that is cut from a store', ({ kafkaBrokers: [broker = ''], elasticsearchUrl }) => {
  const door = new Door(new URL(elasticsearchUrl));
  const first = new Instances({ CONTROL_ROLES: 'projector' });
  let kafka: KafkaProxy;
  let apis: Instances;
  let projectors: Instances;
  let api: Client;
  let root: Client;
  let projectorUrl: string;

  beforeAll(async () => {
    kafka = await KafkaProxy.start(broker);
    const env = { CONTROL_ELASTICSEARCH_URL: await door.listen() };
    apis = new Instances({ ...env, CONTROL_ROLES: 'api' }, first.store);
    projectors = new Instances({ ...env, CONTROL_ROLES: 'projector' }, first.store);
    await first.start(1);
    projectorUrl = await projectors.startOne(kafka);
    const url = await apis.startOne(kafka);
    api = new Client(url, await apis.org(url, 'acme'));
    root = new Client(url, first.store.env['CONTROL_ROOT_KEY'] ?? '');
    await api.post('/audit/org/acme/auditctx/app', { resource: { name: 'r' } });
  });

  afterAll(async () => {
    kafka.accept();
    kafka.onAnswer = undefined;
    door.set('open');
    await Promise.all([apis, projectors].map((instances) => instances.stop()));
    await first.remove();
    await kafka.close();
    door.close();
  });

  const ready = async (url: string) => {
    const answer = await fetch(`${url}/health/ready`);
    return { status: answer.status, text: await answer.text() };
  };
  const both = () => [api.url, projectorUrl];
  const allReady = () =>
    eventually('both are ready', async () => {
      for (const url of both()) if ((await ready(url)).status !== 200) return false;
      return true;
    });

  /** How long it takes until the process says so, and what it says. */
  async function noticed(url: string): Promise<string> {
    const asked = performance.now();
    for (;;) {
      const { status, text } = await ready(url);
      if (status === 503 && performance.now() - asked < NOTICED_MS) return text;
      if (performance.now() - asked > NOTICED_MS) throw new Error(`${url} says ${status} after a second: ${text}`);
      await delay(10);
    }
  }

  /** How long a scrape takes, in milliseconds. */
  async function scraped(url: string): Promise<number> {
    const asked = performance.now();
    const answer = await fetch(`${url}/metrics`);
    expect(await answer.text()).toContain('control_ready 0');
    return performance.now() - asked;
  }

  const CUTS = [
    ['Kafka refuses connections', 'log', () => kafka.refuse(), () => kafka.accept()],
    ['Kafka does not answer', 'log', () => (kafka.onAnswer = () => 'drop'), () => (kafka.onAnswer = undefined)],
    ['Elasticsearch refuses connections', 'read model', () => door.set('closed'), () => door.set('open')],
    ['Elasticsearch does not answer', 'read model', () => door.set('silent'), () => door.set('open')],
  ] as const;

  test.each(CUTS)(
    '%s: neither process is ready a second later, both say so in a scrape, and both are ready afterwards',
    async (...cut) => {
      const [, what, lose, restore] = cut;
      await allReady();
      lose();
      try {
        for (const text of await Promise.all(both().map(noticed))) expect(text).toMatch(new RegExp(what, 'i'));
        for (const ms of await Promise.all(both().map(scraped))) expect(ms).toBeLessThan(SCRAPED_MS);
      } finally {
        restore();
        kafka.cut();
      }
      await allReady();
    },
  );

  test('cut from Kafka it refuses whatever needs Kafka within 200 ms, once it knows', async () => {
    await allReady();
    const took: number[] = [];
    kafka.onAnswer = () => 'drop';
    try {
      await delay(KNOWN_MS);
      const asks = [
        () => api.get('/audit/org/acme'),
        () => api.post('/audit/org/acme/auditctx/app', { resource: { name: 'r' } }),
        () => api.post('/audit/org/acme/auditctx/app?async=true', { resource: { name: 'r' } }),
        () => api.post('/org/acme/group', { name: 'devs' }),
        () => root.post('/org', { name: 'globex' }),
      ];
      for (let n = 0; n < 20; n += 1) {
        const start = performance.now();
        const { status } = await (asks[n % asks.length] as (typeof asks)[0])();
        took.push(performance.now() - start);
        expect([n, status]).toEqual([n, 503]);
      }
    } finally {
      kafka.onAnswer = undefined;
      kafka.cut();
    }
    tell(`cut from Kafka: ${took.length} requests refused, the slowest within ${Math.round(Math.max(...took))} ms`);
    expect(Math.max(...took)).toBeLessThan(FAST_MS);
    await allReady();
    expect((await api.get('/audit/org/acme')).status).toBe(200);
  });
});
