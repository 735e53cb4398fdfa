import { setTimeout as delay } from 'node:timers/promises';
import { Api, at, newOrg, type Org } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

interface Key {
  readonly id: string;
  readonly description: string;
  readonly lastUsed?: string;
}

const DAY = 24 * 60 * 60 * 1000;

let mailbox: Mailbox;
let service: TestService;
let org: Org;
let late = 0;
const clock = { now: () => Date.now() + late };
const day = () => new Date(clock.now()).toISOString().slice(0, 10);

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env, clock });
});

beforeEach(async () => {
  late = 0;
  org = await newOrg(service);
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const admin = () => `/org/${org.name}/serviceaccount/admin`;

/** Asks until the answer is as expected; shows the last answer if it never is. */
async function eventually<Value>(ask: () => Promise<Value>, expected: Value): Promise<void> {
  for (const deadline = Date.now() + 10_000 * PATIENCE; ; await delay(50)) {
    const value = await ask();
    if (JSON.stringify(value) === JSON.stringify(expected)) return;
    if (Date.now() > deadline) return expect(value).toEqual(expected);
  }
}

const daysOf = (keys: readonly Key[]) => keys.map(({ description, lastUsed }) => [description, lastUsed]);
const listed = async (by: Api, path = admin()) =>
  daysOf((await by.get<{ items: readonly Key[] }>(`${path}/-keys`)).body.items);
const viewed = async () => daysOf((await org.api.get<{ keys: readonly Key[] }>(admin())).body.keys);

test('is shown of each key by its list, the view of the service account and whoami; a key that was not used has none', async () => {
  await org.api.post(`${admin()}/-addKey`, { description: 'unused' });
  const today = day();
  const expected = [
    ['first key', today],
    ['unused', undefined],
  ];
  await eventually(() => listed(org.api), expected);
  await eventually(viewed, expected);
  const { body } = await org.api.get<{ key: Key }>('/whoami');
  expect(body.key.lastUsed).toBe(today);
});

test('moves on with the first use of another day', async () => {
  await eventually(() => listed(org.api), [['first key', day()]]);
  const first = day();
  late = DAY;
  expect(day() > first).toBe(true);
  await eventually(() => listed(org.api), [['first key', day()]]);
  await eventually(viewed, [['first key', day()]]);
});

test('is known of keys of users', async () => {
  const { body: user } = await newUser(org, mailbox, 'ann@example.com');
  const path = `/org/${org.name}/user/ann@example.com`;
  expect(await listed(org.api, path)).toEqual([['first key', undefined]]);
  await eventually(() => listed(new Api(service.url, user.key), path), [['first key', day()]]);
});

test('is a use also if the request is refused for want of a permission', async () => {
  const { body: user } = await newUser(org, mailbox, 'bob@example.com');
  expect((await new Api(service.url, user.key).get(`/org/${org.name}/group/superusers`)).status).toBe(403);
  await eventually(() => listed(org.api, `/org/${org.name}/user/bob@example.com`), [['first key', day()]]);
});

test('is no event for the auditors, and no change of the service account', async () => {
  const told = async () => (await org.list({ contextName: 'svc', pageSize: '1000' })).body.items.length;
  const before = await told();
  const { headers } = await org.api.get(admin());
  await eventually(viewed, [['first key', day()]]);
  expect(await told()).toBe(before);
  expect((await org.api.get(admin())).headers.get('etag')).toBe(headers.get('etag'));
});

test('is there after a restart, and after the read model was made anew', async () => {
  const own = await startService({ clock });
  try {
    org = await newOrg(own);
    const today = day();
    await eventually(viewed, [['first key', today]]);
    await own.loseReadModel();
    const after = await startService({ dataDir: own.dataDir, clock });
    // Its own use would be shown a moment later: this was there before.
    const { body } = await at(after, org).api.get<{ keys: readonly Key[] }>(admin());
    await after.stop();
    expect(daysOf(body.keys)).toEqual([['first key', today]]);
  } finally {
    await own.remove();
  }
});
