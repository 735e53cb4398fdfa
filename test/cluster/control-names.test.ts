import { type Answer, Api, type Json, type OrgBody } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import type { Resource } from '../support/resources.js';
import { clusterSuite } from './support.js';

const RACERS = 20;
const MINUTES = 60_000 * PATIENCE;

type Send = (url: string, body: Json) => Promise<Answer<Resource>>;

interface Made {
  readonly path: string;
  /** A key that may read it. */
  readonly key: string;
  /** As it was read at each instance. */
  readonly text: string;
  /** Asks for the name once more. */
  readonly again: Send;
}

clusterSuite('a name that many want at three instances at once', () => {
  const instances = new Instances();
  const made: Made[] = [];
  let urls: readonly string[];
  let key: string;

  beforeAll(async () => {
    urls = await instances.start(3);
    key = await instances.org(urls[0] ?? '', 'acme');
  }, 3 * MINUTES);
  afterAll(() => instances.remove(), 3 * MINUTES);

  /** All racers for all names at once. Answers the winner's answer for each name. */
  function race(names: readonly string[], create: Send): Promise<Answer<Resource>[]> {
    return Promise.all(
      names.map(async (name) => {
        const racers = Array.from({ length: RACERS }, (_, racer) =>
          create(urls[racer % urls.length] ?? '', { name, description: `racer ${racer}` }),
        );
        const answers = await Promise.all(racers);
        const outcomes = answers.map(({ status, body: { code } }) => (status === 201 ? '201' : `${status} ${code}`));
        const lost = Array.from({ length: RACERS - 1 }, () => '409 already_exists');
        expect([name, outcomes.sort()]).toEqual([name, ['201', ...lost]]);
        const won = answers.find(({ status }) => status === 201);
        if (!won) throw new Error(`nobody got ${name}`);
        return won;
      }),
    );
  }

  /** Every instance has it as the winner was answered, in the same bytes. */
  async function expectSame(path: string, by: string, winner: Json, again: Send): Promise<void> {
    const [first, ...others] = await Promise.all(urls.map((url) => new Api(url, by).get<Resource>(path)));
    expect([first?.status, first?.body]).toEqual([200, winner]);
    expect(others.map(({ text }) => text)).toEqual(others.map(() => first?.text));
    made.push({ path, key: by, text: first?.text ?? '', again });
  }

  test(
    'is one organization’s: 50 names',
    async () => {
      const create: Send = (url, body) => instances.root(url).post('/org', body);
      const names = Array.from({ length: 50 }, (_, at) => `org-${at}`);
      for (const { body } of await race(names, create)) {
        const { serviceAccount: _account, key: own, ...org } = body as unknown as OrgBody;
        await expectSame(`/org/${org.name}`, own, { ...org }, create);
      }
    },
    5 * MINUTES,
  );

  test.each([
    ['serviceaccount', 50, {}],
    ['group', 15, {}],
    ['domain', 15, { spec: {} }],
    ['policy', 15, { targetKind: 'group', target: 'all', bindings: [] }],
  ])(
    'is one %s’s: %d names',
    async (kind, count, document) => {
      const path = `/org/acme/${kind}`;
      const create: Send = (url, body) => new Api(url, key).post(path, { ...document, ...body });
      const suffix = kind === 'domain' ? '.example.com' : '';
      const names = Array.from({ length: count }, (_, at) => `${kind}-${at}${suffix}`);
      for (const { body } of await race(names, create)) await expectSame(`${path}/${body.name}`, key, body, create);
    },
    5 * MINUTES,
  );

  test(
    'is the same one’s, in the same bytes, when everything is made anew from the log',
    async () => {
      expect(made).toHaveLength(50 + 50 + 3 * 15);
      await instances.stop();
      await instances.store.removeReadModel();
      const [fresh = ''] = await instances.start(1);
      for (const { path, key: by, text, again } of made) {
        expect((await new Api(fresh, by).get(path)).text).toBe(text);
        const { status, body } = await again(fresh, { name: path.split('/').at(-1) });
        expect([path, status, body.code]).toEqual([path, 409, 'already_exists']);
      }
    },
    5 * MINUTES,
  );
});
