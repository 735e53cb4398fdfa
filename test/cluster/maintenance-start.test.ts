import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '../contract/elasticsearch.harness.js';
import { deleteTopics } from '../contract/kafka.harness.js';
import { Api, type EventPage, Org } from '../support/api.js';
import { freePort } from '../support/containers.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { clusterSuite } from './support.js';

const EVENTS = 50;

clusterSuite('a start on a read model that cannot be used', ({ kafkaBrokers, elasticsearchUrl }) => {
  const instances = new Instances();
  const { env } = instances.store;
  const prefix = env['CONTROL_ELASTICSEARCH_INDEX_PREFIX'] ?? '';
  afterAll(() => instances.remove());

  async function filled(url: string): Promise<string> {
    const key = await instances.org(url, 'acme');
    const items = Array.from({ length: EVENTS }, (_, n) => ({ resource: { name: `r${n}` } }));
    const { body } = await new Org(url, 'acme', key).bulk(items);
    expect(body.succeeded).toBe(EVENTS);
    return key;
  }

  async function listed(url: string, key: string): Promise<number> {
    const answer = await new Api(url, key).get<EventPage>('/audit/org/acme?contextName=app&pageSize=1000');
    return answer.status === 200 ? answer.body.items.length : -answer.status;
  }

  test('fills another by itself when the layout is that of an earlier version', async () => {
    const [first = ''] = await instances.start(1);
    const key = await filled(first);
    await instances.stop();
    type Found = Record<string, { mappings: { _meta: object } }>;
    const path = `/${prefix}progress/_mapping`;
    const [mapping] = Object.values(await ask<Found>(elasticsearchUrl, 'GET', path));
    await ask(elasticsearchUrl, 'PUT', path, { _meta: { ...mapping?.mappings._meta, version: '1.4' } });

    const urls = await instances.start(2);
    for (const url of urls) expect(await listed(url, key)).toBe(EVENTS);
    await instances.stop();
  });

  test('is not ready when the log is another one, says why, and takes the job that replaces it', async () => {
    await deleteTopics([...kafkaBrokers], env['CONTROL_KAFKA_TOPIC_PREFIX'] ?? '');
    const port = await freePort();
    const anew = new Instances({ CONTROL_PORT: String(port) }, instances.store);
    const url = `http://127.0.0.1:${port}`;
    const starting = anew.startOne();
    const root = instances.root(url);
    const until = async (what: string, done: () => Promise<unknown>) => {
      for (const deadline = Date.now() + 30_000 * PATIENCE; !(await done().catch(() => false)); await delay(50)) {
        if (Date.now() > deadline) throw new Error(`not so in time: ${what}`);
      }
    };
    await until('readiness names the remedy', async () => {
      const answer = await fetch(`${url}/health/ready`);
      return answer.status === 503 && (await answer.text()).includes('svc rebuild');
    });
    expect((await root.post('/org', { name: 'acme' })).status).toBe(503);
    await until('the job is taken', async () => (await root.post('/-rebuild', {})).status === 202);
    expect(await starting).toBe(url);
    await until('the job is done', async () => (await root.get<{ state: string }>('/-rebuild')).body.state === 'done');
    const key = await filled(url);
    expect(await listed(url, key)).toBe(EVENTS);
    await anew.stop();
  });
});
