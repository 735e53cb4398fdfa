import { type Json, newOrg, Org, pointers, type Sent } from '../support/api.js';
import { undocumented } from '../support/documented.js';
import { type Resource, Resources } from '../support/resources.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

type Policy = Resource & {
  readonly targetKind: string;
  readonly target?: 'all';
  readonly targetLinks?: readonly string[];
  readonly bindings: readonly { readonly permissions: readonly string[]; readonly principalLinks: readonly string[] }[];
  readonly origin: string;
};

let service: TestService;
let org: Org;
let policies: Resources<Policy>;
let annId: string;

const link = (kind: string, ref: string) => `/org/acme/${kind}/${ref}`;
const ANN = link('user', 'ann@example.com');
const ROBOT = link('serviceaccount', 'robot');
const CREW = link('group', 'crew');
const SHOP = link('domain', 'shop.example.com');

beforeAll(async () => {
  const seed = new Seed();
  const key = seed.org('acme');
  seed.user('acme', 'ann@example.com');
  seed.account('acme', 'robot');
  seed.group('acme', 'crew', { memberLinks: [ROBOT] });
  seed.domain('acme', 'shop.example.com');
  seed.org('globex');
  seed.domain('globex', 'globex.example.com');
  seed.group('globex', 'crew');
  annId = seed.read('user/acme/ann@example.com')?.id ?? '';
  service = await startService({ seed });
  org = new Org(service.url, 'acme', key);
  policies = new Resources(org, 'policy');
});

afterAll(() => service.remove());

let made = 0;

function newName(): string {
  made += 1;
  return `policy-${made}`;
}

async function newPolicy(body: object = {}): Promise<Policy> {
  const answer = await policies.create({ name: newName(), targetKind: 'group', target: 'all', ...body });
  if (answer.status !== 201) throw new Error(`the policy answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

const binding = (permissions: string[], ...principalLinks: string[]) => ({ permissions, principalLinks });

describe('a policy', () => {
  test('is made with all that it may have, and is read the same', async () => {
    const body = {
      name: 'whole',
      description: 'All of it',
      tags: { a: 'b' },
      targetKind: 'domain',
      targetLinks: [SHOP],
      bindings: [binding(['view', 'edit'], ANN, ROBOT, CREW), binding(['delete'], CREW)],
    };
    const { status, headers, body: policy } = await policies.create(body);
    expect([status, headers.get('location'), headers.get('etag')]).toEqual([201, link('policy', 'whole'), '"1"']);
    expect(policy).toEqual({
      kind: 'policy',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...body,
      origin: 'default',
      version: 1,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      lastModified: policy.created,
      links: [{ rel: 'self', href: link('policy', 'whole') }],
    });
    const read = await policies.get('whole');
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', policy]);
    expect(undocumented('Policy', policy)).toEqual([]);
  });

  test('defaults to its name as description, without tags and bindings', async () => {
    const { description, name, tags, bindings, target, targetLinks } = await newPolicy();
    expect([description, tags, bindings, target, targetLinks]).toEqual([name, {}, [], 'all', undefined]);
  });

  test('keeps each link once, as users, groups and accounts are called', async () => {
    const { targetLinks, bindings } = await newPolicy({
      targetKind: 'user',
      target: undefined,
      targetLinks: [ANN, link('user', annId), link('user', 'ANN%40example.com')],
      bindings: [binding(['view', 'view', 'edit'], link('user', annId), ANN, ROBOT, ROBOT)],
    });
    expect(targetLinks).toEqual([ANN]);
    expect(bindings).toEqual([binding(['view', 'edit'], ANN, ROBOT)]);
  });

  test('may name audit contexts that have no event yet', async () => {
    const contexts = [link('auditctx', 'none.yet_1-2'), link('auditctx', 'svc')];
    const { targetLinks } = await newPolicy({ targetKind: 'auditctx', target: undefined, targetLinks: contexts });
    expect(targetLinks).toEqual(contexts);
  });

  test.each(['user', 'group', 'serviceaccount', 'policy', 'domain', 'auditctx'])('is on the kind %s', async (kind) => {
    const { targetKind } = await newPolicy({ targetKind: kind, bindings: [binding(['manage'], ROBOT)] });
    expect(targetKind).toBe(kind);
  });

  test('is made once, however often it is asked for with one key', async () => {
    const body = { name: newName(), targetKind: 'group', target: 'all' };
    const headers = { 'idempotency-key': 'policy-1' };
    const first = await policies.create(body, headers);
    const again = await policies.create(body, headers);
    const other = await policies.create({ ...body, targetKind: 'user' }, headers);
    expect([first.status, again.text]).toEqual([201, first.text]);
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  test('that is not there is not found', async () => {
    const document = { targetKind: 'group', target: 'all' };
    for (const answer of [
      await policies.get('none'),
      await policies.patch('none', {}),
      await policies.put('none', document),
      await policies.delete('none'),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
  });

  test('is gone when it is deleted, and its name is free', async () => {
    const { name } = await newPolicy();
    expect((await policies.delete(name)).status).toBe(204);
    expect((await policies.get(name)).status).toBe(404);
    const again = await policies.create({ name, targetKind: 'user', target: 'all' });
    expect([again.status, again.body.version]).toEqual([201, 1]);
  });

  test('is gone from the policies that name it as a target', async () => {
    const { name } = await newPolicy();
    const targets = [link('policy', name), link('policy', 'viewers')];
    const other = await newPolicy({ targetKind: 'policy', target: undefined, targetLinks: targets });
    await policies.delete(name);
    const { body } = await policies.get(other.name);
    expect([body.targetLinks, body.version]).toEqual([[link('policy', 'viewers')], 2]);
  });

  test('takes effect at once, and ends at once', async () => {
    const account = new Resources(org, 'serviceaccount');
    await account.create({ name: 'passing' });
    const { body } = await org.api.post<{ key: string }>(`${account.at('passing')}/-addKey`, { description: '' });
    const passing = new Org(service.url, 'acme', body.key).api;
    const see = async () => (await passing.get(link('group', 'crew'))).status;
    expect(await see()).toBe(403);
    const rules = {
      target: undefined,
      targetLinks: [CREW],
      bindings: [binding(['view'], link('serviceaccount', 'passing'))],
    };
    const { name } = await newPolicy(rules);
    expect(await see()).toBe(200);
    await policies.patch(name, { bindings: null });
    expect(await see()).toBe(403);
    await policies.patch(name, { bindings: rules.bindings });
    expect(await see()).toBe(200);
    await policies.delete(name);
    expect(await see()).toBe(403);
  });
});

describe('a policy is refused', () => {
  const links = (count: number) => Array.from({ length: count }, () => ROBOT);
  const all = { name: 'refused', targetKind: 'group', target: 'all' };

  test.each<[string, Sent, string[]]>([
    ['without a name and kind', {}, ['/name', '/targetKind']],
    ['with a name that is none', { ...all, name: 'A' }, ['/name']],
    ['on every kind', { ...all, targetKind: '*' }, ['/targetKind']],
    ['on a kind that is none', { ...all, targetKind: 'org' }, ['/targetKind']],
    ['on an odd target', { ...all, target: 'some' }, ['/target']],
    ['with an unknown field', { ...all, origin: 'builtin' }, ['/origin']],
    ['with an unknown field of a binding', { ...all, bindings: [{ ...binding([]), x: 1 }] }, ['/bindings/0/x']],
    ['with half a binding', { ...all, bindings: [{}] }, ['/bindings/0/permissions', '/bindings/0/principalLinks']],
    ['with 51 bindings', { ...all, bindings: Array.from({ length: 51 }, () => binding([])) }, ['/bindings']],
    ['with 51 permissions', { ...all, bindings: [binding(links(51))] }, ['/bindings/0/permissions']],
    ['with 201 principals', { ...all, bindings: [binding([], ...links(201))] }, ['/bindings/0/principalLinks']],
    ['with 201 targets', { ...all, target: undefined, targetLinks: links(201) }, ['/targetLinks']],
    ['with no target', { ...all, target: undefined }, ['/target']],
    ['with both kinds of target', { ...all, targetLinks: [CREW] }, ['/target']],
    [
      'with a permission of another kind',
      { ...all, bindings: [binding(['view', 'addKey'])] },
      ['/bindings/0/permissions/1'],
    ],
    [
      'with every fault at once',
      {
        name: 'refused',
        targetKind: 'user',
        target: 'all',
        targetLinks: [ANN, CREW, link('user', 'none@example.com'), 'nonsense'],
        bindings: [binding(['invite', 'create'], ANN), binding(['readAudit'], link('policy', 'viewers'), SHOP, '')],
      },
      [
        '/bindings/0/permissions/1',
        '/bindings/1/permissions/0',
        '/bindings/1/principalLinks/0',
        '/bindings/1/principalLinks/1',
        '/bindings/1/principalLinks/2',
        '/target',
        '/targetLinks/1',
        '/targetLinks/2',
        '/targetLinks/3',
      ],
    ],
  ])('%s', async (_what, body, places) => {
    const answer = await policies.create(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect([...new Set(pointers(answer))]).toEqual(places);
    expect((await policies.get('refused')).status).toBe(404);
  });

  test.each([
    ['another organization', '/org/globex/group/crew'],
    ['another kind', '/org/acme/user/crew'],
    ['no organization', '/group/crew'],
    ['a host', 'https://example.com/org/acme/group/crew'],
    ['a longer path', `${CREW}/x`],
    ['a query', `${CREW}?x`],
    ['a half surrogate', '/org/acme/group/\\ud800'],
    ['what cannot be decoded', '/org/acme/group/%ff'],
  ])('with a link of %s, as a principal and as a target', async (_what, text) => {
    const body = `{"name":"refused","targetKind":"group","targetLinks":["${text}"],"bindings":[{"permissions":[],"principalLinks":["${text}"]}]}`;
    const answer = await policies.create(body);
    expect([answer.status, pointers(answer)]).toEqual([400, ['/bindings/0/principalLinks/0', '/targetLinks/0']]);
  });

  test.each(['a b', '.x', '%2F', '\\ud800', 'x'.repeat(129)])('for a context that cannot be: %s', async (name) => {
    const answer = await policies.create(
      `{"name":"refused","targetKind":"auditctx","targetLinks":["/org/acme/auditctx/${name}"]}`,
    );
    expect([answer.status, pointers(answer)]).toEqual([400, ['/targetLinks/0']]);
  });

  test('for a domain of another organization, as for one that is not there', async () => {
    const refused = async (name: string) =>
      policies.create({ name: 'refused', targetKind: 'domain', targetLinks: [link('domain', name)] });
    const [theirs, nobodys] = [await refused('globex.example.com'), await refused('none.example.com')];
    expect([theirs.status, theirs.body.details]).toEqual([400, nobodys.body.details]);
  });

  test('when its name is taken, and with tags of the service', async () => {
    const { name } = await newPolicy();
    const answers = [
      await policies.create({ ...all, name }),
      await policies.create({ ...all, tags: { 'svc/a': 'b' } }),
    ];
    expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual([
      [409, 'already_exists'],
      [400, 'builtin_tag'],
    ]);
  });
});

describe('a change of a policy', () => {
  test('merges the patch into it', async () => {
    const { name } = await newPolicy({ tags: { a: '1', b: '2' }, bindings: [binding(['view'], ROBOT)] });
    const patch = { description: 'New', tags: { a: null, c: '3' } };
    const { status, headers, body } = await policies.patch(name, patch);
    expect([status, headers.get('etag'), body.version]).toEqual([200, '"2"', 2]);
    expect(body).toMatchObject({ description: 'New', tags: { b: '2', c: '3' }, bindings: [binding(['view'], ROBOT)] });
    expect((await policies.get(name)).body).toEqual(body);
  });

  test('puts links in place of all, and all in place of links', async () => {
    const { name } = await newPolicy();
    const some = (await policies.patch(name, { targetLinks: [CREW] })).body;
    expect([some.target, some.targetLinks]).toEqual([undefined, [CREW]]);
    const all = (await policies.patch(name, { target: 'all' })).body;
    expect([all.target, all.targetLinks]).toEqual(['all', undefined]);
    for (const faulty of [{ target: null }, { target: 'all', targetLinks: [CREW] }]) {
      const answer = await policies.patch(name, faulty);
      expect([answer.status, pointers(answer)]).toEqual([400, ['/target']]);
    }
  });

  test('replaces it with PUT: what is left out gets its default', async () => {
    const { name, id, created } = await newPolicy({ tags: { a: '1' }, bindings: [binding(['view'], ROBOT)] });
    const { status, body } = await policies.put(name, { targetKind: 'domain', targetLinks: [SHOP] });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id,
      created,
      description: name,
      tags: {},
      targetKind: 'domain',
      bindings: [],
      version: 2,
    });
    expect(body).not.toHaveProperty('target');
    const faulty = await policies.put(name, { target: 'all' });
    expect([faulty.status, pointers(faulty)]).toEqual([400, ['/targetKind']]);
  });

  test('takes back what was read, changed or not', async () => {
    const policy = await newPolicy({ bindings: [binding(['edit'], CREW)] });
    const same = await policies.put(policy.name, policy);
    expect([same.status, same.body]).toEqual([200, policy]);
    const other = await policies.put(policy.name, { ...policy, description: 'Other' });
    expect([other.status, other.body.version]).toEqual([200, 2]);
    const stale = await policies.put(policy.name, policy);
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
    expect(undocumented('PolicyReplacement', policy)).toEqual([]);
    expect(undocumented('PolicyPatch', policy)).toEqual([]);
  });

  test('checks the whole of it: a kind whose permissions and links do not fit is refused', async () => {
    const rules = { target: undefined, targetLinks: [CREW], bindings: [binding(['create'], ROBOT)] };
    const { name } = await newPolicy(rules);
    const answer = await policies.patch(name, { targetKind: 'user' });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/bindings/0/permissions/0', '/targetLinks/0']]);
  });

  test('does not put it on every kind', async () => {
    const { name } = await newPolicy({ bindings: [binding(['manage'], ROBOT)] });
    const patched = await policies.patch(name, { targetKind: '*' });
    const replaced = await policies.put(name, { targetKind: '*', target: 'all' });
    for (const answer of [patched, replaced]) {
      expect([answer.status, pointers(answer)]).toEqual([400, ['/targetKind']]);
    }
  });

  test('that is of another resource is refused', async () => {
    const { name } = await newPolicy();
    const answer = await policies.patch(name, { id: 'x', name: 'y', origin: 'builtin', created: 'z' });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/created', '/id', '/name', '/origin']]);
  });

  test('holds for the version that If-Match names alone', async () => {
    const { name } = await newPolicy();
    const stale = await policies.patch(name, { description: 'x' }, { 'if-match': '"7"' });
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
    expect((await policies.delete(name, { 'if-match': '"7"' })).status).toBe(412);
    expect((await policies.patch(name, { description: 'x' }, { 'if-match': '"1"' })).status).toBe(200);
    expect((await policies.delete(name, { 'if-match': '"2"' })).status).toBe(204);
  });

  test('is not lost when many come at once', async () => {
    const { name } = await newPolicy();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => policies.patch(name, { tags: { [`tag-${n}`]: `${n}` } })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    const { body } = await policies.get(name);
    expect([Object.keys(body.tags).length, body.version]).toEqual([20, 21]);
  });
});

describe('the built-in policies', () => {
  test('are those of the built-in groups', async () => {
    const fresh = new Resources<Policy>(await newOrg(service), 'policy');
    const { items } = (await fresh.list()).body;
    const path = `/org/${fresh.org.name}/group`;
    expect(items).toMatchObject([
      {
        name: 'superusers',
        origin: 'builtin',
        targetKind: '*',
        target: 'all',
        bindings: [binding(['manage'], `${path}/superusers`)],
      },
      {
        name: 'viewers',
        origin: 'builtin',
        targetKind: '*',
        target: 'all',
        bindings: [binding(['view', 'readAudit'], `${path}/viewers`)],
      },
    ]);
    for (const item of items) expect(undocumented('Policy', item)).toEqual([]);
  });

  test('change in description and tags', async () => {
    const patched = await policies.patch('viewers', { description: 'Who looks', tags: { a: 'b' } });
    expect([patched.status, patched.body.description, patched.body.tags]).toEqual([200, 'Who looks', { a: 'b' }]);
    const { bindings, ...rest } = patched.body;
    const turned = bindings.map(({ permissions, principalLinks }) => ({ principalLinks, permissions }));
    const replaced = await policies.put('viewers', { ...rest, bindings: turned, description: 'Who sees', tags: {} });
    expect([replaced.status, replaced.body.description, replaced.body.bindings]).toEqual([200, 'Who sees', bindings]);
  });

  test.each<[string, Json]>([
    ['who has it', { bindings: [binding(['view', 'readAudit'], ROBOT)] }],
    ['what it grants', { bindings: [binding(['manage'], link('group', 'viewers'))] }],
    ['nothing', { bindings: null }],
    ['its kind', { targetKind: 'group' }],
    ['its targets', { targetLinks: [] }],
  ])('change in nothing else: %s', async (_what, patch) => {
    const before = (await policies.get('viewers')).body;
    const answer = await policies.patch('viewers', patch);
    expect([answer.status, answer.body.code]).toEqual([409, 'builtin_resource']);
    expect((await policies.get('viewers')).body).toEqual(before);
  });

  test('are not deleted, and not made again', async () => {
    for (const name of ['superusers', 'viewers']) {
      const deleted = await policies.delete(name);
      const again = await policies.create({ name, targetKind: 'group', target: 'all' });
      expect([deleted.status, deleted.body.code]).toEqual([409, 'builtin_resource']);
      expect([again.status, again.body.code]).toEqual([409, 'already_exists']);
    }
  });
});

describe('policies', () => {
  test('are listed by name, page by page, and found by query', async () => {
    const fresh = new Resources<Policy>(await newOrg(service), 'policy');
    const kinds = ['user', 'group', 'domain'];
    for (const kind of kinds)
      await fresh.create({ name: `on-${kind}`, targetKind: kind, target: 'all', tags: { kind } });
    const first = await fresh.list('?limit=2');
    expect(undocumented('PolicyList', first.body)).toEqual([]);
    expect(first.body.items.map(({ name }) => name)).toEqual(['on-domain', 'on-group']);
    const all = await fresh.queryAll({}, '?limit=2');
    expect(all.map(({ name }) => name)).toEqual(['on-domain', 'on-group', 'on-user', 'superusers', 'viewers']);
    const found = async (terms: Json[]) => (await fresh.query({ spec: { terms } })).body.items.map(({ name }) => name);
    expect(await found([{ property: 'targetKind', value: 'group' }])).toEqual(['on-group']);
    expect(await found([{ property: 'origin', value: 'builtin' }])).toEqual(['superusers', 'viewers']);
    expect(await found([{ tag: 'kind', op: '!=', value: 'user' }])).not.toContain('on-user');
  });

  test('are shown to those who may view them alone', async () => {
    const account = new Resources(org, 'serviceaccount');
    await account.create({ name: 'looker' });
    const { body } = await org.api.post<{ key: string }>(`${account.at('looker')}/-addKey`, { description: '' });
    const looker = new Resources<Policy>(new Org(service.url, 'acme', body.key), 'policy');
    expect((await looker.list()).status).toBe(403);
    await newPolicy({
      targetKind: 'policy',
      target: undefined,
      targetLinks: [link('policy', 'viewers')],
      bindings: [binding(['edit'], link('serviceaccount', 'looker'))],
    });
    expect((await looker.list()).body.items.map(({ name }) => name)).toEqual(['viewers']);
    expect((await looker.query({})).body.items.map(({ name }) => name)).toEqual(['viewers']);
    const statuses = [await looker.get('viewers'), await looker.get('superusers'), await looker.get('none')];
    expect(statuses.map(({ status }) => status)).toEqual([200, 403, 403]);
  });

  test('are audited: who changed what, before and after', async () => {
    const { name, id } = await newPolicy();
    await policies.patch(name, { description: 'Other' });
    await policies.delete(name);
    const { items } = (await org.list({ resourceId: id, order: 'received' })).body;
    expect(items.map(({ action, resource }) => [action?.type, resource.type, resource.name])).toEqual([
      ['create', 'policy', name],
      ['edit', 'policy', name],
      ['delete', 'policy', name],
    ]);
    expect(items[1]?.action).toMatchObject({
      data: { before: { description: name }, after: { description: 'Other' } },
    });
  });
});

describe('the permissions that there are', () => {
  test.each(['user', 'group', 'serviceaccount', 'policy', 'domain', 'auditctx'])(
    'on the kind %s are listed',
    async (kind) => {
      const { status, body } = await org.api.get<{ items: { name: string; implies: string[] }[] }>(
        `/org/acme/${kind}/-schema/permissions`,
      );
      expect([status, undocumented('Permissions', body)]).toEqual([200, []]);
      expect(body).toMatchObject({ kind: 'permissions', targetKind: kind });
      const manage = body.items.find(({ name }) => name === 'manage');
      expect(manage?.implies).toEqual(body.items.map(({ name }) => name).filter((name) => name !== 'manage'));
    },
  );

  test('are visible to every caller of the organization, and to nobody else', async () => {
    const account = new Resources(org, 'serviceaccount');
    await account.create({ name: 'nobody' });
    const { body } = await org.api.post<{ key: string }>(`${account.at('nobody')}/-addKey`, { description: '' });
    const path = '/org/acme/group/-schema/permissions';
    const answers = [
      await new Org(service.url, 'acme', body.key).api.get(path),
      await (await newOrg(service)).api.get(path),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403]);
  });

  test('are none on other kinds', async () => {
    for (const kind of ['org', 'key', 'invitation', '*']) {
      expect((await org.api.get(`/org/acme/${kind}/-schema/permissions`)).status).toBe(404);
    }
    expect(pointers(await org.api.get('/org/acme/group/-schema/permissions?x=1'))).toEqual(['?x']);
  });
});
