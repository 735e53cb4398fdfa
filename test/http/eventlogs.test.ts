import {
  type Answer,
  Api,
  type Event,
  type EventPage,
  fromNow,
  linkOf,
  newOrg,
  Org,
  pointers,
  type Refusal,
} from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { type Resource, Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

let mailbox: Mailbox;
let service: TestService;
let org: Org;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
  org = await newOrg(service);
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const of = (kind: string, where = org) => new Resources(where, kind);

function log<Body = EventPage>(kind: string, ref: string, query = '', where = org): Promise<Answer<Body>> {
  return where.api.get<Body>(`${of(kind, where).at(ref)}/-eventlog${query}`);
}

const actions = ({ body }: Answer<EventPage>) => body.items.map(({ action }) => action?.type);

async function done(answer: Promise<Answer<Resource>>): Promise<Resource> {
  const { status, text, body } = await answer;
  if (status >= 300) throw new Error(`answered ${status}: ${text}`);
  return body;
}

interface Made {
  readonly ref: string;
  readonly id: string;
}

/** How a resource of each kind is made and changed. */
const KINDS: readonly [kind: string, make: (name: string) => Promise<Made>][] = [
  ...['group', 'serviceaccount'].map(
    (kind) =>
      [kind, async (name: string) => ({ ref: name, id: (await done(of(kind).create({ name }))).id })] as [
        string,
        (name: string) => Promise<Made>,
      ],
  ),
  [
    'policy',
    async (name) => {
      const bindings = [{ permissions: ['view'], principalLinks: [`/org/${org.name}/group/viewers`] }];
      const body = { name, targetKind: 'group', target: 'all', bindings };
      return { ref: name, id: (await done(of('policy').create(body))).id };
    },
  ],
  [
    'domain',
    async (name) => {
      const ref = `${name}.example.com`;
      return { ref, id: (await done(of('domain').create({ name: ref, spec: {} }))).id };
    },
  ],
  [
    'user',
    async (name) => {
      const ref = `${name}@example.com`;
      return { ref, id: (await newUser(org, mailbox, ref)).body.id };
    },
  ],
];

describe.each(KINDS)('the log of a %s', (kind, make) => {
  const own = (events: readonly Event[]) => events.filter(({ resource }) => resource.type === kind);

  test('lists its events, newest first, in the audit envelope', async () => {
    const { ref, id } = await make('told');
    await done(of(kind).patch(ref, { description: 'changed' }));
    const answer = await log(kind, ref);
    expect(answer.status).toBe(200);
    const { items, ...envelope } = answer.body;
    const path = `/org/${org.name}/${kind}/${ref}/-eventlog`;
    expect(envelope).toEqual({
      kind: 'queryresult',
      itemKind: 'auditevent',
      query: { resourceId: id, page: '1', pageSize: '50' },
      links: [{ rel: 'self', href: path }],
    });
    const [edit, create] = own(items);
    expect(edit).toMatchObject({
      resource: { type: kind, id, data: { description: 'changed', version: 2 } },
      action: { type: 'edit', data: { after: { description: 'changed', version: 2 }, before: { version: 1 } } },
      context: { name: 'svc', org: org.name },
      subject: { name: 'admin' },
      result: { status: 'OK' },
    });
    expect(create).toMatchObject({ resource: { id }, action: { type: 'create' } });
    expect(own(items)).toHaveLength(2);
  });

  test('is there after it was deleted, by its name and by its identifier', async () => {
    const { ref, id } = await make('gone');
    expect((await of(kind).delete(ref)).status).toBe(204);
    for (const called of [ref, id]) {
      const answer = await log(kind, called);
      expect([answer.status, own(answer.body.items).map(({ action }) => action?.type)]).toEqual([
        200,
        ['delete', 'create'],
      ]);
      expect(own(answer.body.items)[0]?.resource).not.toHaveProperty('data');
    }
  });

  test('of a name that several had is that of the last; of an identifier, of that one', async () => {
    const first = await make('again');
    await of(kind).delete(first.ref);
    const second = await make('again');
    await done(of(kind).patch(second.ref, { description: 'second' }));
    const events = async (ref: string) => own((await log(kind, ref)).body.items).map(({ action }) => action?.type);
    expect(await events(second.ref)).toEqual(['edit', 'create']);
    expect([await events(second.id), await events(first.id)]).toEqual([
      ['edit', 'create'],
      ['delete', 'create'],
    ]);
    await of(kind).delete(second.ref);
    expect(await events(second.ref)).toEqual(['delete', 'edit', 'create']);
    expect((await log(kind, second.ref)).body.query['resourceId']).toBe(second.id);
  });

  test('cannot be forged by publishers', async () => {
    const { ref, id } = await make('honest');
    const before = await log(kind, ref);
    const forged = { resource: { id, name: ref, type: kind }, action: { type: 'edit' }, result: { status: 'OK' } };
    expect((await org.publish(forged)).status).toBe(201);
    expect((await org.publish({ ...forged, context: { name: 'svc' } })).status).toBe(201);
    expect((await org.publish(forged, { context: 'svc' })).status).toBe(403);
    expect((await log(kind, ref)).body.items).toEqual(before.body.items);
    const invented = { ...forged, resource: { id: 'invented', name: 'invented', type: kind } };
    expect((await org.publish(invented)).status).toBe(201);
    expect((await log(kind, 'invented')).status).toBe(404);
  });

  test('is not there where the resource never was', async () => {
    const answer = await log<Refusal>(kind, 'never-there');
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    const other = await newOrg(service);
    const { ref, id } = await make('mine');
    for (const called of [ref, id]) expect((await log(kind, called, '', other)).status).toBe(404);
  });

  test('needs the permission to view it, also when it is gone', async () => {
    const { ref } = await make('closed');
    const nobody = await accountWithKey(`closed-${kind}`);
    expect((await log(kind, ref, '', nobody)).status).toBe(403);
    await of(kind).delete(ref);
    expect((await log(kind, ref, '', nobody)).status).toBe(403);
    await done(of('policy').create(viewPolicy(`view-${kind}`, kind, `closed-${kind}`)));
    expect((await log(kind, ref, '', nobody)).status).toBe(200);
  });
});

function viewPolicy(name: string, targetKind: string, account: string) {
  const bindings = [{ permissions: ['view'], principalLinks: [`/org/${org.name}/serviceaccount/${account}`] }];
  return { name, targetKind, target: 'all', bindings };
}

/** The organization, by a new service account that may do nothing yet. */
async function accountWithKey(name: string): Promise<Org> {
  await done(of('serviceaccount').create({ name }));
  return new Org(service.url, org.name, await newKey(name));
}

async function newKey(account: string, where = org): Promise<string> {
  const path = `${of('serviceaccount', where).at(account)}/-addKey`;
  return (await where.api.post<{ key: string }>(path, { description: 'a key' })).body.key;
}

test('the log of one resource needs the permission on that one alone', async () => {
  const reader = await accountWithKey('reads-one');
  await done(of('group').create({ name: 'one' }));
  await done(of('group').create({ name: 'two' }));
  const { target: _target, ...policy } = viewPolicy('view-one', 'group', 'reads-one');
  await done(of('policy').create({ ...policy, targetLinks: [`/org/${org.name}/group/one`] }));
  expect((await log('group', 'one', '', reader)).status).toBe(200);
  expect((await log('group', 'two', '', reader)).status).toBe(403);
});

test('shows added and removed members', async () => {
  await done(of('group').create({ name: 'club' }));
  const memberLinks = [`/org/${org.name}/serviceaccount/admin`];
  await done(of('group').patch('club', { memberLinks: { $append: memberLinks } }));
  await done(of('group').patch('club', { memberLinks: { $drop: memberLinks } }));
  await done(of('group').patch('club', { memberLinks, tags: { a: 'b' } }));
  await done(of('group').patch('club', { memberLinks }));
  expect(actions(await log('group', 'club'))).toEqual(['edit', 'remove-member', 'add-member', 'create']);
});

test('a deletion that changes another resource is in the logs of both', async () => {
  await done(of('serviceaccount').create({ name: 'leaver' }));
  await done(of('group').create({ name: 'left', memberLinks: [`/org/${org.name}/serviceaccount/leaver`] }));
  await of('serviceaccount').delete('leaver');
  expect(actions(await log('group', 'left'))).toEqual(['remove-member', 'create']);
  expect(actions(await log('serviceaccount', 'leaver'))).toEqual(['delete', 'create']);
});

test('a user is known by the e-mail address in any case', async () => {
  const { id } = (await newUser(org, mailbox, 'Case@Example.com')).body;
  await of('user').delete(id);
  expect((await log('user', 'CASE@example.COM')).body.query['resourceId']).toBe(id);
});

test('attempts that were denied are not in the log of what they were at', async () => {
  await done(of('group').create({ name: 'safe' }));
  const nobody = await accountWithKey('tries');
  expect((await of('group', nobody).delete('safe')).status).toBe(403);
  const path = of('group').at('safe');
  const denied = async () => (await org.named(path, { resultStatus: 'DENIED' })).body.items.length;
  while ((await denied()) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(actions(await log('group', 'safe'))).toEqual(['create']);
  // Their resource has the path for a name, and no identifier.
  expect((await log('group', path)).status).toBe(404);
});

describe('the keys of a service account', () => {
  const KEYS = ['add-key', 'remove-key'];

  test('are in its log, in one order with the rest, and nobody else’s are', async () => {
    await done(of('serviceaccount').create({ name: 'robot' }));
    await newKey('robot');
    await done(of('serviceaccount').patch('robot', { tags: { a: 'b' } }));
    await newKey('robot');
    const { keys } = (await of('serviceaccount').get('robot')).body as unknown as { keys: { id: string }[] };
    await org.api.post(`${of('serviceaccount').at('robot')}/-removeKey`, { id: keys[0]?.id ?? '' });
    await accountWithKey('robot-2');
    const answer = await log('serviceaccount', 'robot');
    expect(actions(answer)).toEqual(['remove-key', 'add-key', 'edit', 'add-key', 'create']);
    expect(answer.text).not.toContain('svc_');
    expect(actions(await log('serviceaccount', 'robot', '?actionType=add-key'))).toEqual(['add-key', 'add-key']);
    expect(actions(await log('serviceaccount', 'robot', '?actionType=edit'))).toEqual(['edit']);
  });

  test('page by page are the same, along links and by number', async () => {
    const path = `${of('serviceaccount').at('robot')}/-eventlog`;
    const all = (await org.api.get<EventPage>(path)).body.items;
    for (const pageSize of [1, 2, 3]) {
      expect(await org.walk(`${path}?pageSize=${pageSize}`)).toEqual(all);
      const pages: Event[] = [];
      for (let page = 1; page <= Math.ceil(all.length / pageSize) + 1; page += 1) {
        pages.push(...(await org.api.get<EventPage>(`${path}?pageSize=${pageSize}&page=${page}`)).body.items);
      }
      expect(pages).toEqual(all);
    }
  });

  test('that another had of the same name before or after are not in it', async () => {
    const ids: string[] = [];
    for (const description of ['first', 'second', 'third']) {
      ids.push((await done(of('serviceaccount').create({ name: 'reused', description }))).id);
      await newKey('reused');
      if (description !== 'third') await of('serviceaccount').delete('reused');
    }
    const logs = await Promise.all([...ids, 'reused'].map(async (ref) => actions(await log('serviceaccount', ref))));
    // Keys go with their account, in the same record and so at the same time.
    const [first, second, third, byName] = logs.map((types) => [...types].sort());
    const whole = ['add-key', 'create', 'delete', 'remove-key'];
    expect([first, second, third, byName]).toEqual([whole, whole, ['add-key', 'create'], ['add-key', 'create']]);
  });

  test('are in the log of a user as well', async () => {
    await newUser(org, mailbox, 'keyed@example.com');
    expect(actions(await log('user', 'keyed@example.com')).sort()).toEqual(['add-key', 'create']);
    await of('user').delete('keyed@example.com');
    expect(actions(await log('user', 'keyed@example.com')).filter((type) => KEYS.includes(type ?? ''))).toHaveLength(2);
  });

  test('the first is in the log of the first account', async () => {
    const fresh = await newOrg(service);
    expect(actions(await log('serviceaccount', 'admin', '', fresh)).sort()).toEqual(['add-key', 'create']);
  });
});

describe('the parameters', () => {
  const NAME = 'paged';
  const query = (text: string) => log('group', NAME, `?${text}`);
  let all: readonly Event[];

  beforeAll(async () => {
    await done(of('group').create({ name: NAME }));
    for (let index = 0; index < 7; index += 1) {
      await done(of('group').patch(NAME, { tags: { index: String(index) } }));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    all = (await log('group', NAME)).body.items;
  });

  test('page and pageSize', async () => {
    expect(all).toHaveLength(8);
    const { body } = await query('page=2&pageSize=3');
    expect([body.items, body.query]).toMatchObject([all.slice(3, 6), { page: '2', pageSize: '3' }]);
    expect(linkOf(body, 'self')).toBe(`${of('group').at(NAME)}/-eventlog?page=2&pageSize=3`);
    const next = (await org.api.get<EventPage>(linkOf(body, 'next') ?? '')).body;
    expect([next.items, linkOf(next, 'next')]).toEqual([all.slice(6), undefined]);
    expect((await query('page=9&pageSize=3')).body.items).toEqual([]);
  });

  test('cursor: what happens meanwhile comes before it', async () => {
    const { body } = await query('pageSize=3');
    await done(of('group').patch(NAME, { description: 'meanwhile' }));
    const rest = await org.walk(linkOf(body, 'next') ?? '');
    expect([...body.items, ...rest]).toEqual(all);
    all = (await log('group', NAME)).body.items;
    expect(all).toHaveLength(9);
  });

  test('fromEvent (inclusive), toEvent (exclusive) and actionType', async () => {
    const [newest, , third] = all;
    const [from, to] = [third?.eventTime ?? '', newest?.eventTime ?? ''];
    const within = all.filter(({ eventTime }) => eventTime >= from && eventTime < to);
    expect(within.length).toBeGreaterThan(0);
    expect((await query(`fromEvent=${from}&toEvent=${to}`)).body.items).toEqual(within);
    expect((await query(`fromEvent=${fromNow(60_000)}`)).body.items).toEqual([]);
    const created = await query('actionType=create');
    expect([actions(created), created.body.query]).toMatchObject([['create'], { actionType: 'create' }]);
    const path = `${of('group').at(NAME)}/-eventlog?actionType=edit&pageSize=2`;
    expect(await org.walk(path)).toEqual(all.filter(({ action }) => action?.type === 'edit'));
  });

  test.each([
    ['pageSize=0', '?pageSize'],
    ['pageSize=1001', '?pageSize'],
    ['page=0', '?page'],
    ['page=x', '?page'],
    ['fromEvent=yesterday', '?fromEvent'],
    ['order=received', '?order'],
    ['contextName=app', '?contextName'],
    ['resourceId=x', '?resourceId'],
    ['page=1&cursor=x', '?page'],
    ['page=1&page=2', '?page'],
  ])('%s is refused', async (text, pointer) => {
    const answer = await log<Refusal>('group', NAME, `?${text}`);
    expect([answer.status, pointers(answer)]).toEqual([400, [pointer]]);
  });

  test('a cursor is void for the log of another, and for other filters', async () => {
    const next = linkOf((await query('pageSize=2')).body, 'next') ?? '';
    const cursor = new URLSearchParams(next.split('?')[1]).get('cursor') ?? '';
    for (const answer of [
      await log<Refusal>('group', 'viewers', `?cursor=${cursor}`),
      await log<Refusal>('group', NAME, `?actionType=edit&cursor=${cursor}`),
      await log<Refusal>('group', NAME, '?cursor=bm9uZQ'),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_cursor']);
    }
  });

  test('pages reach so deep', async () => {
    const answer = await log<Refusal>('group', NAME, '?page=11&pageSize=1000');
    expect([answer.status, answer.body.code]).toEqual([400, 'page_too_deep']);
  });
});

test('there is no log of what has none', async () => {
  for (const path of [`/org/${org.name}/-eventlog`, `/org/${org.name}/gadget/x/-eventlog`]) {
    expect((await org.api.get(path)).status).toBe(404);
  }
  expect((await new Api(service.url).get(`${of('group').at('viewers')}/-eventlog`)).status).toBe(401);
});
