import { type Answer, Api, type Json } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { KafkaProxy, PRODUCE } from '../support/kafka-proxy.js';
import { PATIENCE } from '../support/patience.js';
import type { Resource } from '../support/resources.js';
import { clusterSuite } from './support.js';

const MINUTES = 60_000 * PATIENCE;
const EACH = 6;
/** Of the answers to what is produced, every so many is lost. */
const EVERY = 3;

clusterSuite('a change whose answer the broker’s connection loses', ({ kafkaBrokers }) => {
  const instances = new Instances();
  const proxies: KafkaProxy[] = [];
  let urls: readonly string[];
  let key: string;
  let losing = false;
  let produced = 0;
  let lost = 0;

  async function behindProxy(): Promise<string> {
    const proxy = await KafkaProxy.start(kafkaBrokers[0] ?? '');
    proxies.push(proxy);
    proxy.onAnswer = (apiKey) => {
      if (apiKey !== PRODUCE) return undefined;
      produced += 1;
      if (!losing || produced % EVERY !== 0) return undefined;
      lost += 1;
      return 'drop';
    };
    return instances.startOne(proxy);
  }

  beforeAll(async () => {
    urls = await Promise.all([behindProxy(), behindProxy(), behindProxy()]);
    key = await instances.org(urls[0] ?? '', 'acme');
  }, 3 * MINUTES);
  afterAll(async () => {
    losing = false;
    await instances.remove();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }, 3 * MINUTES);

  const at = (index: number) => new Api(urls[index % urls.length] ?? '', key);
  const names = (kind: string) =>
    Array.from({ length: EACH }, (_, index) => `${kind}-${index}${kind === 'domain' ? '.example.com' : ''}`);

  /** Runs while answers are lost. */
  async function losingAnswers<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = lost;
    losing = true;
    const result = await work();
    losing = false;
    expect(lost).toBeGreaterThan(before);
    return result;
  }

  /**
   * Asks again only when it was told that others came first, which says that nothing was changed: if that were not so, it
   * would be carried out twice.
   */
  async function settled(send: () => Promise<Answer<Resource>>): Promise<Answer<Resource>> {
    for (;;) {
      const answer = await send();
      if (answer.body.code !== 'conflict') return answer;
    }
  }

  test.each<[string, Json]>([
    ['serviceaccount', {}],
    ['group', {}],
    ['domain', { spec: {} }],
  ])(
    'is made, and never answered as if another had made it before: %s',
    async (kind, document) => {
      const path = `/org/acme/${kind}`;
      const create = (name: string, index: number) => at(index).post<Resource>(path, { name, ...document });
      const answers = await losingAnswers(() =>
        Promise.all(names(kind).map((name, index) => settled(() => create(name, index)))),
      );
      expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual(answers.map(() => [201, undefined]));
      const read = await Promise.all(names(kind).map((name, index) => at(index + 1).get<Resource>(`${path}/${name}`)));
      expect(read.map(({ body }) => body)).toEqual(answers.map(({ body }) => body));
      const again = await Promise.all(names(kind).map((name, index) => create(name, index + 2)));
      expect(again.map(({ body: { code } }) => code)).toEqual(again.map(() => 'already_exists'));
    },
    3 * MINUTES,
  );

  test(
    'is carried out once: members, versions and the event log count each change',
    async () => {
      const accounts = names('serviceaccount').map((name) => `/org/acme/serviceaccount/${name}`);
      await at(0).post('/org/acme/group', { name: 'counted' });
      const headers = { 'content-type': 'application/json' };
      const append = (link: string, index: number) => {
        const body = JSON.stringify({ memberLinks: { $append: [link] } });
        return settled(() => at(index).send('PATCH', '/org/acme/group/counted', body, headers));
      };
      const answers = await losingAnswers(() => Promise.all(accounts.map(append)));
      expect(answers.map(({ status }) => status)).toEqual(accounts.map(() => 200));
      const { body } = await at(1).get<Resource & { memberLinks: string[] }>('/org/acme/group/counted');
      expect([[...body.memberLinks].sort(), body.version]).toEqual([accounts.sort(), 1 + EACH]);
      const log = await at(2).get('/org/acme/group/counted/-eventlog');
      expect(log.body.items).toHaveLength(1 + EACH);
    },
    3 * MINUTES,
  );
});
