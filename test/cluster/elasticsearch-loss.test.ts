import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '../contract/elasticsearch.harness.js';
import { Tally, tell } from '../hardening/scale.js';
import { Org } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { randomFor } from '../support/random.js';
import { clusterSuite } from './support.js';

const ROUNDS = Number(process.env.FAULTS_ROUNDS || 1);
/** Subsets of all that can be lost, chosen at random. */
const SUBSETS = Math.ceil(2.5 * ROUNDS);
const EVERYTHING = ROUNDS >= 20;
const EVENTS = 30;
const NOTICED_MS = 5_000 * PATIENCE;
const HEALED_MS = 40_000 * PATIENCE;

/** One loss, and whether documents are lost with it. */
interface Loss {
  readonly name: string;
  readonly ofDocuments: boolean;
  inflict(): Promise<unknown>;
}

interface Index {
  readonly aliases: Readonly<Record<string, object>>;
  readonly mappings: object;
  readonly settings: { readonly index: { readonly number_of_shards: string } };
}

clusterSuite('partial loss of Elasticsearch under load', ({ elasticsearchUrl }) => {
  const random = randomFor('loss');
  const apis = new Instances({ CONTROL_ROLES: 'api', CONTROL_SYNC_TIMEOUT_MS: '3000' });
  const projectors = new Instances({ CONTROL_ROLES: 'projector' }, apis.store);
  const prefix = apis.store.env['CONTROL_ELASTICSEARCH_INDEX_PREFIX'] ?? '';
  const es = <Answer>(method: string, path: string, body?: object) => ask<Answer>(elasticsearchUrl, method, path, body);
  const wrong: string[] = [];
  const seen = new Tally();
  /** By key, the identifiers of events that were answered 201: from then on each is found, or reads are refused. */
  const acknowledged = new Map<string, string>();
  let urls: string[] = [];
  let orgs: Org[] = [];
  let groups = 0;
  let isLoaded = true;
  let load: Promise<void>[] = [];

  beforeAll(async () => {
    await projectors.start(1);
    urls = await apis.start(2);
    const key = await apis.org(urls[0] ?? '', 'acme');
    orgs = urls.map((url) => new Org(url, 'acme', key));
    for (let n = 0; n < EVENTS; n += 1) await publish(org(), `first-${n}`);
    groups = (await org().api.get<{ items: unknown[] }>('/org/acme/group')).body.items.length;
    load = [...orgs.map((one) => reading(one)), ...orgs.map((one, n) => writing(one, n))];
  });

  afterAll(async () => {
    isLoaded = false;
    await Promise.all(load);
    await apis.stop();
    await projectors.stop();
    await apis.remove();
  });

  const org = () => random.pick(orgs);

  async function publish(to: Org, key: string): Promise<void> {
    const { status, body, text } = await to.publish<{ id: string }>(
      { resource: { name: 'one' } },
      { idempotencyKey: key },
    );
    seen.add(`publish ${status}`);
    if (status === 201) acknowledged.set(key, body.id);
    else if (status !== 202) wrong.push(`${key} was answered ${status}: ${text}`);
  }

  /** New events, and repetitions of those that were acknowledged; what is acknowledged is found. */
  async function writing(to: Org, writer: number): Promise<void> {
    for (let n = 0; isLoaded; n += 1) {
      const key = n % 3 === 0 ? `new-${writer}-${n}` : random.pick([...acknowledged.keys()]);
      await publish(to, key);
      await found(to, acknowledged.get(key));
      await delay(20);
    }
  }

  async function found(by: Org, id: string | undefined): Promise<void> {
    if (id !== undefined) await judged(by, `/audit/org/acme/id/${id}`, () => undefined);
  }

  const PATHS = [
    '/audit/org/acme?contextName=app&pageSize=1000',
    '/audit/org/acme?order=received&contextName=app&pageSize=1000',
  ];

  async function reading(by: Org): Promise<void> {
    while (isLoaded) {
      await found(by, random.pick([...acknowledged.values()]));
      for (const path of PATHS) {
        const before = [...acknowledged.values()];
        await judged(by, path, ({ items }) =>
          missingOf(
            before,
            (items as { id: string }[]).map(({ id }) => id),
          ),
        );
      }
      await judged(by, '/org/acme/group', ({ items }) =>
        (items as unknown[]).length === groups ? undefined : 'groups',
      );
      await judged(by, '/org/acme/group/superusers', () => undefined);
      await judged(by, '/audit/org/acme/auditctx', ({ items }) =>
        (items as unknown[]).length > 0 ? undefined : 'no contexts',
      );
      await delay(10);
    }
  }

  function missingOf(before: readonly string[], listed: readonly string[]): string | undefined {
    const set = new Set(listed);
    if (set.size !== listed.length) return `${listed.length - set.size} are there twice`;
    const missing = before.filter((id) => !set.has(id));
    return missing.length === 0 ? undefined : `${missing.length} of ${before.length} are missing`;
  }

  /** A read finds all that was acknowledged before it began, or is refused. */
  async function judged(by: Org, path: string, fault: (body: Record<string, unknown>) => string | undefined) {
    const { status, body, text } = await by.api.get<Record<string, unknown>>(path);
    seen.add(`read ${status}`);
    const what = status === 200 ? fault(body) : status === 503 ? undefined : text;
    if (what !== undefined) wrong.push(`${path}: ${status} ${what}`);
  }

  /** `job-board.test.ts` loses the jobs, and `sealing.test.ts` the trees. */
  const isOfReadModel = (index: string) => index !== `${prefix}jobs` && !index.startsWith(`${prefix}tlog.`);

  async function losses(): Promise<Loss[]> {
    const found = await es<Record<string, Index>>('GET', `/${prefix}*`);
    const indices = Object.entries(found).filter(([index]) => isOfReadModel(index));
    return indices.flatMap(([index, one]) => [
      { name: `${short(index)} deleted`, ofDocuments: true, inflict: () => es('DELETE', `/${index}`) },
      { name: `${short(index)} made anew`, ofDocuments: true, inflict: () => remade(index, one) },
      { name: `${short(index)} emptied`, ofDocuments: true, inflict: () => emptied(index) },
      ...Object.keys(one.aliases).map((alias) => ({
        name: `alias ${short(alias)}`,
        ofDocuments: false,
        inflict: () => es('DELETE', `/${index}/_alias/${alias}`),
      })),
    ]);
  }

  /** Without the number of the generation. */
  const short = (name: string) => name.slice(prefix.length).replace(/-\d{13}/, '');

  async function remade(index: string, { aliases, mappings, settings }: Index): Promise<void> {
    await es('DELETE', `/${index}`);
    const { number_of_shards } = settings.index;
    await es('PUT', `/${index}`, { aliases, mappings, settings: { number_of_shards, number_of_replicas: 0 } });
  }

  async function emptied(index: string): Promise<void> {
    await es('POST', `/${index}/_refresh`);
    const { hits } = await es<{ hits: { hits: { _id: string }[] } }>('GET', `/${index}/_search?size=10000`);
    const lines = hits.hits.map(({ _id }) => `${JSON.stringify({ delete: { _id } })}\n`).join('');
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await fetch(`${elasticsearchUrl}/${index}/_bulk?refresh=true`, {
      method: 'POST',
      headers,
      body: lines,
    });
    if (!answer.ok) throw new Error(`${answer.status} to the emptying of ${index}`);
  }

  /** What was lost with another is gone already, or is just being made anew. */
  const inflictAll = (some: readonly Loss[]) => Promise.all(some.map((loss) => loss.inflict().catch(unlessGone)));

  const readiness = async (url: string) => {
    const answer = await fetch(`${url}/health/ready`);
    return { status: answer.status, text: await answer.text() };
  };

  /** Every process that serves reads says that something is missing, and some say what, until all is found again. */
  async function lose(some: readonly Loss[]): Promise<void> {
    const name = some.map((loss) => loss.name).join(', ');
    const before = await generation();
    const noticed = new Set<string>();
    await inflictAll(some);
    const lost = performance.now();
    if (some.some(({ ofDocuments }) => ofDocuments)) {
      for (; noticed.size < urls.length; await delay(10)) {
        for (const url of urls) if ((await readiness(url)).status === 503) noticed.add(url);
        // It may be filled already.
        if ((await generation()) !== before && noticed.size === 0) break;
        if (performance.now() > lost + NOTICED_MS) throw new Error(`${name}: ${noticed.size} processes noticed it`);
      }
    }
    await healed(name, lost);
  }

  async function generation(): Promise<string> {
    const found = await es<object>('GET', `/_alias/${prefix}progress`).catch(() => ({}));
    return Object.keys(found).join();
  }

  async function healed(name: string, lost: number): Promise<void> {
    for (; ; await delay(50)) {
      const missing = await unhealed();
      if (missing === undefined) return;
      if (performance.now() > lost + HEALED_MS) throw new Error(`${name} is not mended: ${missing}`);
    }
  }

  async function unhealed(): Promise<string | undefined> {
    for (const url of urls) {
      const { status, text } = await readiness(url);
      if (status !== 200) return text;
    }
    const found = Object.entries(await es<Record<string, Index>>('GET', `/${prefix}*`));
    const indices = found.filter(([index]) => isOfReadModel(index));
    const generations = new Set(indices.map(([index]) => /-(\d{13})/.exec(index)?.[1]));
    if (generations.size !== 1) return `there are ${generations.size} generations`;
    const bare = indices.find(([index, { aliases }]) => !(`${prefix}write-${index.slice(prefix.length)}` in aliases));
    if (bare) return `${bare[0]} has no alias to write to`;
    const path = PATHS[0] ?? '';
    for (const one of orgs) {
      const before = [...acknowledged.values()];
      const { status, body } = await one.api.get<{ items: { id: string }[] }>(path);
      if (status !== 200) return `${path} is answered ${status}`;
      const fault = missingOf(
        before,
        body.items.map(({ id }) => id),
      );
      if (fault !== undefined) return fault;
    }
    const { status } = await org().publish({ resource: { name: 'two' } });
    return status === 201 ? undefined : `a publish is answered ${status}`;
  }

  const timeoutMs = 60_000 * PATIENCE * (EVERYTHING ? 30 : 3);

  test(
    `never denies, shortens or doubles what was acknowledged: ${EVERYTHING ? 'each index and alias' : 'some losses'}`,
    async () => {
      const names = (await losses()).map(({ name }) => name);
      const first =
        /^(audit-keys deleted|audit-events-[\d.]+ deleted|audit-events-[\d.]+ made|progress made|group emptied)/;
      const chosen = EVERYTHING ? names : [...names.filter((name) => first.test(name)), 'aliases'];
      for (const name of chosen) {
        const all = await losses();
        const isAlias = (one: Loss) => name === 'aliases' && !one.ofDocuments && one.name !== 'alias progress';
        await lose(all.filter((one) => one.name === name || isAlias(one)));
      }
      expect(wrong).toEqual([]);
      tell(`loss: ${chosen.length} single losses; ${seen}; ${acknowledged.size} events, 0 denied, doubled or lost`);
    },
    timeoutMs,
  );

  test(
    `nor when any of them are lost at once: ${SUBSETS} subsets`,
    async () => {
      for (let round = 0; round < SUBSETS; round += 1) {
        const share = random.pick([0.05, 0.2, 0.5, 0.9]);
        const all = await losses();
        const some = all.filter(() => random.chance(share));
        await lose(some.length > 0 ? some : [random.pick(all)]);
      }
      expect(wrong).toEqual([]);
      tell(`loss: ${SUBSETS} subsets; ${seen}; ${acknowledged.size} events, 0 denied, doubled or lost`);
    },
    timeoutMs,
  );
});

function unlessGone(error: unknown): void {
  if (!/^(400|404|503) /.test((error as Error).message)) throw error;
}
