import { setTimeout as delay } from 'node:timers/promises';
import { removeIndices } from '../contract/elasticsearch.harness.js';
import { scaled, tell } from '../hardening/scale.js';
import { Org } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { clusterSuite } from './support.js';

const LOSSES = scaled(6, 20);
const POLL_MS = 10;
const EVENTS = 200;

/** One request, from when to when it was under way, in milliseconds. */
interface Poll {
  readonly from: number;
  readonly to: number;
  readonly status: number;
}

clusterSuite(
  'readiness of a process with the role api, while Elasticsearch loses its indices',
  ({ elasticsearchUrl }) => {
    const apis = new Instances({ CONTROL_ROLES: 'api' });
    const projectors = new Instances({ CONTROL_ROLES: 'projector' }, apis.store);
    let url: string;
    let org: Org;
    let eventId: string;

    beforeAll(async () => {
      await projectors.start(2);
      [url = ''] = await apis.start(1);
      org = new Org(url, 'acme', await apis.org(url, 'acme'));
      const items = Array.from({ length: EVENTS }, (_, n) => ({ resource: { name: `r${n % 7}` } }));
      await org.bulk(items);
      eventId = (await org.publish<{ id: string }>({ resource: { name: 'one' } }, { idempotencyKey: 'one' })).body.id;
    });

    afterAll(async () => {
      await apis.stop();
      await projectors.stop();
      await apis.remove();
    });

    async function poll(path: string, polls: Poll[], headers = {}): Promise<void> {
      const from = performance.now();
      const answer = await fetch(`${url}${path}`, { headers });
      await answer.arrayBuffer();
      polls.push({ from, to: performance.now(), status: answer.status });
    }

    const reads = () => [
      '/audit/org/acme',
      '/audit/org/acme?order=received&last=1',
      `/audit/org/acme/id/${eventId}`,
      '/audit/org/acme/auditctx',
      '/org/acme/group',
      '/org/acme/serviceaccount/admin',
    ];

    /** Polls until reads work again for a while after the loss. */
    async function lose(): Promise<{ ready: Poll[]; read: Poll[]; lost: number }> {
      const [ready, read]: [Poll[], Poll[]] = [[], []];
      const under: Promise<void>[] = [];
      let lost = Number.POSITIVE_INFINITY;
      const wiped = removeIndices(elasticsearchUrl, apis.store.env['CONTROL_ELASTICSEARCH_INDEX_PREFIX'] ?? '').then(
        () => {
          lost = performance.now();
        },
      );
      const deadline = performance.now() + 60_000 * PATIENCE;
      const paths = reads();
      const works = () => read.slice(-20).length === 20 && read.slice(-20).every(({ status }) => status === 200);
      for (let n = 0; performance.now() < lost + 300 || !works(); n += 1) {
        if (performance.now() > deadline) throw new Error('reads do not come back');
        under.push(poll('/health/ready', ready));
        under.push(poll(paths[n % paths.length] ?? '', read, { authorization: `Bearer ${org.key}` }));
        await delay(POLL_MS);
      }
      await wiped;
      await Promise.all(under);
      return { ready, read, lost };
    }

    /** Ready, as answered to a question that was asked after the loss, and yet a later read was refused. */
    const contradictions = ({ ready, read, lost }: Awaited<ReturnType<typeof lose>>) =>
      ready.filter(
        ({ from, to, status }) =>
          status === 200 && from > lost && read.some((later) => later.from > to && later.status === 503),
      );

    test(`never calls itself ready while it refuses reads: ${LOSSES} losses`, async () => {
      let [polls, unready, refused] = [0, 0, 0];
      for (let loss = 1; loss <= LOSSES; loss += 1) {
        const seen = await lose();
        expect(contradictions(seen)).toEqual([]);
        expect(seen.read.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
        polls += seen.ready.length;
        unready += seen.ready.filter(({ status }) => status === 503).length;
        refused += seen.read.filter(({ status }) => status === 503).length;
        await ready();
      }
      // Otherwise nothing was lost, and nothing was shown.
      expect([unready > LOSSES, refused > LOSSES]).toEqual([true, true]);
      tell(
        `readiness: ${LOSSES} losses, ${polls} polls, ${unready} not ready, ${refused} reads refused, 0 contradictions`,
      );
    });

    async function ready(): Promise<void> {
      const deadline = performance.now() + 30_000 * PATIENCE;
      while ((await fetch(`${url}/health/ready`)).status !== 200) {
        if (performance.now() > deadline) throw new Error('the process does not get ready again');
        await delay(50);
      }
    }

    test('names what is wrong', async () => {
      const wiped = removeIndices(elasticsearchUrl, apis.store.env['CONTROL_ELASTICSEARCH_INDEX_PREFIX'] ?? '');
      let message = '';
      const isNamed = () => message !== '' && !message.includes('did not answer within');
      for (const deadline = Date.now() + 20_000 * PATIENCE; !isNamed(); await delay(5)) {
        if (Date.now() > deadline) throw new Error(`it stays ready, or says only: ${message}`);
        const answer = await fetch(`${url}/health/ready`);
        if (answer.status === 503) ({ message } = (await answer.json()) as { message: string });
      }
      await wiped;
      expect(message).toContain('the read model cannot be read at the moment');
      await ready();
    });

    test('a new process is not ready before its first read works', async () => {
      await removeIndices(elasticsearchUrl, apis.store.env['CONTROL_ELASTICSEARCH_INDEX_PREFIX'] ?? '');
      [url = ''] = await apis.start(1);
      const [readyPolls, readPolls]: [Poll[], Poll[]] = [[], []];
      for (let n = 0; n < 50; n += 1) {
        await poll('/health/ready', readyPolls);
        await poll('/audit/org/acme', readPolls, { authorization: `Bearer ${org.key}` });
      }
      const seen = { ready: readyPolls, read: readPolls, lost: 0 };
      expect(contradictions(seen)).toEqual([]);
      await ready();
    });
  },
);
