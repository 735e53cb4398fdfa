import { newOrg, type Org, pointers, type Sent } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { type Resource, Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

type Group = Resource & {
  readonly memberLinks: readonly string[];
  readonly memberQuery?: unknown;
  readonly origin: string;
};

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly description?: string }>> };
}

let mailbox: Mailbox;
let service: TestService;
let org: Org;
let groups: Resources<Group>;
let ann: { readonly id: string };

const link = (kind: string, ref: string) => `/org/${org.name}/${kind}/${ref}`;
const ANN = () => link('user', 'ann@example.com');
const robot = (index: number) => link('serviceaccount', `robot-${index}`);

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
  org = await newOrg(service);
  groups = new Resources(org, 'group');
  ann = (await newUser(org, mailbox, 'ann@example.com', { name: 'Ann' })).body;
  const accounts = new Resources(org, 'serviceaccount');
  for (let index = 0; index < 30; index += 1) await accounts.create({ name: `robot-${index}` });
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

let made = 0;

async function newGroup(body: object = {}): Promise<Group> {
  made += 1;
  const answer = await groups.create({ name: `group-${made}`, ...body });
  if (answer.status !== 201) throw new Error(`the group answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

const QUERY = {
  kind: 'user',
  spec: { match: 'any', terms: [{ op: '=', property: 'email', value: 'ann@example.com' }] },
};

describe('a group', () => {
  test('is made with all that it may have, and is read the same', async () => {
    const body = {
      name: 'whole',
      description: 'All of it',
      tags: { a: 'b' },
      memberLinks: [ANN(), robot(0)],
      memberQuery: QUERY,
    };
    const { status, headers, body: group } = await groups.create(body);
    expect([status, headers.get('location'), headers.get('etag')]).toEqual([201, link('group', 'whole'), '"1"']);
    expect(group).toEqual({
      kind: 'group',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...body,
      memberQuery: { fetch: 'items', ...QUERY },
      origin: 'default',
      version: 1,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      lastModified: group.created,
      links: [{ rel: 'self', href: link('group', 'whole') }],
    });
    const read = await groups.get('whole');
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', group]);
  });

  test('is described by its name unless told otherwise, and has nothing else', async () => {
    const group = await newGroup();
    expect([group.description, group.tags, group.memberLinks, group.memberQuery]).toEqual([
      group.name,
      {},
      [],
      undefined,
    ]);
  });

  test('keeps one link of each member, whatever it was called by', async () => {
    const names = [ANN(), link('user', 'ANN@Example.com'), link('user', ann.id), link('user', 'ann%40example.com')];
    expect((await newGroup({ memberLinks: names })).memberLinks).toEqual([ANN()]);
  });

  test('gets the defaults of its query', async () => {
    const { memberQuery } = await newGroup({ memberQuery: { kind: 'user', spec: {} } });
    expect(memberQuery).toEqual({ kind: 'user', fetch: 'items', spec: { match: 'all', terms: [] } });
  });

  test('keeps the sorting of its query, which orders nothing, as the description of the API says', async () => {
    const spec = { ...QUERY.spec, sort: { by: 'name', order: 'desc' } };
    const group = await newGroup({ memberQuery: { ...QUERY, spec } });
    expect(group.memberQuery).toEqual({ ...QUERY, fetch: 'items', spec });

    const users = new Resources(org, 'user');
    const { body } = await users.query({ spec: { terms: [{ rel: 'group', value: group.name }] } });
    expect(body.items.map(({ id }) => id)).toEqual([ann.id]);
    const { components } = (await org.api.get<OpenApi>('/openapi.json')).body;
    expect(components.schemas['MemberQueryDto']?.description).toMatch(/`sort` .* has no effect/);
  });

  test('that is not there is not found', async () => {
    for (const answer of [
      await groups.get('none'),
      await groups.get('NOT A NAME'),
      await groups.patch('none', {}),
      await groups.put('none', {}),
      await groups.delete('none'),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
  });

  test('is not found by its name in another organization', async () => {
    const { name } = await newGroup();
    expect((await new Resources(await newOrg(service), 'group').get(name)).status).toBe(404);
  });

  test('is gone when it is deleted, and its name is free', async () => {
    const { name, id } = await newGroup();
    const answer = await groups.delete(name);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await groups.get(name)).status).toBe(404);
    expect((await groups.list('?limit=1000')).body.items.map((group) => group.id)).not.toContain(id);
    const again = await groups.create({ name });
    expect([again.status, again.body.version, again.body.id === id]).toEqual([201, 1, false]);
  });

  test('is listed by name, page by page', async () => {
    const mine = new Resources<Group>(await newOrg(service), 'group');
    for (const name of ['zeta', 'alpha', 'beta']) await mine.create({ name });
    const names: string[] = [];
    for (let at: string | undefined = `${mine.path}?limit=2`; at !== undefined; ) {
      const { body }: Awaited<ReturnType<typeof mine.list>> = await mine.org.api.get(at);
      names.push(...body.items.map(({ name }) => name));
      at = body.links.find(({ rel }) => rel === 'next')?.href;
    }
    expect(names).toEqual(['alpha', 'beta', 'superusers', 'viewers', 'zeta']);
  });
});

describe('every organization', () => {
  test.each([
    ['superusers', 1],
    ['viewers', 0],
  ])('has %s, which cannot be deleted', async (name, members) => {
    const { body } = await groups.get(name);
    expect([body.origin, body.memberLinks.length]).toEqual(['builtin', members]);
    const refused = await groups.delete(name);
    expect([refused.status, refused.body.code]).toEqual([409, 'builtin_resource']);
    expect((await groups.patch(name, { description: 'Ours' })).body.description).toBe('Ours');
  });

  test('keeps a superuser', async () => {
    const admin = link('serviceaccount', 'admin');
    for (const memberLinks of [[], { $drop: [admin] }, { $replace: [] }]) {
      const refused = await groups.patch('superusers', { memberLinks });
      expect([refused.status, refused.body.code]).toEqual([409, 'builtin_resource']);
    }
    expect((await groups.put('superusers', {})).status).toBe(409);
    expect((await groups.patch('superusers', { memberLinks: { $append: [ANN()] } })).status).toBe(200);
    expect((await groups.patch('superusers', { memberLinks: { $drop: [ANN()] } })).body.memberLinks).toEqual([admin]);
  });
});

describe('POST refuses', () => {
  const LINKS = '/memberLinks';

  test.each<[string, () => Sent, string[]]>([
    ['no name', () => ({}), ['/name']],
    ['names that cannot be', () => ({ name: '-a' }), ['/name']],
    ['a name that is too long', () => ({ name: 'a'.repeat(64) }), ['/name']],
    ['an unknown member', () => ({ name: 'no', origin: 'builtin' }), ['/origin']],
    [
      'members that are not there',
      () => ({ name: 'no', memberLinks: [ANN(), 'x', link('user', 'no@example.com')] }),
      [`${LINKS}/1`, `${LINKS}/2`],
    ],
    [
      'members of another organization',
      () => ({ name: 'no', memberLinks: ['/org/org-0/serviceaccount/admin'] }),
      [`${LINKS}/0`],
    ],
    ['a group as a member', () => ({ name: 'no', memberLinks: [link('group', 'viewers')] }), [`${LINKS}/0`]],
    ['201 members', () => ({ name: 'no', memberLinks: Array(201).fill(ANN()) }), [LINKS]],
    ['operators where there is nothing yet', () => ({ name: 'no', memberLinks: { $append: [] } }), [LINKS]],
    [
      'a query of another kind',
      () => ({ name: 'no', memberQuery: { kind: 'group', spec: {} } }),
      ['/memberQuery/kind'],
    ],
    ['a query of links', () => ({ name: 'no', memberQuery: { ...QUERY, fetch: 'links' } }), ['/memberQuery/fetch']],
    [
      'a query that says nothing',
      () => ({ name: 'no', memberQuery: { kind: 'user', spec: { terms: [{ rel: 'member', value: 'x' }, {}] } } }),
      ['/memberQuery/spec/terms/0/rel', '/memberQuery/spec/terms/1', '/memberQuery/spec/terms/1/value'],
    ],
    [
      'several faults at once',
      () => ({ name: 'NO', tags: { a: 1 }, description: ' x', x: 1 }),
      ['/description', '/name', '/tags/a', '/x'],
    ],
  ])('%s', async (_what, body, at) => {
    const answer = await groups.create(body());
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', at]);
  });

  test('a name that is taken', async () => {
    const { name } = await newGroup();
    const answer = await groups.create({ name });
    expect([answer.status, answer.body.code]).toEqual([409, 'already_exists']);
  });

  test.each(['create', 'patch', 'put'] as const)('a tag of the service: %s', async (how) => {
    const { name } = await newGroup();
    const body = { tags: { 'svc/team': 'x' } };
    const answer = how === 'create' ? await groups.create({ name: 'no', ...body }) : await groups[how](name, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'builtin_tag']);
  });
});

describe('the members', () => {
  test('come and go by operators', async () => {
    const { name } = await newGroup({ memberLinks: [robot(0), robot(1)] });
    const patched = async (memberLinks: object) => (await groups.patch(name, { memberLinks })).body.memberLinks;
    expect(await patched({ $append: [robot(2), robot(0)] })).toEqual([robot(0), robot(1), robot(2)]);
    expect(await patched({ $drop: [robot(1), robot(9)] })).toEqual([robot(0), robot(2)]);
    expect(await patched({ $replace: [robot(3)] })).toEqual([robot(3)]);
    expect(await patched({ $replace: [robot(1)], $drop: [robot(1)], $append: [robot(4)] })).toEqual([robot(4)]);
    expect(await patched([robot(5)])).toEqual([robot(5)]);
    expect(await patched({})).toEqual([robot(5)]);
    expect((await groups.patch(name, { memberLinks: null })).body.memberLinks).toEqual([]);
  });

  test('go whatever they are called by', async () => {
    for (const called of [ann.id, 'ANN@example.com', 'ann%40example.com']) {
      const { name } = await newGroup({ memberLinks: [ANN(), robot(0)] });
      const { body } = await groups.patch(name, { memberLinks: { $drop: [link('user', called)] } });
      expect(body.memberLinks).toEqual([robot(0)]);
    }
  });

  test('are all kept when many append at once', async () => {
    const { name } = await newGroup();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => groups.patch(name, { memberLinks: { $append: [robot(index)] } })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(200));
    const { body } = await groups.get(name);
    expect([new Set(body.memberLinks).size, body.version]).toEqual([30, 31]);
  });

  test('are all kept when some append while others drop', async () => {
    const { name } = await newGroup({ memberLinks: Array.from({ length: 10 }, (_, index) => robot(index)) });
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => [
        groups.patch(name, { memberLinks: { $append: [robot(10 + index)] } }),
        groups.patch(name, { memberLinks: { $drop: [robot(index)] } }),
      ]).flat(),
    );
    const { body } = await groups.get(name);
    expect(new Set(body.memberLinks)).toEqual(new Set(Array.from({ length: 10 }, (_, index) => robot(10 + index))));
  });

  test('are patched by sound operators alone, and every fault is told', async () => {
    const { name } = await newGroup({ memberLinks: [robot(0)] });
    const answer = await groups.patch(name, {
      memberLinks: { $append: robot(1), $drop: [1], $push: [robot(1)] },
      description: ' x',
    });
    expect([answer.status, pointers(answer)]).toEqual([
      400,
      ['/description', '/memberLinks/$append', '/memberLinks/$drop', '/memberLinks/$push'],
    ]);
    const unknown = await groups.patch(name, { memberLinks: { $append: [link('user', 'no@example.com')] } });
    expect([unknown.status, pointers(unknown)]).toEqual([400, ['/memberLinks/1']]);
    expect((await groups.get(name)).body.version).toBe(1);
  });

  test('are 200 at most', async () => {
    const { name } = await newGroup();
    const links = Array.from({ length: 201 }, () => robot(0));
    expect((await groups.patch(name, { memberLinks: { $append: links } })).status).toBe(400);
  });
});

describe('PATCH and PUT', () => {
  test('PATCH merges, and takes `null` for the default', async () => {
    const { name } = await newGroup({
      description: 'x',
      tags: { a: '1', b: '2' },
      memberLinks: [robot(0)],
      memberQuery: QUERY,
    });
    const { status, headers, body } = await groups.patch(name, {
      description: null,
      tags: { a: null, c: '3' },
      memberQuery: { spec: { match: null } },
    });
    expect([status, headers.get('etag')]).toEqual([200, '"2"']);
    expect([body.description, body.tags, body.memberLinks]).toEqual([name, { b: '2', c: '3' }, [robot(0)]]);
    expect(body.memberQuery).toMatchObject({ spec: { match: 'all', terms: QUERY.spec.terms } });
    expect((await groups.patch(name, { memberQuery: null })).body.memberQuery).toBeUndefined();
    expect((await groups.get(name)).body.memberQuery).toBeUndefined();
  });

  test('PUT replaces: what the body leaves out gets its default', async () => {
    const { name, id } = await newGroup({
      description: 'x',
      tags: { a: '1' },
      memberLinks: [robot(0)],
      memberQuery: QUERY,
    });
    const { body } = await groups.put(name, { tags: { z: '9' } });
    expect(body).toMatchObject({ id, description: name, tags: { z: '9' }, memberLinks: [], version: 2 });
    expect(body.memberQuery).toBeUndefined();
  });

  test.each(['patch', 'put'] as const)('%s takes back what was read, and makes no version of it', async (how) => {
    const group = await newGroup({ tags: { a: '1' }, memberLinks: [robot(0)], memberQuery: QUERY });
    const { status, body } = await groups[how](group.name, group);
    expect([status, body]).toEqual([200, group]);
  });

  test.each(['patch', 'put'] as const)('%s refuses another resource, and tells every fault at once', async (how) => {
    const { name } = await newGroup();
    const identity = { id: '01890000-0000-7000-8000-000000000000', name: 'other', created: 'x', origin: 'builtin' };
    expect(pointers(await groups[how](name, identity))).toEqual(['/created', '/id', '/name', '/origin']);
    expect(pointers(await groups[how](name, { kind: 'user', version: '1', id: 7 }))).toEqual([
      '/id',
      '/kind',
      '/version',
    ]);
    expect(pointers(await groups[how](name, '[]'))).toEqual(['']);
  });

  test('PUT tells the faults of the document with those', async () => {
    const { name } = await newGroup();
    const answer = await groups.put(name, { kind: 'user', tags: 'x', memberLinks: 1, what: 2 });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/kind', '/memberLinks', '/tags', '/what']]);
  });
});

describe('If-Match', () => {
  const CHANGES: [string, (name: string, match: string) => ReturnType<Resources['delete']>][] = [
    ['PATCH', (name, match) => groups.patch(name, { tags: { a: 'b' } }, { 'if-match': match })],
    ['PUT', (name, match) => groups.put(name, { tags: { a: 'b' } }, { 'if-match': match })],
    ['DELETE', (name, match) => groups.delete(name, { 'if-match': match })],
  ];

  test.each(CHANGES)('of another version refuses %s with 412, of this one lets it through', async (_method, change) => {
    const { name } = await newGroup();
    const refused = await change(name, '"7"');
    expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
    const unsound = await change(name, 'W/"1"');
    expect([unsound.status, pointers(unsound)]).toEqual([400, ['header:If-Match']]);
    expect((await groups.get(name)).body.version).toBe(1);
    expect((await change(name, '"1"')).status).toBeLessThan(300);
  });

  test.each(CHANGES)('of any version lets %s through where there is one', async (_method, change) => {
    expect((await change((await newGroup()).name, '*')).status).toBeLessThan(300);
    expect((await change('none', '*')).status).toBe(404);
  });

  test('lets one of two through who read the same', async () => {
    const { name } = await newGroup();
    const answers = await Promise.all(
      ['a', 'b'].map((tag) => groups.patch(name, { tags: { [tag]: 'x' } }, { 'if-match': '"1"' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect(Object.keys((await groups.get(name)).body.tags)).toHaveLength(1);
  });

  test('may be the version in the body; the header prevails', async () => {
    const { name } = await newGroup();
    expect((await groups.patch(name, { version: 9 })).status).toBe(412);
    expect((await groups.patch(name, { version: 9, tags: { a: 'b' } }, { 'if-match': '"1"' })).body.version).toBe(2);
  });
});

describe('Idempotency-Key', () => {
  const key = (text: string) => ({ 'idempotency-key': text });

  test('gives a retry the first answer, also when the group has changed or is gone', async () => {
    const body = { name: 'retried', memberLinks: [ANN()] };
    const first = await groups.create(body, key('retry'));
    await groups.patch('retried', { description: 'changed since' });
    const second = await groups.create(body, key('retry'));
    await groups.delete('retried');
    const third = await groups.create(body, key('retry'));
    for (const again of [second, third]) {
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([201, first.text, '"1"']);
    }
    expect((await groups.get('retried')).status).toBe(404);
  });

  test('refuses another body', async () => {
    await groups.create({ name: 'once' }, key('one body'));
    const refused = await groups.create({ name: 'once', description: 'other' }, key('one body'));
    expect([refused.status, refused.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  test('of what was refused is free', async () => {
    expect((await groups.create({ name: 'viewers' }, key('refused'))).status).toBe(409);
    expect((await groups.create({ name: 'not-viewers' }, key('refused'))).status).toBe(201);
  });

  test('of another route is another', async () => {
    expect((await groups.create({ name: 'shared' }, key('shared'))).status).toBe(201);
    const accounts = new Resources(org, 'serviceaccount');
    expect((await accounts.create({ name: 'shared' }, key('shared'))).status).toBe(201);
  });

  test.each([[''], ['k'.repeat(256)]])('may not be %j', async (text) => {
    const answer = await groups.create({ name: 'no' }, key(text));
    expect([answer.status, pointers(answer)]).toEqual([400, ['header:Idempotency-Key']]);
  });
});
