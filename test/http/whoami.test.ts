import { Api, newOrg, type Org, type Refusal } from '../support/api.js';
import { undocumented } from '../support/documented.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';

interface WhoAmI {
  readonly kind: string;
  readonly principal: { readonly kind: string; readonly name: string; readonly email?: string; readonly link?: string };
  readonly org?: string;
  readonly key?: { readonly id: string; readonly description: string; readonly created: string; expires?: string };
  readonly permissions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

let mailbox: Mailbox;
let service: TestService;
let org: Org;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const whoami = (key?: string) => new Api(service.url, key).get<WhoAmI & Refusal>('/whoami');

test('shows a service account its key, and a superuser every permission', async () => {
  const { status, headers, body } = await whoami(org.key);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(undocumented('WhoAmI', body)).toEqual([]);
  expect(body).toMatchObject({
    kind: 'whoami',
    principal: { kind: 'serviceaccount', name: 'admin', link: `/org/${org.name}/serviceaccount/admin` },
    org: org.name,
    key: { id: expect.any(String), description: 'first key', created: expect.any(String) },
  });
  expect(Object.keys(body.permissions ?? {})).toEqual([
    'user',
    'group',
    'serviceaccount',
    'policy',
    'domain',
    'auditctx',
  ]);
  const held = Object.values(body.permissions ?? {}).flatMap((one) => Object.values(one));
  expect([held.length, new Set(held)]).toEqual([29, new Set(['all'])]);
});

test('shows a user the name, the address, the end of the key, and each permission with its targets', async () => {
  const { body: user } = await newUser(org, mailbox, 'ann@example.com', { name: 'Ann A.' });
  const ann = `/org/${org.name}/user/ann@example.com`;
  const before = await whoami(user.key);
  expect(before.body).toMatchObject({
    principal: { kind: 'user', name: 'Ann A.', email: 'ann@example.com', link: ann },
    permissions: {},
  });
  const expires = new Date(Date.now() + 60_000).toISOString();
  const own = new Api(service.url, user.key);
  const { body: issued } = await own.post<{ id: string; key: string }>(`${ann}/-addKey`, {
    description: 'short',
    expires,
  });
  const targetLinks = Array.from({ length: 25 }, (_, n) => `/org/${org.name}/auditctx/c${String(n).padStart(2, '0')}`);
  const policy = { name: 'reads', targetKind: 'auditctx', targetLinks };
  const bindings = [{ permissions: ['readAudit'], principalLinks: [ann] }];
  expect((await org.api.post(`/org/${org.name}/policy`, { ...policy, bindings })).status).toBe(201);
  const { body } = await whoami(issued.key);
  expect(undocumented('WhoAmI', body)).toEqual([]);
  expect(body.key).toMatchObject({ id: issued.id, description: 'short', expires });
  expect(body.permissions).toEqual({ auditctx: { readAudit: { total: 25, links: targetLinks.slice(0, 20) } } });
});

test('shows the root key as the root key', async () => {
  const { status, body } = await whoami(service.rootKey);
  expect([status, body]).toEqual([200, { kind: 'whoami', principal: { kind: 'root', name: 'root' } }]);
  expect(undocumented('WhoAmI', body)).toEqual([]);
});

test('is refused without a key, with an unknown one and with one that was removed', async () => {
  const { body: issued } = await org.api.post<{ id: string; key: string }>(
    `/org/${org.name}/serviceaccount/admin/-addKey`,
    { description: 'x' },
  );
  expect((await whoami(issued.key)).body.key?.id).toBe(issued.id);
  await org.api.post(`/org/${org.name}/serviceaccount/admin/-removeKey`, { id: issued.id });
  for (const key of [undefined, `svc_${'A'.repeat(43)}`, issued.key]) {
    const { status, body } = await whoami(key);
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
  }
});

test('takes no parameters', async () => {
  const { status, body } = await org.api.get<Refusal>('/whoami?verbose=true');
  expect([status, body.code]).toEqual([400, 'validation_failed']);
});
