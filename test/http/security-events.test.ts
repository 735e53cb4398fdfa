import { Readable } from 'node:stream';
import { type Answer, Api, type Event, newOrg, Org, type Refusal } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

const JOURNAL = '/audit/org/-service';
const onCluster = process.env.TEST_STORE === 'cluster';

let service: TestService;
let root: Api;
let org: Org;

beforeAll(async () => {
  service = await startService();
  root = new Api(service.url, service.rootKey);
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

async function eventually<Found>(find: () => Promise<Found | undefined>): Promise<Found> {
  for (const deadline = Date.now() + 20_000 * PATIENCE; ; ) {
    const found = await find();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error('it did not come');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const recorded = (actionType: string, of: Org = org): Promise<Event> =>
  eventually(async () => (await of.list({ contextName: 'svc', actionType })).body.items[0]);

/** The newest event of the journal with this request id. */
const journalled = (requestId: string): Promise<Event> =>
  eventually(async () => (await root.get(`${JOURNAL}?requestId=${requestId}`)).body.items[0]);

const dataOf = (action: Event['action']) => (action?.data ?? {}) as Readonly<Record<string, unknown>>;

const actionsOf = async (of: Org) =>
  (await of.list({ contextName: 'svc' })).body.items.map(({ action }) => action?.type);

describe('an export', () => {
  test('is recorded before its data flows, with who, from where and which filters, and at its end', async () => {
    await org.publish({ resource: { name: 'db-1' } });
    await org.publish({ resource: { name: 'db-2' } });
    const answer = await org.api.get(`${org.audit}/-export?contextName=app`, { 'x-request-id': 'export-1' });
    expect(answer.text.trim().split('\n')).toHaveLength(3);
    const begun = await recorded('export');
    expect(begun).toMatchObject({
      resource: { type: 'org', name: org.name },
      action: { type: 'export', data: { filters: { contextName: 'app' }, isContinued: false } },
      result: { status: 'OK' },
      requestId: 'export-1',
      subject: { name: 'admin' },
      context: { name: 'svc', publisher: { link: `/org/${org.name}/serviceaccount/admin`, remoteIp: '127.0.0.1' } },
    });
    const ended = await recorded('end-export');
    expect(ended.action?.data).toEqual({ export: begun.id, whole: true, count: 2 });
  });

  test('of one page does not hold the record of itself, and the one that goes on from its cursor does', async () => {
    const lines = ({ text }: Answer<unknown>) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const first = lines(await org.api.get(`${org.audit}/-export`));
    expect(first.filter(({ action }) => action?.type === 'export')).toEqual([]);
    await recorded('end-export');
    const next = lines(await org.api.get(`${org.audit}/-export?cursor=${first.at(-1).cursor}`));
    expect(next.slice(0, -1).map(({ action }) => action.type)).toEqual(['export', 'end-export']);
    const isContinued = await eventually(async () => {
      const events = (await org.list({ contextName: 'svc', actionType: 'export' })).body.items;
      return events.length < 2 ? undefined : events.map(({ action }) => dataOf(action).isContinued);
    });
    expect(isContinued).toEqual([true, false]);
  });

  test('that the client cuts is recorded as cut', async () => {
    const large = Array.from({ length: 30 }, (_, n) => ({
      resource: { name: `r-${n}`, data: { text: 'x'.repeat(250_000) } },
    }));
    for (let at = 0; at < 4; at += 1) await org.bulk(large);
    const { body } = await fetch(`${service.url}${org.audit}/-export`, {
      headers: { authorization: `Bearer ${org.key}` },
    });
    for await (const _chunk of Readable.fromWeb(body as never)) break;
    const { action } = await recorded('end-export');
    expect(action?.data).toMatchObject({ whole: false });
    expect(dataOf(action).count).toBeLessThan(120 + 20);
  });

  test('that is only asked for with HEAD, or refused, is none', async () => {
    await org.api.send('HEAD', `${org.audit}/-export`);
    expect((await org.api.get(`${org.audit}/-export?nonsense=1`)).status).toBe(400);
    expect((await org.api.get(`${org.audit}/-export?cursor=nonsense`)).status).toBe(400);
    await org.api.get(`${org.audit}/-export?contextName=marker`);
    await recorded('end-export');
    expect((await actionsOf(org)).filter((action) => action === 'export')).toHaveLength(1);
  });

  test('records the contexts that a caller was limited to, and as much of a long filter as fits a record', async () => {
    const accounts = `/org/${org.name}/serviceaccount`;
    await org.publish({ resource: { name: 'x' } });
    await org.api.post(accounts, { name: 'reader' });
    const { body } = await org.api.post<{ key: string }>(`${accounts}/reader/-addKey`, { description: 'a test' });
    await org.api.post(`/org/${org.name}/policy`, {
      name: 'app-readers',
      targetKind: 'auditctx',
      targetLinks: [`/org/${org.name}/auditctx/app`],
      bindings: [{ permissions: ['readAudit'], principalLinks: [`${accounts}/reader`] }],
    });
    await new Api(service.url, body.key).get(`${org.audit}/-export?resourceName=${'x'.repeat(1024)}`);
    const { action, subject } = await recorded('export');
    expect([subject.name, action?.data]).toEqual([
      'reader',
      { filters: { resourceName: 'x'.repeat(200) }, isContinued: false, contexts: ['app'], contextCount: 1 },
    ]);
  });
});

describe('what the root key does to all data', () => {
  const jobDone = (path: string) =>
    eventually(async () => {
      const { body } = await root.get<{ state: string }>(path);
      return body.state === 'done' ? body : undefined;
    });

  test.each([
    ['rebuild', '/-rebuild', undefined],
    ['reconcile', '/-reconcile', { repair: true }],
  ] as const)('is in the journal and in every organization: %s', async (action, path, body) => {
    const requestId = `root-${action}`;
    const other = await newOrg(service);
    expect((await root.post(path, body ?? '', { 'x-request-id': requestId })).status).toBe(202);
    await jobDone(path);
    const event = await journalled(requestId);
    expect(event).toMatchObject({
      resource: { type: 'service', name: '-service' },
      action: { type: action, data: { isToldToEach: true, organizations: expect.any(Number) } },
      context: { org: '-service', name: 'svc', publisher: { keyId: 'root', remoteIp: '127.0.0.1' } },
      subject: { name: 'root' },
    });
    for (const one of [org, other]) {
      expect(await recorded(action, one)).toMatchObject({ requestId, subject: { name: 'root' }, action: { data: {} } });
    }
  });

  test('is not recorded for a reconciliation that changes nothing', async () => {
    await root.post('/-reconcile', {}, { 'x-request-id': 'only-compare' });
    await jobDone('/-reconcile');
    await org.api.get(`${org.audit}/-export`);
    await recorded('end-export');
    expect(await actionsOf(org)).not.toContain('reconcile');
    expect((await root.get(`${JOURNAL}?requestId=only-compare`)).body.items).toEqual([]);
  });

  (onCluster ? test.skip : test)(
    'is a backup: the journal knows its digest, an organization that it was in it',
    async () => {
      const { status, headers } = await root.get('/-backup', { 'x-request-id': 'root-backup' });
      expect(status).toBe(200);
      const { action } = await journalled('root-backup');
      expect(action?.data).toMatchObject({ sha256: headers.get('x-backup-sha256') });
      expect((await recorded('backup')).action?.data).toEqual({});
    },
  );
});

describe('the journal of the service', () => {
  test('is read with the root key, by all reads of audit events', async () => {
    await root.post('/-reconcile', { repair: true }, { 'x-request-id': 'journal-1' });
    const event = await journalled('journal-1');
    const statuses = [];
    const reads = [
      `/id/${event.id}`,
      '/resource/name/-service',
      '/auditctx',
      '/auditctx/svc',
      '?order=received',
      '/-export',
    ];
    for (const path of reads) statuses.push((await root.get(JOURNAL + path)).status);
    expect(statuses).toEqual(reads.map(() => 200));
    expect(await journalled('journal-1')).toEqual(event);
  });

  test('takes nothing from anybody, and shows nothing to an organization', async () => {
    const event = { resource: { name: 'x' } };
    const refused = [
      await root.post<Refusal>(`${JOURNAL}/auditctx/app`, event),
      await root.post<Refusal>(`${JOURNAL}/auditctx/svc`, event),
      await root.send<Refusal>('PUT', `${JOURNAL}/auditctx/app`, '{"retentionDays":1}', {
        'content-type': 'application/json',
      }),
      await org.api.get<Refusal>(JOURNAL),
      await org.api.get<Refusal>(`${JOURNAL}/-export`),
      await root.get<Refusal>('/org/-service/user'),
      await root.get<Refusal>(org.audit),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
    expect((await root.get('/org/-service')).status).toBe(404);
    expect((await new Api(service.url).get(JOURNAL)).status).toBe(401);
  });

  test('has a name that no organization can have', async () => {
    expect((await root.post('/org', { name: '-service' })).status).toBe(400);
  });
});
