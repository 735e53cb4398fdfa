import { setTimeout as delay } from 'node:timers/promises';
import { Api, Org } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { PATIENCE } from '../support/patience.js';
import { type Resource, Resources } from '../support/resources.js';
import { clusterSuite } from './support.js';

const MINUTES = 60_000 * PATIENCE;
const MEMBERS = 200;
const CLIENTS = 20;
const USERS = 20;

type Group = Resource & { readonly memberLinks: readonly string[] };
type Policy = Resource & { readonly bindings: readonly { readonly principalLinks: readonly string[] }[] };

const ROBOTS = Array.from({ length: MEMBERS }, (_, at) => `robot-${String(at).padStart(3, '0')}`);
const PEOPLE = Array.from({ length: USERS }, (_, at) => `user-${at}@example.com`);

clusterSuite('members, changed at three instances at once', () => {
  let mailbox: Mailbox;
  let instances: Instances;
  /** The organization, at each instance. */
  let orgs: readonly Org[];

  const at = (index: number) => orgs[index % orgs.length] as Org;
  const groups = (index: number) => new Resources<Group>(at(index), 'group');
  const link = (kind: string, ref: string) => `/org/acme/${kind}/${ref}`;

  beforeAll(async () => {
    mailbox = await openMailbox();
    instances = new Instances(mailbox.env);
    const urls = await instances.start(3);
    const key = await instances.org(urls[0] ?? '', 'acme');
    orgs = urls.map((url) => new Org(url, 'acme', key));
    const accounts = ROBOTS.map((name, index) => new Resources(at(index), 'serviceaccount').create({ name }));
    const statuses = (await Promise.all(accounts)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([201]));
    await Promise.all(PEOPLE.map((email, index) => newUser(at(index), mailbox, email)));
  }, 3 * MINUTES);
  afterAll(async () => {
    await instances.remove();
    await mailbox.close();
  }, 3 * MINUTES);

  test(
    `of ${CLIENTS} clients that append ${MEMBERS} in all, every one is there`,
    async () => {
      await groups(0).create({ name: 'crew' });
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let index = client; index < MEMBERS; index += CLIENTS) {
          const memberLinks = { $append: [link('serviceaccount', ROBOTS[index] ?? '')] };
          const { status, text } = await groups(index).patch('crew', { memberLinks });
          if (status !== 200) throw new Error(`${ROBOTS[index]} was answered ${status}: ${text}`);
        }
      });
      await Promise.all(clients);
      const read = await Promise.all(orgs.map((_org, index) => groups(index).get('crew')));
      const expected = ROBOTS.map((name) => link('serviceaccount', name));
      for (const { body } of read) {
        expect([...body.memberLinks].sort()).toEqual(expected);
        expect(body.version).toBe(1 + MEMBERS);
      }
      const full = await groups(1).patch('crew', { memberLinks: { $append: [link('user', PEOPLE[0] ?? '')] } });
      expect(full.status).toBe(400);
    },
    3 * MINUTES,
  );

  test(
    `of ${USERS} users who are deleted while others give them a group and a policy, no link stays`,
    async () => {
      const policies = (index: number) => new Resources<Policy>(at(index), 'policy');
      const policyOf = (index: number) => ({
        name: `policy-${index}`,
        targetKind: 'group',
        target: 'all',
        bindings: [{ permissions: ['view'], principalLinks: [link('user', PEOPLE[index] ?? '')] }],
      });
      await Promise.all(PEOPLE.map((_email, index) => groups(index).create({ name: `group-${index}` })));
      for (const [index, email] of PEOPLE.entries()) {
        const [gone, joined, granted] = await Promise.all([
          // First the deletion comes before the others, in the end after them.
          delay(index).then(() => new Resources(at(index), 'user').delete(email)),
          groups(index + 1).patch(`group-${index}`, { memberLinks: { $append: [link('user', email)] } }),
          policies(index + 2).create(policyOf(index)),
        ]);
        expect(gone.status).toBe(204);
        expect([200, 400]).toContain(joined.status);
        expect([201, 400]).toContain(granted.status);
      }
      const found = await Promise.all(
        orgs.map(async ({ api }) => {
          const pages = ['group', 'policy'].map((kind) => api.get(`/org/acme/${kind}?limit=1000`));
          return (await Promise.all(pages)).flatMap(({ text }) => text.match(/user-\d+@example\.com/g) ?? []);
        }),
      );
      expect(found).toEqual(orgs.map(() => []));
      // Nor does one of the same address who comes later have what was given to the first.
      const { body } = await newUser(at(0), mailbox, PEOPLE[0] ?? '');
      expect((await new Api(at(1).api.url, body.key).get('/org/acme/group')).status).toBe(403);
    },
    3 * MINUTES,
  );
});
