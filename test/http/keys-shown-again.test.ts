import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Api, Org, type OrgBody, type Refusal } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

const MINUTE = 60_000;
const onCluster = process.env.TEST_STORE === 'cluster';

let service: TestService;
let passed = 0;
const clock = { now: () => Date.now() + passed };

beforeAll(async () => {
  service = await startService({ clock });
});

afterAll(() => service.remove());

function createOrg(name: string) {
  const root = new Api(service.url, service.rootKey);
  return root.post<OrgBody & Refusal>('/org', { name }, { 'idempotency-key': `make ${name}` });
}

test('a retry shows the key of the first response for ten minutes', async () => {
  const first = await createOrg('early');
  passed += 9 * MINUTE;
  const again = await createOrg('early');
  expect([again.status, again.body.key]).toEqual([201, first.body.key]);
});

test('a later retry shows no key, says so, and the first key stays good', async () => {
  const first = await createOrg('late');
  passed += 11 * MINUTE;
  const again = await createOrg('late');
  expect([again.status, again.body.code]).toEqual([409, 'conflict']);
  expect(again.body.message).toContain('more than 10 minutes ago');
  expect(again.text).not.toContain(first.body.key);
  expect((await new Api(service.url, first.body.key).get('/org/late')).status).toBe(200);
});

test('an added key is not shown again later either', async () => {
  const { body } = await createOrg('adding');
  const api = new Api(service.url, body.key);
  const add = () =>
    api.post<Refusal & { key: string; id: string }>(
      '/org/adding/serviceaccount/admin/-addKey',
      { description: 'ci' },
      { 'idempotency-key': 'add' },
    );
  const first = await add();
  expect((await add()).body.key).toBe(first.body.key);
  // Recorded each time before it is shown, and not where it was issued.
  expect((await add()).body.key).toBe(first.body.key);
  const shown = async () =>
    (await new Org(service.url, 'adding', body.key).list({ actionType: 'show-key' })).body.items;
  for (const deadline = Date.now() + 20_000 * PATIENCE; (await shown()).length < 2 && Date.now() < deadline; );
  const link = '/org/adding/serviceaccount/admin';
  const event = {
    action: { data: { key: first.body.id, principal: link } },
    context: { name: 'svc', publisher: { link } },
  };
  expect(await shown()).toMatchObject([event, event]);
  passed += 11 * MINUTE;
  expect([(await add()).status, (await add()).text.includes(first.body.key)]).toEqual([409, false]);
});

(onCluster ? describe.skip : describe)('the service secret on the embedded store', () => {
  test('is created with the data, in its own file, and is not the root key', () => {
    const secret = readFileSync(join(service.dataDir, 'service.secret'), 'utf8').trim();
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
    expect(secret).not.toBe(service.rootKey);
    const others = readdirSync(service.dataDir).filter((name) => name !== 'service.secret');
    for (const name of others) expect(readFileSync(join(service.dataDir, name)).includes(secret)).toBe(false);
  });

  test('when it is lost, a new one is made: a retry shows no key, issued keys stay good', async () => {
    const first = await createOrg('lost');
    await service.stop();
    rmSync(join(service.dataDir, 'service.secret'));
    service = await startService({ clock, dataDir: service.dataDir });
    const again = await createOrg('lost');
    expect([again.status, again.body.code]).toEqual([409, 'conflict']);
    expect((await new Api(service.url, first.body.key).get('/org/lost')).status).toBe(200);
  });

  test('when it is lost, a retried invitation names the reason and the invitation that is recorded', async () => {
    const { key } = (await createOrg('inviting')).body;
    const invite = () =>
      new Api(service.url, key).post<{ errors: Record<string, Refusal> }>(
        '/org/inviting/user/-invite',
        { emails: ['ann@example.com'] },
        { 'idempotency-key': 'invite' },
      );
    expect((await invite()).status).toBe(200);
    const { items } = (await new Api(service.url, key).get<{ items: { id: string }[] }>('/org/inviting/invitation'))
      .body;
    const invitation = `/org/inviting/invitation/${items[0]?.id}`;
    await service.stop();
    rmSync(join(service.dataDir, 'service.secret'));
    service = await startService({ clock, dataDir: service.dataDir });
    expect((await invite()).body.errors['ann@example.com']).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('the service secret was changed since; invite the address again'),
      details: { invitation },
    });
  });
});
