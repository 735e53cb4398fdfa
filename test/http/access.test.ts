import { Api, newOrg, type Org, type OrgBody, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
});

afterAll(() => service.remove());

type Route = readonly [method: 'GET' | 'POST', path: (name: string) => string];

/** Every route that wants a key of the organization. */
const ROUTES: Route[] = [
  ['POST', (name) => `/audit/org/${name}/auditctx/app`],
  ['POST', (name) => `/audit/org/${name}/auditctx/app/-bulk`],
  ['GET', (name) => `/audit/org/${name}`],
  ['GET', (name) => `/audit/org/${name}/id/01890000-0000-7000-8000-000000000000`],
  ['GET', (name) => `/audit/org/${name}/resource/name/web`],
  ['GET', (name) => `/audit/org/${name}/resource/id/web`],
  ['GET', (name) => `/audit/org/${name}/auditctx`],
  ['GET', (name) => `/org/${name}/user`],
];

function call([method, path]: Route, name: string, authorization?: string) {
  const headers = { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) };
  const body = method === 'POST' ? '{"resource":{"name":"x"}}' : undefined;
  return new Api(service.url).send<Refusal>(method, path(name), body, headers);
}

const withoutId = ({ status, body: { id: _id, ...body } }: { status: number; body: Refusal }) => ({ status, body });
const shown: [string, Route][] = ROUTES.map((route) => [`${route[0]} ${route[1]('{org}')}`, route]);

describe.each(shown)('%s', (_shown, route) => {
  test.each<[string, string | undefined]>([
    ['no key', undefined],
    ['an empty header', ''],
    ['a scheme without a key', 'Bearer '],
    ['an unknown key', 'Bearer svc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['another scheme', `Basic ${Buffer.from('admin:admin').toString('base64')}`],
    ['a very long key', `Bearer ${'k'.repeat(2_000)}`],
  ])('answers 401 to %s', async (_what, authorization) => {
    const { status, headers, body } = await call(route, org.name, authorization);
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
    expect(headers.get('www-authenticate')).toBe('Bearer');
  });

  test('returns 401 for a key with one character more, fewer or of another case', async () => {
    const near = [`${org.key}x`, org.key.slice(0, -1), org.key.toUpperCase(), `${org.key},${org.key}`];
    for (const key of near) expect((await call(route, org.name, key)).status).toBe(401);
  });

  test('returns 403 for the root key', async () => {
    const { status, body } = await call(route, org.name, service.rootKey);
    expect([status, body.code]).toEqual([403, 'forbidden']);
  });

  test('returns 403 for a key of another organization, the same whether this one exists or not', async () => {
    const other = await newOrg(service);
    const existing = await call(route, other.name, org.key);
    const absent = await call(route, 'no-such-org', org.key);
    const impossible = await call(route, 'NO%20ORG', org.key);
    expect(withoutId(existing)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect([withoutId(absent), withoutId(impossible)]).toEqual([withoutId(existing), withoutId(existing)]);
    expect([...absent.headers.keys()].sort()).toEqual([...existing.headers.keys()].sort());
  });
});

describe('a key', () => {
  test.each([
    ['as it is', (key: string) => key],
    ['with Bearer', (key: string) => `Bearer ${key}`],
    ['with bearer in any case', (key: string) => `bEARER ${key}`],
  ])('is taken %s', async (_how, write) => {
    expect((await call(['GET', (name) => `/audit/org/${name}`], org.name, write(org.key))).status).toBe(200);
  });

  test('works as soon as it was answered', async () => {
    for (let index = 0; index < 10; index += 1) {
      const fresh = await newOrg(service);
      expect((await fresh.publish({ resource: { name: 'x' } })).status).toBe(201);
      expect((await fresh.api.get<OrgBody>(`/org/${fresh.name}`)).body.name).toBe(fresh.name);
    }
  });

  test('in the query is no key', async () => {
    const answer = await new Api(service.url).get<Refusal>(`${org.audit}?authorization=${org.key}`);
    expect(answer.status).toBe(401);
  });

  test('is asked for before the body is read', async () => {
    const answer = await new Api(service.url).post<Refusal>(`${org.audit}/auditctx/app`, '{"resource":');
    expect(answer.status).toBe(401);
  });
});

test('health needs no key', async () => {
  const nobody = new Api(service.url);
  const answers = [await nobody.get<unknown>('/health/live'), await nobody.get<unknown>('/health/ready')];
  expect(answers.map(({ status, body }) => [status, body])).toEqual([
    [200, { status: 'ok' }],
    [200, { status: 'ok' }],
  ]);
});
