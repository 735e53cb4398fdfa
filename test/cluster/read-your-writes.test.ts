import { isDeepStrictEqual } from 'node:util';
import { type Answer, Api, type EventPage, type Json } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import type { Resource, ResourceList } from '../support/resources.js';
import { clusterSuite } from './support.js';

const MINUTES = 60_000 * PATIENCE;
const CLIENTS = 20;

/** Fewer where the machine is slow: `READ_YOUR_WRITES=200`. */
const WRITES = Number(process.env.READ_YOUR_WRITES ?? 2_000);

/** How a resource of the kind is made, beside its name. */
const KINDS: Readonly<Record<string, Json>> = {
  group: {},
  serviceaccount: {},
  policy: { targetKind: 'group', target: 'all', bindings: [] },
  domain: { spec: {} },
};

/** What the reads have to show of a resource. */
interface Expected {
  readonly kind: string;
  readonly name: string;
  /** As the write was answered; undefined when it is deleted. */
  readonly resource: Resource | undefined;
  readonly actions: readonly string[];
}

clusterSuite('what was written at one of two instances', () => {
  const instances = new Instances();
  let urls: readonly string[];

  beforeAll(async () => {
    urls = await instances.start(2);
  }, 3 * MINUTES);
  afterAll(() => instances.remove(), 3 * MINUTES);

  /** Every kind of read, at another instance than that of the write. Answers those that do not show it. */
  async function misses(api: Api, org: string, { kind, name, resource, actions }: Expected): Promise<string[]> {
    const path = `/org/${org}/${kind}`;
    const query = { spec: { terms: [{ property: 'name', value: name }] } };
    const [got, listed, found, log] = await Promise.all([
      api.get<Resource>(`${path}/${name}`),
      api.get<ResourceList>(`${path}?limit=1000`),
      api.post<ResourceList>(`${path}/-query`, query),
      api.get<EventPage>(`${path}/${name}/-eventlog`),
    ]);
    const items = resource ? [resource] : [];
    const seen: Readonly<Record<string, boolean>> = {
      get: resource ? isDeepStrictEqual(got.body, resource) : got.status === 404,
      list: isDeepStrictEqual(
        listed.body.items.filter((item) => item.name === name),
        items,
      ),
      query: isDeepStrictEqual(found.body.items, items),
      eventlog: isDeepStrictEqual(
        log.body.items.map(({ action }) => action?.type),
        actions,
      ),
    };
    return Object.keys(seen).filter((read) => !seen[read]);
  }

  /** Makes, changes and deletes one resource after the other, each time at the other instance. */
  async function client(number: number, writes: number): Promise<string[]> {
    const org = `org-${number}`;
    const key = await instances.org(urls[number % 2] ?? '', org);
    const at = (index: number) => new Api(urls[(number + index) % 2] ?? '', key);
    const missed: string[] = [];
    let expected: Expected | undefined;
    for (let write = 0; write < writes; write += 1) {
      expected = await next(at(write), org, write, expected);
      const reads = await misses(at(write + 1), org, expected);
      missed.push(...reads.map((read) => `${org}, write ${write}, ${expected?.kind}: ${read}`));
    }
    return missed;
  }

  const STEPS = ['create', 'edit', 'delete'] as const;

  async function next(api: Api, org: string, write: number, before: Expected | undefined): Promise<Expected> {
    const step = STEPS[write % STEPS.length];
    const round = Math.floor(write / STEPS.length);
    const [kind = '', document = {}] = Object.entries(KINDS)[round % Object.keys(KINDS).length] ?? [];
    const name = kind === 'domain' ? `d${round}.${org}.example.com` : `r${round}`;
    const path = `/org/${org}/${kind}`;
    if (step === 'create') {
      const { status, body } = await api.post<Resource>(path, { name, ...document });
      if (status !== 201) throw new Error(`${kind} ${name} was answered ${status}`);
      return { kind, name, resource: body, actions: ['create'] };
    }
    const actions = [step ?? '', ...(before?.actions ?? [])];
    const resource = step === 'edit' ? await edited(api, `${path}/${name}`, write) : undefined;
    if (step === 'delete') await deleted(api, `${path}/${name}`);
    return { kind, name, resource, actions };
  }

  async function edited(api: Api, path: string, write: number): Promise<Resource> {
    const body = JSON.stringify({ tags: { write: String(write) } });
    const answer: Answer<Resource> = await api.send('PATCH', path, body, { 'content-type': 'application/json' });
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`);
    return answer.body;
  }

  async function deleted(api: Api, path: string): Promise<void> {
    const { status } = await api.send('DELETE', path);
    if (status !== 204) throw new Error(`${path} was answered ${status}`);
  }

  test(
    `is read at the other at once: ${WRITES} times, by get, list, query and event log`,
    async () => {
      const each = Math.ceil(WRITES / CLIENTS);
      const missed = await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number, each)));
      expect(missed.flat()).toEqual([]);
    },
    10 * MINUTES,
  );

  test(
    'is read by whoever wanted the same, and was told that nothing had to be changed',
    async () => {
      const key = await instances.org(urls[0] ?? '', 'twice');
      const [first, second] = urls.map((url) => new Api(url, key)) as [Api, Api];
      await first.post('/org/twice/group', { name: 'wanted' });
      for (let round = 1; round <= 30; round += 1) {
        const write = async (api: Api) => {
          await edited(api, '/org/twice/group/wanted', round);
          const { items } = (await api.get<ResourceList>('/org/twice/group')).body;
          return items.find(({ name }) => name === 'wanted')?.tags;
        };
        const expected = { write: String(round) };
        expect([round, ...(await Promise.all([write(first), write(second)]))]).toEqual([round, expected, expected]);
      }
    },
    2 * MINUTES,
  );
});
