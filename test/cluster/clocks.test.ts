import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Answer, bodyOf, Client } from '../faults/client.js';
import { Cluster, eventually } from '../faults/cluster/cluster.js';
import { removeCompiled } from '../faults/process.js';
import { tell } from '../hardening/scale.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { clusterSuite } from './support.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SHIFTS = [
  ['an hour behind', -HOUR],
  ['an hour ahead', HOUR],
  ['40 days ahead', 40 * DAY],
  ['two years ahead', 730 * DAY],
] as const;

const EVENTS = 10;
const CONTEXT = '/audit/org/acme/auditctx';

interface Event {
  readonly id: string;
  readonly postedTime: string;
  readonly receivedTime: string;
}

/** What the node loads first: the clock of its system is off by so much. */
const shifted = (ms: number) => ({
  SHIFT_MS: String(ms),
  NODE_OPTIONS: `--import=${pathToFileURL(resolve('test/support/shifted-clock.mjs')).href}`,
});

clusterSuite('processes whose clocks are wrong, beside one whose clock is right', () => {
  describe.each(SHIFTS)('%s', (what, ms) => {
    const cluster = new Cluster({ CONTROL_SYNC_TIMEOUT_MS: '20000' });
    let wrong: Client;
    let right: Client;
    let root: Client;
    let warning: Promise<string>;

    beforeAll(async () => {
      // The one that indexes, sweeps and rebuilds is the one whose clock is wrong.
      const process = cluster.spawn('api,projector', shifted(ms));
      warning = process.exit.then(({ stdout }) => stdout);
      const [api = ''] = await cluster.apis(1);
      const url = await process.listening;
      const { key } = await new Client(api, TEST_SECRETS.CONTROL_ROOT_KEY).org('acme');
      right = new Client(api, key);
      wrong = new Client(url, key);
      root = new Client(url, TEST_SECRETS.CONTROL_ROOT_KEY);
      stop = () => cluster.end(process, 'SIGTERM');
    });
    let stop: () => Promise<void>;

    afterAll(async () => {
      await cluster.remove();
      removeCompiled();
    });

    const ok = async <Body>(answer: Promise<Answer>): Promise<Body> => {
      const { status, text } = await answer;
      if (status >= 300) throw new Error(`${status} ${text}`);
      return JSON.parse(text) as Body;
    };
    const put = (client: Client, context: string, retentionDays: number | null) =>
      ok(client.send('PUT', `${CONTEXT}/${context}`, { retentionDays }));
    const publish = async (client: Client, context: string) =>
      (await ok<{ id: string }>(client.post(`${CONTEXT}/${context}`, { resource: { name: 'r' } }))).id;
    const listed = async (client: Client, context: string) =>
      (await ok<{ items: Event[] }>(client.get(`/audit/org/acme?contextName=${context}&pageSize=100`))).items;

    test(`${what}: nothing is hidden, expired or refused that is not`, async () => {
      const context = 'shop';
      await put(wrong, context, 30);
      const ids: string[] = [];
      for (let n = 0; n < EVENTS; n += 1) ids.push(await publish(n % 2 === 0 ? wrong : right, context));
      // The edit notes what the setting so far has hidden.
      await put(wrong, context, 20);
      await put(wrong, context, 7);
      for (const client of [wrong, right]) {
        const events = await listed(client, context);
        expect(events.map(({ id }) => id).sort()).toEqual([...ids].sort());
        for (const { postedTime, receivedTime } of events) {
          expect(Math.abs(Date.parse(postedTime) - Date.parse(receivedTime))).toBeLessThan(5_000);
          expect(Math.abs(Date.parse(receivedTime) - Date.now())).toBeLessThan(120_000);
        }
      }
      await rebuild();
      for (const client of [wrong, right]) {
        expect((await listed(client, context)).map(({ id }) => id).sort()).toEqual([...ids].sort());
      }
      expect((await right.get(`/audit/org/acme/id/${await publish(wrong, context)}`)).status).toBe(200);
      tell(`clocks: a process ${what}: ${EVENTS} events, 3 settings, 1 rebuild, 0 hidden`);
    });

    /** A rebuild seals the live generation for a time that both processes must measure alike. */
    async function rebuild(): Promise<void> {
      const { id } = await ok<{ id: string }>(root.post('/-rebuild', {}));
      await eventually('the rebuild is done', async () => {
        const job = await ok<{ id: string; state: string; error?: string }>(root.get('/-rebuild'));
        if (job.state === 'failed') throw new Error(job.error);
        return job.id === id && job.state === 'done';
      });
    }

    test(`${what}: keys live as long for it as for the others`, async () => {
      await ok(right.post('/org/acme/serviceaccount', { name: 'robot' }));
      const expires = new Date(Date.now() + HOUR / 2).toISOString();
      const made = await ok<{ key: string }>(
        right.post('/org/acme/serviceaccount/robot/-addKey', { description: 'for half an hour', expires }),
      );
      const robot = (client: Client) => new Client(client.url, made.key);
      expect((await robot(right).get('/whoami')).status).toBe(200);
      expect((await robot(wrong).get('/whoami')).status).toBe(200);
    });

    test(`${what}: it says so in its log and its metrics`, async () => {
      const { text } = await wrong.get('/metrics');
      const [, ahead] = /^control_clock_ahead_seconds (\S+)$/m.exec(text) ?? [];
      expect(Math.abs(Number(ahead) * 1_000 - ms)).toBeLessThan(10_000);
      await stop();
      const lines = (await warning).split('\n').filter((line) => line.includes("is not Kafka's"));
      expect(lines).toHaveLength(1);
      const { level, aheadMs } = bodyOf<{ level: number; aheadMs: number }>({ text: lines[0] ?? '' } as Answer);
      expect(level).toBe(40);
      expect(Math.abs(aheadMs - ms)).toBeLessThan(10_000);
    });
  });
});
