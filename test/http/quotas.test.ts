import { Api, newOrg, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({
    env: {
      CONTROL_QUOTA_GROUPS: '2',
      CONTROL_QUOTA_SERVICE_ACCOUNTS: '1',
      CONTROL_QUOTA_INVITATIONS: '2',
      CONTROL_QUOTA_AUDIT_CONTEXTS: '1',
    },
  });
});

afterAll(() => service.remove());

test('one resource too many is 409 with the limit and its setting, and one less makes room again', async () => {
  const { api, name } = await newOrg(service);
  const create = (group: string) => api.post<Refusal>(`/org/${name}/group`, { name: group });
  const statuses = [];
  for (const group of ['one', 'two', 'three']) statuses.push((await create(group)).status);
  expect(statuses).toEqual([201, 201, 409]);
  const refused = await create('three');
  expect(refused.body).toMatchObject({
    code: 'quota_exceeded',
    message: expect.stringContaining(
      `the limit of groups in organization ${name} is 2 (CONTROL_QUOTA_GROUPS); delete some, or`,
    ),
  });
  await api.send('DELETE', `/org/${name}/group/one`);
  expect((await create('three')).status).toBe(201);
});

test('the limit holds for requests at once, and by organization', async () => {
  const [one, other] = [await newOrg(service), await newOrg(service)];
  const create = ({ api, name }: typeof one, account: string) =>
    api.post(`/org/${name}/serviceaccount`, { name: account });
  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => create(one, `account-${n}`)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
  expect((await create(other, 'account')).status).toBe(201);
});

test('a request that would invite more than the limit invites nobody', async () => {
  const { api, name } = await newOrg(service);
  const invite = (...emails: string[]) => api.post<Refusal>(`/org/${name}/user/-invite`, { emails });
  const refused = await invite('a@example.com', 'b@example.com', 'c@example.com');
  expect([refused.status, refused.body.code]).toEqual([409, 'quota_exceeded']);
  expect((await api.get(`/org/${name}/invitation`)).body.items).toEqual([]);
  expect((await invite('a@example.com', 'b@example.com')).status).toBe(200);
});

test('settings of audit contexts are limited, and those that are there can be changed', async () => {
  const { api, name } = await newOrg(service);
  const set = (context: string, retentionDays: number) =>
    api.send<Refusal>('PUT', `/audit/org/${name}/auditctx/${context}`, JSON.stringify({ retentionDays }), {
      'content-type': 'application/json',
    });
  expect((await set('app', 10)).status).toBe(200);
  const message = `the limit of audit contexts with settings in organization ${name} is 1 (CONTROL_QUOTA_AUDIT_CONTEXTS); ask the operator to raise it`;
  expect((await set('other', 10)).body).toMatchObject({ status: 409, code: 'quota_exceeded', message });
  expect((await set('app', 20)).status).toBe(200);
});

test('a retry of a change applied at the limit returns the first response', async () => {
  const { api, name } = await newOrg(service);
  const create = () => api.post(`/org/${name}/serviceaccount`, { name: 'robot' }, { 'idempotency-key': 'k' });
  const first = await create();
  expect([first.status, (await create()).text]).toEqual([201, first.text]);
});

test('what a quota refuses is not recorded as a denied attempt', async () => {
  const org = await newOrg(service);
  const { api, name } = org;
  for (const account of ['one', 'two']) await api.post(`/org/${name}/serviceaccount`, { name: account });
  const denied = await org.list({ contextName: 'svc', resultStatus: 'DENIED' });
  expect(denied.body.items).toEqual([]);
});

test('the operator is refused, too, when there are as many organizations as there may be', async () => {
  const single = await startService({ env: { CONTROL_QUOTA_ORGS: '1' } });
  const root = new Api(single.url, single.rootKey);
  try {
    const answers = [await root.post('/org', { name: 'acme' }), await root.post<Refusal>('/org', { name: 'globex' })];
    expect(answers.map(({ status }) => status)).toEqual([201, 409]);
    expect(answers[1]?.body).toMatchObject({ code: 'quota_exceeded' });
  } finally {
    await single.remove();
  }
});
