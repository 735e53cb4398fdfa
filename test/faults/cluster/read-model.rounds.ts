import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { randomOf, SEED } from '../../support/random.js';
import { bodyOf, Client } from '../client.js';
import type { ServiceProcess } from '../process.js';
import { Cluster, eventually, FULL, faultSuite, MINUTES, ROOT_KEY, report, SECONDS } from './cluster.js';
import { bodyFor, Ledger, ORG, PUBLISH } from './ledger.js';
import { codeOf, endAfterEach, Load } from './load.js';

const LIST = `/audit/org/${ORG}`;
/** Past the 10,000 that a search by pages reaches. */
const DEEP = FULL ? 30_000 : 12_000;
/** Readers who never rest would take of two cores what the writers need. */
const SCALE = FULL
  ? { events: 100_000, clients: 80, readers: 20, restMs: 400, runs: 3, writesPerSecond: 200 }
  : { events: 10_000, clients: 5, readers: 5, restMs: 0, runs: 1, writesPerSecond: 1 };
const JOB_MS = (FULL ? 15 : 5) * MINUTES;
/** What is spoilt behind the back of the service. */
const SPOILT = Array.from({ length: 20 }, (_, at) => (['missing', 'altered', 'extra'] as const)[at % 3]);

interface Job {
  readonly state: string;
  readonly report?: {
    readonly differences: Readonly<Record<string, number>>;
    readonly items: readonly { readonly problem: string; readonly itemKind: string; readonly id: string }[];
  };
}

faultSuite('the read model of several processes', () => {
  let cluster: Cluster;
  let projector: ServiceProcess;
  let urls: string[];
  let key: string;
  let client: Client;
  let root: Client;
  beforeEach(async () => {
    cluster = new Cluster();
    projector = cluster.spawn('projector');
    urls = await cluster.apis(2);
    root = new Client(urls[0] ?? '', ROOT_KEY);
    key = (await root.org(ORG)).key;
    client = new Client(urls[1] ?? '', key);
  }, 3 * MINUTES);
  endAfterEach(() => cluster);

  /** Events of one resource, a thousand a request; all are found when it resolves. */
  async function fill(ledger: Ledger, count: number, resource: (n: number) => string): Promise<void> {
    for (let from = 0; from < count; from += 1_000) {
      const items = Array.from({ length: Math.min(1_000, count - from) }, (_, at) =>
        ledger.add(`filled ${from + at}`, resource(from + at)),
      );
      const answer = await client.post(`${PUBLISH}/-bulk?async=true`, items.map(bodyFor));
      const { items: results } = bodyOf<{ items: { index: number; id: string }[] }>(answer);
      for (const { index, id } of results) ledger.acknowledge(items[index] as (typeof items)[0], id);
    }
    const last = [...ledger.acknowledged].slice(-50);
    await eventually('what was filled in is found', async () => {
      for (const { ids } of last) if ((await client.get(`${LIST}/id/${[...ids][0]}`)).status !== 200) return false;
      return client.post(PUBLISH, bodyFor(ledger.add(`end ${Date.now()}`, 'end'))).then(({ status, text }) => {
        ledger.acknowledge([...ledger.sent.values()].at(-1) as (typeof last)[0], JSON.parse(text).id);
        return status === 201;
      });
    });
  }

  async function job(name: 'rebuild' | 'reconcile', body?: object): Promise<NonNullable<Job['report']>> {
    const started = await root.post(`/-${name}`, body ?? {});
    expect([name, started.status, started.status === 202 ? '' : started.text]).toEqual([name, 202, '']);
    const ended = await eventually(
      `the ${name} ends`,
      async () => {
        const state = bodyOf<Job>(await root.get(`/-${name}`));
        return state.state !== 'running' && state;
      },
      JOB_MS,
    );
    if (!ended.report) throw new Error(`the ${name} failed: ${JSON.stringify(ended)}`);
    return ended.report;
  }

  async function digest(): Promise<string> {
    const hash = createHash('sha256');
    for (const query of ['contextName=app&order=received', 'contextName=app', 'contextName=svc&actionType=create']) {
      // A rebuild is recorded itself, so the end of the log, where cursors go on, is another.
      for await (const page of client.pages(`${LIST}?${query}&pageSize=1000`)) {
        hash.update(page.text.replace(/cursor=[\w-]+/g, ''));
      }
    }
    for (const path of [`/org/${ORG}`, `${LIST}/auditctx/app`]) hash.update((await client.get(path)).text);
    return hash.digest('hex');
  }

  test(
    `${DEEP} events of one resource are read to the end, each once`,
    async () => {
      const ledger = new Ledger();
      await fill(ledger, DEEP, () => 'deep');
      const path = `${LIST}/resource/name/deep?pageSize=1000`;
      const ids = await eventually('all are listed', async () => {
        const listed = (await client.all(path)).map(({ id }) => id);
        return listed.length >= DEEP && listed;
      });
      expect([ids.length, new Set(ids).size]).toEqual([DEEP, DEEP]);
      const sent = new Set(ledger.acknowledged.flatMap(({ ids: [id] }) => id ?? []));
      expect(ids.filter((id) => !sent.has(id))).toEqual([]);
      report(`deep list: ${ids.length} of ${DEEP} events, each once`);
    },
    5 * MINUTES,
  );

  test(
    'replayed, it answers the same, byte for byte',
    async () => {
      const ledger = new Ledger();
      const load = new Load({ urls, key, ledger, random: randomOf(SEED) }).start();
      await delay(8 * SECONDS);
      await load.stop();
      await ledger.check(urls[0] ?? '', key);
      const before = await digest();
      const { differences } = await job('rebuild');
      expect(differences).toEqual({ missing: 0, altered: 0, extra: 0 });
      expect(await digest()).toBe(before);
      report(`replayed: ${ledger.counts.acknowledged} events, the same hash ${before.slice(0, 12)}`);
    },
    5 * MINUTES,
  );

  test(
    'rebuilt under load, no read misses an acknowledged event; nothing is reported that does not differ',
    async () => {
      const ledger = new Ledger();
      await fill(ledger, SCALE.events, (n) => `r ${n % 200}`);
      const ids = ledger.acknowledged.flatMap((sent) => [...sent.ids]);
      const { clients, readers, restMs, runs, writesPerSecond } = SCALE;
      const pace = { clients, restMs: 100, ...(FULL && { perSecond: writesPerSecond * 1.05 }) };
      const before = ledger.counts.acknowledged;
      const start = performance.now();
      const load = new Load({ urls, key, ledger, random: randomOf(SEED), ...pace }).start();
      const random = randomOf(SEED + 1);
      let reading = true;
      let reads = 0;
      const reader = async () => {
        while (reading) {
          const id = random.pick(ids);
          const reader = new Client(random.pick(urls), key);
          const answer = await reader.get(`${LIST}/id/${id}`);
          if (answer.status !== 200) ledger.faults.push(`${id} was missed: ${answer.status} ${answer.text}`);
          const page = await reader.get(`${LIST}/resource/name/r%20${random.whole(0, 199)}?pageSize=1000`);
          const count = page.status === 200 ? bodyOf<{ items: unknown[] }>(page).items.length : page.text;
          if (count !== SCALE.events / 200) ledger.faults.push(`a list had ${count} events`);
          reads += 2;
          await delay(random.whole(0, restMs));
        }
      };
      const all = Promise.all(Array.from({ length: readers }, reader));
      for (let run = 1; run <= runs; run += 1) {
        expect((await job('rebuild')).differences).toEqual({ missing: 0, altered: 0, extra: 0 });
        const { differences } = await job('reconcile');
        expect(differences).toEqual({ missing: 0, altered: 0, extra: 0, misplaced: 0 });
        ledger.expectNoFaults();
      }
      const rate = Math.round(((ledger.counts.acknowledged - before) * 1_000) / (performance.now() - start));
      reading = false;
      await all;
      await load.stop();
      await ledger.check(urls[0] ?? '', key);
      report(
        `rebuilt under load: ${runs} of ${runs}, ${SCALE.events} events, ${rate} writes/s, ${reads} reads, none missed`,
      );
      expect(rate).toBeGreaterThanOrEqual(writesPerSecond);
    },
    4 * SCALE.runs * JOB_MS,
  );

  test(
    'reconciled under load, what was spoilt in Elasticsearch is named, nothing else is, and it is repaired',
    async () => {
      const ledger = new Ledger();
      await fill(ledger, 2_000, (n) => `r ${n % 200}`);
      const { CONTROL_ELASTICSEARCH_URL: url, CONTROL_ELASTICSEARCH_INDEX_PREFIX: prefix } = cluster.env;
      const es = async (method: string, path: string, body?: object) => {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
        if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
        return (await answer.json()) as { hits: { hits: { _index: string; _id: string; _source: object }[] } };
      };
      const random = randomOf(SEED);
      const ids = ledger.acknowledged.slice(0, 2_000).map((sent) => [...sent.ids][0] ?? '');
      const spoilt: string[] = [];
      for (const problem of SPOILT) {
        const id = ids.splice(random.whole(0, ids.length - 1), 1)[0] ?? '';
        const query = { query: { term: { _id: `${ORG}/${id}` } } };
        const [hit] = (await es('POST', `/${prefix}audit-events-*/_search`, query)).hits.hits;
        if (!hit) throw new Error(`${id} is not there`);
        const path = (name: string) => `/${hit._index}/_doc/${encodeURIComponent(`${ORG}/${name}`)}`;
        if (problem === 'missing') await es('DELETE', path(id));
        else if (problem === 'altered') await es('PUT', path(id), { ...hit._source, source: '{}' });
        else await es('PUT', path(`forged-${id}`), { ...hit._source, id: `forged-${id}` });
        spoilt.push(`${problem} auditevent ${problem === 'extra' ? 'forged-' : ''}${id}`);
      }
      await es('POST', `/${prefix}*/_refresh`);
      const load = new Load({ urls, key, ledger, random }).start();
      const named = async (repair: boolean) =>
        (await job('reconcile', { repair })).items.map(({ problem, itemKind, id }) => `${problem} ${itemKind} ${id}`);
      expect((await named(false)).sort()).toEqual(spoilt.sort());
      expect((await named(true)).sort()).toEqual(spoilt);
      expect(await named(false)).toEqual([]);
      await load.stop();
      await ledger.check(urls[0] ?? '', key);
      report(`reconciled: ${spoilt.length} of ${spoilt.length} faults named and repaired, nothing else`);
    },
    5 * MINUTES,
  );

  test(
    'wiped while it runs, it is filled again by itself, says so meanwhile, and nothing false is acknowledged',
    async () => {
      const ledger = new Ledger();
      await fill(ledger, 5_000, (n) => `r ${n % 200}`);
      const load = new Load({ urls, key, ledger, random: randomOf(SEED) });
      load.excused.add('read_model_unavailable');
      load.start();
      const { CONTROL_ELASTICSEARCH_URL: url, CONTROL_ELASTICSEARCH_INDEX_PREFIX: prefix } = cluster.env;
      const projectorUrl = await projector.listening;
      const ready = () => fetch(`${projectorUrl}/health/ready`).then(({ status }) => status);
      expect(await ready()).toBe(200);
      // It may be filled again before Elasticsearch has answered the deletion.
      let said = false;
      const watching = setInterval(() => {
        void ready().then((status) => {
          said ||= status === 503;
        });
      }, 20);
      try {
        await delay(2 * SECONDS);
        const indices = await fetch(`${url}/_cat/indices/${prefix}*?h=index`).then((answer) => answer.text());
        const named = indices.trim().split('\n').join(',');
        const wiped = await fetch(`${url}/${named}?ignore_unavailable=true`, { method: 'DELETE' });
        expect([wiped.status, wiped.ok ? '' : await wiped.text()]).toEqual([200, '']);
        await eventually('readiness says that something is missing', async () => said);
      } finally {
        clearInterval(watching);
      }
      await eventually('it is ready again', async () => (await ready()) === 200);
      await eventually('all is there again', async () => {
        const answer = await client.get(`${LIST}/resource/name/r%200?pageSize=1000`);
        return answer.status === 200 && bodyOf<{ items: unknown[] }>(answer).items.length === 25;
      });
      load.excused.clear();
      await delay(2 * SECONDS);
      await load.stop();
      expect(codeOf(await client.get(LIST))).toBe('');
      await ledger.check(urls[0] ?? '', key);
      report(`wiped: filled again, ${JSON.stringify(ledger.counts)}`);
    },
    5 * MINUTES,
  );
});
