import { type Answer, Org } from '../support/api.js';
import { ElasticsearchProxy } from '../support/elasticsearch-proxy.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { clusterSuite } from './support.js';

const MINUTES = 60_000 * PATIENCE;
const PARTITIONS = 120;
const EVENTS = 500;

/** So much that everything else takes little. */
const DELAY_MS = 400;
const TRIES = 5;

clusterSuite('requests to Elasticsearch', ({ elasticsearchUrl }) => {
  let proxy: ElasticsearchProxy;
  let instances: Instances;
  let org: Org;

  beforeAll(async () => {
    proxy = await ElasticsearchProxy.start(elasticsearchUrl);
    instances = new Instances({
      CONTROL_ELASTICSEARCH_URL: proxy.url,
      CONTROL_KAFKA_PARTITIONS: String(PARTITIONS),
    });
    const [url = ''] = await instances.start(1);
    org = new Org(url, 'acme', await instances.org(url, 'acme'));
  }, 3 * MINUTES);
  afterAll(async () => {
    await instances.remove();
    await proxy.stop();
  }, 3 * MINUTES);

  const made = (answer: Answer<unknown>) => expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);

  it(
    'are shared by the batches of many partitions',
    async () => {
      const events = Array.from({ length: EVENTS }, (_, n) => ({ resource: { id: `r${n}`, name: `/doc/${n}` } }));
      proxy.requests.length = 0;
      const { status, body } = await org.bulk(events);
      expect([status, body.failed]).toEqual([200, 0]);
      const bulks = proxy.requests.filter((request) => request.endsWith('/_bulk'));
      // Almost every partition has some of the events.
      expect(bulks.length).toBeLessThan(PARTITIONS / 2);
    },
    MINUTES,
  );

  it(
    'that a control change waits for are at most six, one after another',
    async () => {
      made(await org.api.post('/org/acme/group', { name: 'first' }));
      proxy.delayMs = DELAY_MS;
      const turns: number[] = [];
      for (let number = 0; number < TRIES; number += 1) {
        const before = performance.now();
        made(await org.api.post('/org/acme/group', { name: `group-${number}` }));
        turns.push((performance.now() - before) / DELAY_MS);
      }
      proxy.delayMs = 0;
      expect(Math.min(...turns)).toBeLessThan(7);
    },
    MINUTES,
  );
});
