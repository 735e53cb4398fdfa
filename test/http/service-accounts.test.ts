import { createHash } from 'node:crypto';
import { type Answer, Api, at, fromNow, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

interface Key {
  readonly id: string;
  readonly description: string;
  readonly created: string;
  readonly expires?: string;
}

interface Account {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly origin: string;
  readonly keys: readonly Key[];
  readonly version: number;
  readonly created: string;
  readonly lastModified: string;
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

type IssuedKey = Key & Pick<Account, 'kind' | 'links'> & { readonly key: string };

const HOUR = 60 * 60 * 1000;

let service: TestService;
let org: Org;
let path: string;
let late = 0;

beforeAll(async () => {
  service = await startService({ clock: { now: () => Date.now() + late } });
});

beforeEach(async () => {
  late = 0;
  org = await newOrg(service);
  path = `/org/${org.name}/serviceaccount`;
});

afterAll(() => service.remove());

function create<Body = Account>(body: object, headers = {}): Promise<Answer<Body>> {
  return org.api.post<Body>(path, body as never, headers);
}

function sent<Body = Account>(method: string, name: string, body?: object, headers = {}): Promise<Answer<Body>> {
  const typed = { ...(body && { 'content-type': 'application/json' }), ...headers };
  return org.api.send<Body>(method, `${path}/${name}`, body && JSON.stringify(body), typed);
}

function addKey<Body = IssuedKey>(
  name: string,
  body: object = { description: 'x' },
  headers = {},
): Promise<Answer<Body>> {
  return org.api.post<Body>(`${path}/${name}/-addKey`, body as never, headers);
}

function removeKey(name: string, id: string, by: Api = org.api): Promise<Answer<Refusal>> {
  return by.post<Refusal>(`${path}/${name}/-removeKey`, { id });
}

async function robot(): Promise<Account> {
  const { status, body, text } = await create({ name: 'robot' });
  if (status !== 201) throw new Error(text);
  return body;
}

/** What a request with the key is answered. */
async function statusOf(key: string): Promise<number> {
  return (await new Api(service.url, key).get(`/org/${org.name}`)).status;
}

describe('a service account', () => {
  test('is made without a key, and read, listed and found', async () => {
    const answer = await create({ name: 'robot', description: 'Builds', tags: { team: 'red' } });
    const href = `${path}/robot`;
    expect([answer.status, answer.headers.get('location'), answer.headers.get('etag')]).toEqual([201, href, '"1"']);
    expect(answer.body).toEqual({
      kind: 'serviceaccount',
      id: expect.any(String),
      name: 'robot',
      description: 'Builds',
      tags: { team: 'red' },
      origin: 'default',
      keys: [],
      version: 1,
      created: expect.any(String),
      lastModified: answer.body.created,
      links: [{ rel: 'self', href }],
    });
    const read = await sent('GET', 'robot');
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', answer.body]);
    const list = await org.api.get<{ items: Account[] }>(path);
    expect(list.body.items.map(({ name, origin }) => [name, origin])).toEqual([
      ['admin', 'builtin'],
      ['robot', 'default'],
    ]);
    const query = { spec: { terms: [{ tag: 'team', value: 'red' }] } };
    expect((await org.api.post<{ items: Account[] }>(`${path}/-query`, query)).body.items).toEqual([answer.body]);
  });

  test('is described by its name where nothing else is said', async () => {
    expect(await robot()).toMatchObject({ description: 'robot', tags: {} });
  });

  test('of a name that is taken is refused', async () => {
    await robot();
    const { status, body } = await create<Refusal>({ name: 'robot' });
    expect([status, body.code]).toEqual([409, 'already_exists']);
  });

  test('is made once by one Idempotency-Key', async () => {
    const first = await create({ name: 'robot' }, { 'idempotency-key': 'once' });
    const again = await create({ name: 'robot' }, { 'idempotency-key': 'once' });
    expect([again.status, again.text]).toEqual([201, first.text]);
    const other = await create<Refusal>({ name: 'other' }, { 'idempotency-key': 'once' });
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  test.each<[string, object, string[]]>([
    ['no name', {}, ['/name']],
    ['a name that begins with a digit', { name: '1robot' }, ['/name']],
    ['a name of 64 characters', { name: 'r'.repeat(64) }, ['/name']],
    [
      'its own id, keys and origin',
      { name: 'robot', id: 'x', keys: [], origin: 'builtin' },
      ['/id', '/keys', '/origin'],
    ],
    ['several faults', { name: 'R', description: 1, tags: [] }, ['/description', '/name', '/tags']],
  ])('is refused with %s', async (_what, body, places) => {
    const answer = await create<Refusal>(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect([...new Set(pointers(answer))]).toEqual(places);
  });

  test('is changed by patch and replacement, and what was read may be sent back', async () => {
    const made = await robot();
    await addKey('robot');
    const read = (await sent('GET', 'robot')).body;
    expect(read.keys).toHaveLength(1);
    const patched = await sent('PATCH', 'robot', { ...read, tags: { a: '1' } });
    expect([patched.status, patched.body.tags, patched.body.keys]).toEqual([200, { a: '1' }, read.keys]);
    const { description: _description, ...rest } = patched.body;
    const replaced = await sent('PUT', 'robot', { ...rest, tags: { b: '2' } });
    expect(replaced.body).toEqual({
      ...made,
      tags: { b: '2' },
      keys: read.keys,
      version: 3,
      lastModified: replaced.body.lastModified,
    });
    expect((await sent('GET', 'robot')).body).toEqual(replaced.body);
  });

  test.each<[string, object, number, string]>([
    ['another name', { name: 'other' }, 400, 'validation_failed'],
    ['another origin', { origin: 'builtin' }, 400, 'validation_failed'],
    ['an unknown field', { memberLinks: [] }, 400, 'validation_failed'],
    ['a tag of the service', { tags: { 'svc/a': '1' } }, 400, 'builtin_tag'],
    ['another version', { version: 7, description: 'x' }, 412, 'precondition_failed'],
  ])('is not changed by %s', async (_what, body, status, code) => {
    const made = await robot();
    const answer = await sent<Refusal>('PATCH', 'robot', body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect((await sent('GET', 'robot')).body).toEqual(made);
  });

  test('that is built in may be edited', async () => {
    expect((await sent('PATCH', 'admin', { description: 'The first' })).body).toMatchObject({
      description: 'The first',
      origin: 'builtin',
    });
  });

  test('that is not there is not found', async () => {
    const answers = [
      await sent<Refusal>('GET', 'nobody'),
      await sent<Refusal>('PATCH', 'nobody', {}),
      await sent<Refusal>('DELETE', 'nobody'),
      await addKey<Refusal>('nobody'),
      await removeKey('nobody', 'x'),
    ];
    expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual(answers.map(() => [404, 'not_found']));
  });
});

describe('a key', () => {
  test('is shown once, and works at once', async () => {
    await robot();
    const { status, headers, body } = await addKey('robot', { description: 'For the build' });
    const { key, ...shown } = body;
    expect([status, headers.get('cache-control'), headers.get('location')]).toEqual([201, 'no-store', `${path}/robot`]);
    expect(shown).toEqual({
      kind: 'key',
      id: expect.any(String),
      description: 'For the build',
      created: expect.any(String),
      links: [{ rel: 'serviceaccount', href: `${path}/robot` }],
    });
    expect(key).toMatch(/^svc_[A-Za-z0-9_-]{43}$/);
    expect(await statusOf(key)).toBe(200);
    const { kind: _kind, links: _links, ...listed } = shown;
    expect((await sent('GET', 'robot')).body.keys).toEqual([listed]);
  });

  test('is in no response, audit event or file; its hash is in no response', async () => {
    await robot();
    const { key } = (await addKey('robot')).body;
    const texts = [
      (await sent('GET', 'robot')).text,
      (await org.api.get(path)).text,
      (await org.list({ pageSize: '1000' })).text,
    ];
    const hash = createHash('sha256').update(key).digest('hex');
    for (const text of texts) for (const secret of [key, hash]) expect(text).not.toContain(secret);
    const stored = await service.stored();
    expect([stored.includes(hash), stored.includes(key)]).toEqual([true, false]);
  });

  test('that is revoked is refused at once, the others are not', async () => {
    await robot();
    const [first, second] = [(await addKey('robot')).body, (await addKey('robot')).body];
    expect((await removeKey('robot', first.id)).status).toBe(204);
    expect([await statusOf(first.key), await statusOf(second.key)]).toEqual([401, 200]);
    expect((await sent('GET', 'robot')).body.keys.map(({ id }) => id)).toEqual([second.id]);
    const again = await removeKey('robot', first.id);
    expect([again.status, again.body.code]).toEqual([404, 'not_found']);
  });

  test('of another account is not removed', async () => {
    await robot();
    const { id, key } = (await addKey('robot')).body;
    expect((await removeKey('admin', id)).status).toBe(404);
    expect(await statusOf(key)).toBe(200);
  });

  test('may revoke itself', async () => {
    const { id, key } = (await addKey('admin')).body;
    expect((await removeKey('admin', id, new Api(service.url, key))).status).toBe(204);
    expect(await statusOf(key)).toBe(401);
  });

  test('is worth nothing from the moment at which it expires', async () => {
    await robot();
    const expires = new Date(Date.now() + HOUR);
    const written = expires.toISOString().replace('Z', '+00:00');
    const { body } = await addKey('robot', { description: 'x', expires: written });
    expect(body.expires).toBe(expires.toISOString());
    expect((await sent('GET', 'robot')).body.keys[0]?.expires).toBe(expires.toISOString());
    late = HOUR - 10_000;
    expect(await statusOf(body.key)).toBe(200);
    late = HOUR + 1;
    expect(await statusOf(body.key)).toBe(401);
    expect(await statusOf(org.key)).toBe(200);
  });

  test('goes with its account, also where one of the name is made again', async () => {
    await robot();
    const { key } = (await addKey('robot')).body;
    expect((await sent('DELETE', 'robot')).status).toBe(204);
    expect(await statusOf(key)).toBe(401);
    expect((await robot()).keys).toEqual([]);
    expect(await statusOf(key)).toBe(401);
  });

  test('is there after a restart, and one that was revoked is not', async () => {
    const before = await startService();
    try {
      const own = await newOrg(before);
      const account = `/org/${own.name}/serviceaccount/admin`;
      const add = async () => (await own.api.post<IssuedKey>(`${account}/-addKey`, { description: 'x' })).body;
      const [kept, revoked] = [await add(), await add()];
      await own.api.post(`${account}/-removeKey`, { id: revoked.id });
      await before.stop();
      const after = await startService({ dataDir: before.dataDir });
      const statuses = [kept, revoked].map(({ key }) => new Api(after.url, key).get(`/org/${own.name}`));
      expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([200, 401]);
      expect((await at(after, own).api.get<Account>(account)).body.keys).toHaveLength(2);
      await after.stop();
    } finally {
      await before.remove();
    }
  });

  test.each<[string, object, string[]]>([
    ['no description', {}, ['/description']],
    ['an end that is no instant', { description: 'x', expires: 'tomorrow' }, ['/expires']],
    ['an end in the past', { description: 'x', expires: fromNow(-1_000) }, ['/expires']],
    ['its own secret', { description: 'x', key: 'svc_mine' }, ['/key']],
  ])('is not issued with %s', async (_what, body, places) => {
    await robot();
    const answer = await addKey<Refusal>('robot', body);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', places]);
    expect((await sent('GET', 'robot')).body.keys).toEqual([]);
  });

  test('needs addKey on the account', async () => {
    await robot();
    await create({ name: 'helper' });
    const helper = new Api(service.url, (await addKey('helper')).body.key);
    const policy = {
      name: 'helps',
      targetKind: 'serviceaccount',
      targetLinks: [`${path}/robot`],
      bindings: [{ permissions: ['addKey'], principalLinks: [`${path}/helper`] }],
    };
    expect((await org.api.post(`/org/${org.name}/policy`, policy)).status).toBe(201);
    const issued = await helper.post<IssuedKey>(`${path}/robot/-addKey`, { description: 'x' });
    expect(issued.status).toBe(201);
    expect((await helper.post(`${path}/admin/-addKey`, { description: 'x' })).status).toBe(403);
    expect((await removeKey('admin', 'x', helper)).status).toBe(403);
    expect((await helper.send('PATCH', `${path}/robot`, '{}', { 'content-type': 'application/json' })).status).toBe(
      403,
    );
    expect((await removeKey('robot', issued.body.id, helper)).status).toBe(204);
  });
});

describe('an Idempotency-Key on -addKey', () => {
  const headers = { 'idempotency-key': 'once' };

  test('gives the same key again', async () => {
    await robot();
    const first = await addKey('robot', { description: 'x' }, headers);
    const again = await addKey('robot', { description: 'x' }, headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect((await sent('GET', 'robot')).body.keys).toHaveLength(1);
    expect(await statusOf(again.body.key)).toBe(200);
  });

  test('is of one account and one body', async () => {
    await robot();
    const first = await addKey('robot', { description: 'x' }, headers);
    const other = await addKey('admin', { description: 'x' }, headers);
    expect([other.status, other.body.key === first.body.key]).toEqual([201, false]);
    const { status, body } = await addKey<Refusal>('robot', { description: 'y' }, headers);
    expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
  });

  test('does not bring a revoked key back', async () => {
    await robot();
    const { id, key } = (await addKey('robot', { description: 'x' }, headers)).body;
    await removeKey('robot', id);
    const again = await addKey('robot', { description: 'x' }, headers);
    expect([again.status, again.text.includes(key)]).toEqual([409, false]);
    expect(await statusOf(key)).toBe(401);
  });
});

describe('deleting a service account', () => {
  test('takes its memberships, policy bindings and keys along, each recorded for auditors under one request', async () => {
    await robot();
    await addKey('robot');
    const link = `${path}/robot`;
    await org.api.post(`/org/${org.name}/group`, { name: 'robots', memberLinks: [link, `${path}/admin`] });
    const policy = {
      name: 'robots-see',
      targetKind: 'group',
      target: 'all',
      bindings: [{ permissions: ['view'], principalLinks: [link, `/org/${org.name}/group/robots`] }],
    };
    expect((await org.api.post(`/org/${org.name}/policy`, policy)).status).toBe(201);
    expect((await sent('DELETE', 'robot', undefined, { 'x-request-id': 'delete-robot' })).status).toBe(204);
    expect((await sent('GET', 'robot')).status).toBe(404);
    const group = await org.api.get<{ memberLinks: string[] }>(`/org/${org.name}/group/robots`);
    expect(group.body.memberLinks).toEqual([`${path}/admin`]);
    const { body } = await org.api.get<{ bindings: { principalLinks: string[] }[] }>(
      `/org/${org.name}/policy/robots-see`,
    );
    expect(body.bindings.map(({ principalLinks }) => principalLinks)).toEqual([[`/org/${org.name}/group/robots`]]);
    const { items } = (await org.list({ contextName: 'svc', requestId: 'delete-robot', order: 'received' })).body;
    expect(items.map(({ action, resource }) => [action?.type, resource.type, resource.name])).toEqual([
      ['delete', 'serviceaccount', 'robot'],
      ['remove-member', 'group', 'robots'],
      ['edit', 'policy', 'robots-see'],
      ['remove-key', 'key', link],
    ]);
  });

  test('is refused for the built-in admin while it is the last superuser, and no longer', async () => {
    const refused = await sent<Refusal>('DELETE', 'admin');
    expect([refused.status, refused.body.code]).toEqual([409, 'builtin_resource']);
    await robot();
    const { key } = (await addKey('robot')).body;
    await org.api.send(
      'PATCH',
      `/org/${org.name}/group/superusers`,
      JSON.stringify({ memberLinks: { $append: [`${path}/robot`] } }),
      { 'content-type': 'application/json' },
    );
    expect((await sent('DELETE', 'admin')).status).toBe(204);
    expect([await statusOf(org.key), await statusOf(key)]).toEqual([401, 200]);
    const last = await new Api(service.url, key).send<Refusal>('DELETE', `${path}/robot`);
    expect([last.status, last.body.code]).toEqual([409, 'builtin_resource']);
  });

  test('rests on If-Match', async () => {
    await robot();
    const refused = await sent<Refusal>('DELETE', 'robot', undefined, { 'if-match': '"2"' });
    expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
    expect((await sent('DELETE', 'robot', undefined, { 'if-match': '"1"' })).status).toBe(204);
  });

  test('races the issue of keys without leaving one that works', async () => {
    await robot();
    const issues = Array.from({ length: 6 }, () => addKey('robot'));
    const [deleted, ...issued] = await Promise.all([sent('DELETE', 'robot'), ...issues]);
    expect(deleted?.status).toBe(204);
    for (const { status, body } of issued) {
      expect([201, 404]).toContain(status);
      if (status === 201) expect(await statusOf(body.key)).toBe(401);
    }
  });
});
