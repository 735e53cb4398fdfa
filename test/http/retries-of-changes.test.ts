import { Api, type Json, newOrg, type OrgBody, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

const DAY = 24 * 60 * 60_000;

let service: TestService;
let passed = 0;
/** Of the log as well: it is the embedded one. */
const clock = { now: () => Date.now() + passed };

beforeAll(async () => {
  service = await startService({ clock });
});

afterAll(() => service.remove());

/** Makes the log give a time to a record: only then does it know how late it is. */
async function later(ms: number): Promise<void> {
  passed += ms;
  await newOrg(service);
}

test('a retry returns the first response for 24 hours, also after a restart; after that it is a new request', async () => {
  const { api, name } = await newOrg(service);
  const create = (key: string, description = 'x') =>
    new Api(service.url, api.key).post<Json & Refusal>(
      `/org/${name}/group`,
      { name: 'ops', description },
      { 'idempotency-key': key },
    );
  const first = await create('k');
  await later(DAY - 60_000);
  await service.stop();
  service = await startService({ dataDir: service.dataDir, clock });
  expect([(await create('k')).status, (await create('k')).body]).toEqual([201, first.body]);
  expect((await create('k', 'other')).body.code).toBe('idempotency_conflict');
  await later(120_000);
  expect((await create('k')).body).toMatchObject({ status: 409, code: 'already_exists' });
});

test('a key that was revoked does not come back with the request that once issued it', async () => {
  const { name, key } = await newOrg(service);
  const api = new Api(service.url, key);
  const add = () =>
    api.post<Refusal & { readonly key: string; readonly id: string }>(
      `/org/${name}/serviceaccount/admin/-addKey`,
      { description: 'ci' },
      { 'idempotency-key': 'add' },
    );
  const { body: issued } = await add();
  await later(2 * DAY);
  const whileValid = await add();
  await api.post(`/org/${name}/serviceaccount/admin/-removeKey`, { id: issued.id });
  const revoked = await add();
  for (const { status, body } of [whileValid, revoked]) {
    expect([status, body.code, body.message]).toEqual([
      409,
      'conflict',
      expect.stringContaining('new Idempotency-Key'),
    ]);
  }
  expect((await new Api(service.url, issued.key).get(`/org/${name}`)).status).toBe(401);
});

test('an organization that is made again after a day exists, and its first key stays good', async () => {
  const root = new Api(service.url, service.rootKey);
  const create = () => root.post<OrgBody & Refusal>('/org', { name: 'early' }, { 'idempotency-key': 'make' });
  const { body } = await create();
  await later(2 * DAY);
  expect((await create()).body.code).toBe('already_exists');
  expect((await new Api(service.url, body.key).get('/org/early')).status).toBe(200);
});
