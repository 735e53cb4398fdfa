import { type Answer, Api, at, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { type Mailbox, newUser, openMailbox, type UserBody } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';

interface GroupBody {
  readonly memberLinks: readonly string[];
  readonly version: number;
}

interface PolicyBody {
  readonly targetLinks?: readonly string[];
  readonly bindings: readonly { readonly principalLinks: readonly string[] }[];
}

interface List {
  readonly items: readonly UserBody[];
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

let mailbox: Mailbox;
let service: TestService;
let org: Org;
let path: string;
/** Of the users that every test begins with. */
let ann: UserBody;
let annKey: string;
let bob: UserBody;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
});

beforeEach(async () => {
  org = await newOrg(service);
  path = `/org/${org.name}/user`;
  const [anns, bobs] = await Promise.all([
    newUser(org, mailbox, 'ann@example.com', { name: 'Ann A.' }),
    newUser(org, mailbox, 'bob@example.com', { name: 'Bob B.' }),
  ]);
  ({ key: annKey, ...ann } = anns.body);
  const { key: _key, ...other } = bobs.body;
  bob = other;
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

function sent<Body = UserBody>(method: string, ref: string, body?: object, headers = {}): Promise<Answer<Body>> {
  const typed = { ...(body && { 'content-type': 'application/json' }), ...headers };
  return org.api.send<Body>(method, `${path}/${ref}`, body && JSON.stringify(body), typed);
}

function linkOfUser(email: string): string {
  return `${path}/${email}`;
}

describe('a user', () => {
  test.each([
    ['the e-mail address', () => 'ann@example.com'],
    ['the address in any case', () => 'ANN@Example.Com'],
    ['the address percent-encoded', () => 'ann%40example.com'],
    ['the id', () => ann.id],
  ])('is read by %s', async (_what, ref) => {
    const { status, headers, body } = await org.api.get<UserBody>(`${path}/${ref()}`);
    expect([status, headers.get('etag'), body]).toEqual([200, '"1"', ann]);
  });

  test.each(['nobody@example.com', '01890000-0000-7000-8000-000000000000', 'ann', '%2F'])(
    'is not found by %s',
    async (ref) => {
      const answers = [
        await sent<Refusal>('GET', ref),
        await sent<Refusal>('PATCH', ref, { name: 'x' }),
        await sent<Refusal>('DELETE', ref),
      ];
      expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual([
        [404, 'not_found'],
        [404, 'not_found'],
        [404, 'not_found'],
      ]);
    },
  );

  test('of another organization is not found, by its id neither', async () => {
    const other = await newOrg(service);
    for (const ref of [ann.id, ann.email]) {
      expect((await other.api.get<Refusal>(`/org/${other.name}/user/${ref}`)).body.code).toBe('not_found');
      expect((await other.api.get<Refusal>(`${path}/${ref}`)).body.code).toBe('forbidden');
    }
  });

  test('is made by invitation only', async () => {
    const { status, headers } = await org.api.post<Refusal>(path, { email: 'eve@example.com', name: 'Eve' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('is there after a restart', async () => {
    const before = await startService({ env: mailbox.env });
    try {
      const own = await newOrg(before);
      const { key, ...user } = (await newUser(own, mailbox, 'cem@example.com')).body;
      await before.stop();
      const after = await startService({ env: mailbox.env, dataDir: before.dataDir });
      const reader = at(after, own).api;
      expect((await reader.get<UserBody>(`/org/${own.name}/user/cem@example.com`)).body).toEqual(user);
      expect((await new Api(after.url, key).get(`/org/${own.name}`)).status).toBe(200);
      await after.stop();
    } finally {
      await before.remove();
    }
  });
});

describe('the users', () => {
  test('are listed by e-mail address, page by page', async () => {
    await newUser(org, mailbox, 'aaron@example.com', { name: 'Zoe' });
    const first = await org.api.get<List>(`${path}?limit=2`);
    expect(first.body).toMatchObject({ kind: 'list', itemKind: 'user' });
    expect(first.body.items.map(({ email }) => email)).toEqual(['aaron@example.com', 'ann@example.com']);
    const next = first.body.links.find(({ rel }) => rel === 'next')?.href ?? '';
    const second = await org.api.get<List>(next);
    expect(second.body.items).toEqual([bob]);
    expect(second.body.links.map(({ rel }) => rel)).toEqual(['self']);
  });

  test.each<[string, object, string[]]>([
    ['property', { property: 'email', value: 'bob@example.com' }, ['bob@example.com']],
    ['part of the name', { property: 'name', op: '~', value: 'ANN' }, ['ann@example.com']],
    ['tag', { tag: 'team', value: 'red' }, ['ann@example.com']],
    ['group', { rel: 'group', value: 'viewers' }, ['bob@example.com']],
    ['what it has not', { tag: 'team', op: '!exists' }, ['bob@example.com']],
  ])('are found by %s', async (_what, term, emails) => {
    await sent('PATCH', 'ann@example.com', { tags: { team: 'red' } });
    const joined = { memberLinks: { $append: [linkOfUser('bob@example.com')] } };
    await org.api.send('PATCH', `/org/${org.name}/group/viewers`, JSON.stringify(joined), {
      'content-type': 'application/json',
    });
    const { status, body } = await org.api.post<List>(`${path}/-query`, { kind: 'user', spec: { terms: [term] } });
    expect([status, body.items.map(({ email }) => email)]).toEqual([200, emails]);
  });

  test('are answered as links where that is asked', async () => {
    const { body } = await org.api.post<{ items: string[] }>(`${path}/-query`, { fetch: 'links', spec: {} });
    expect(body.items).toEqual([linkOfUser('ann@example.com'), linkOfUser('bob@example.com')]);
  });

  test('are shown as far as the caller may see them', async () => {
    const policy = {
      name: 'sees-bob',
      targetKind: 'user',
      targetLinks: [linkOfUser('bob@example.com')],
      bindings: [{ permissions: ['view'], principalLinks: [linkOfUser('ann@example.com')] }],
    };
    expect((await org.api.post(`/org/${org.name}/policy`, policy)).status).toBe(201);
    const viewer = new Api(service.url, annKey);
    expect((await viewer.get<List>(path)).body.items).toEqual([bob]);
    expect((await viewer.post<List>(`${path}/-query`, { spec: {} })).body.items).toEqual([bob]);
    for (const ref of [bob.id, 'BOB@example.com']) expect((await viewer.get(`${path}/${ref}`)).status).toBe(200);
    for (const ref of [ann.id, ann.email, 'nobody@example.com']) {
      expect((await viewer.get<Refusal>(`${path}/${ref}`)).body.code).toBe('forbidden');
    }
    expect((await viewer.send('DELETE', `${path}/${bob.id}`)).status).toBe(403);
  });
});

describe('a patch of a user', () => {
  test('is merged, and read at once', async () => {
    await sent('PATCH', 'ann@example.com', { tags: { a: '1', b: '2' } });
    const { status, headers, body } = await sent('PATCH', ann.id, { name: 'Ann B.', tags: { a: null, c: '3' } });
    expect([status, headers.get('etag')]).toEqual([200, '"3"']);
    expect(body).toEqual({
      ...ann,
      name: 'Ann B.',
      tags: { b: '2', c: '3' },
      version: 3,
      lastModified: body.lastModified,
    });
    expect((await sent('GET', 'ann@example.com')).body).toEqual(body);
    expect((await org.api.get<List>(path)).body.items[0]).toEqual(body);
  });

  test('that repeats the stored name changes nothing', async () => {
    const { status, body } = await sent('PATCH', 'ann@example.com', { name: 'Ann A.' });
    expect([status, body]).toEqual([200, ann]);
  });

  test('takes the description back to the full name with null', async () => {
    await sent('PATCH', 'ann@example.com', { description: 'The first', name: 'Ann B.' });
    expect((await sent('PATCH', 'ann@example.com', { description: null })).body.description).toBe('Ann B.');
  });

  test.each<[string, object, string[]]>([
    ['no name', { name: null }, ['/name']],
    ['a name with a line end', { name: 'Ann\r\nBcc: eve@example.com' }, ['/name']],
    ['a name that is no text', { name: 1 }, ['/name']],
    ['a description of 251 characters', { description: 'x'.repeat(251) }, ['/description']],
    ['a tag that is no text', { tags: { a: 1 } }, ['/tags/a']],
    ['another address', { email: 'eve@example.com' }, ['/email']],
    ['another identity provider', { idp: 'google' }, ['/idp']],
    ['another id', { id: 'x' }, ['/id']],
    ['another kind', { kind: 'group' }, ['/kind']],
    ['unknown fields', { key: 'x', memberLinks: [] }, ['/key', '/memberLinks']],
  ])('is refused with %s', async (_what, body, places) => {
    const answer = await sent<Refusal>('PATCH', 'ann@example.com', body);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', places]);
    expect((await sent('GET', 'ann@example.com')).body).toEqual(ann);
  });

  test('leaves the tags of the service alone', async () => {
    const { status, body } = await sent<Refusal>('PATCH', 'ann@example.com', { tags: { 'svc/owner': 'me' } });
    expect([status, body.code]).toEqual([400, 'builtin_tag']);
  });

  test.each([
    ['If-Match', {}, { 'if-match': '"1"' }],
    ['the version in the body', { version: 1 }, {}],
  ])('rests on %s', async (_what, member, headers) => {
    expect((await sent('PATCH', 'ann@example.com', { name: 'Ann B.', ...member }, headers)).status).toBe(200);
    const { status, body } = await sent<Refusal>('PATCH', 'ann@example.com', { name: 'Ann C.', ...member }, headers);
    expect([status, body.code]).toEqual([412, 'precondition_failed']);
  });

  test('of 10 at once loses no tag', async () => {
    const tags = Array.from({ length: 10 }, (_, index) => `tag-${index}`);
    await Promise.all(tags.map((tag) => sent('PATCH', 'ann@example.com', { tags: { [tag]: 'x' } })));
    expect(Object.keys((await sent('GET', 'ann@example.com')).body.tags).sort()).toEqual(tags);
  });
});

describe('a replacement of a user', () => {
  test('takes what was read, changed', async () => {
    const { status, body } = await sent('PUT', 'ann@example.com', { ...ann, tags: { a: '1' } });
    expect([status, body]).toEqual([200, { ...ann, tags: { a: '1' }, version: 2, lastModified: body.lastModified }]);
  });

  test('gives what is left out its default', async () => {
    await sent('PATCH', 'ann@example.com', { description: 'The first', tags: { a: '1' } });
    expect((await sent('PUT', 'ann@example.com', { name: 'Ann B.' })).body).toMatchObject({
      name: 'Ann B.',
      description: 'Ann B.',
      tags: {},
    });
  });

  test('needs a name', async () => {
    const answer = await sent<Refusal>('PUT', 'ann@example.com', { description: 'x' });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/name']]);
  });

  test('is refused with what was read of another user', async () => {
    const answer = await sent<Refusal>('PUT', 'ann@example.com', { ...bob });
    // Two who were made in the same millisecond agree in that.
    const created = bob.created === ann.created ? [] : ['/created'];
    expect([answer.status, pointers(answer)]).toEqual([400, [...created, '/email', '/id']]);
  });
});

describe('deleting a user', () => {
  const group = (name: string) => org.api.get<GroupBody>(`/org/${org.name}/group/${name}`);
  const policy = (name: string) => org.api.get<PolicyBody>(`/org/${org.name}/policy/${name}`);

  test('takes its memberships, policy bindings and keys along, each recorded for auditors under one request', async () => {
    const [hers, his] = [linkOfUser('ann@example.com'), linkOfUser('bob@example.com')];
    await org.api.post(`/org/${org.name}/group`, { name: 'both', memberLinks: [hers, his] });
    const binding = (...principalLinks: string[]) => ({ permissions: ['view'], principalLinks });
    const made = [
      { name: 'direct', targetLinks: [hers, his], bindings: [binding(hers, his)] },
      { name: 'hers', target: 'all', bindings: [binding(hers), binding(his)] },
      { name: 'his', target: 'all', bindings: [binding(his)] },
    ];
    for (const body of made) {
      expect((await org.api.post(`/org/${org.name}/policy`, { targetKind: 'user', ...body })).status).toBe(201);
    }
    const untouched = (await policy('his')).body;
    const deleted = await sent('DELETE', 'Ann@example.com', undefined, { 'x-request-id': 'delete-ann' });
    expect([deleted.status, deleted.text]).toEqual([204, '']);

    expect((await sent<Refusal>('GET', 'ann@example.com')).status).toBe(404);
    expect((await sent<Refusal>('GET', ann.id)).status).toBe(404);
    expect((await org.api.get<List>(path)).body.items).toEqual([bob]);
    expect((await group('both')).body.memberLinks).toEqual([his]);
    expect((await policy('direct')).body).toMatchObject({ targetLinks: [his], bindings: [binding(his)] });
    expect((await policy('hers')).body.bindings).toEqual([binding(his)]);
    expect((await policy('his')).body).toEqual(untouched);
    expect((await new Api(service.url, annKey).get<Refusal>(`/org/${org.name}`)).status).toBe(401);

    const { items } = (await org.list({ contextName: 'svc', requestId: 'delete-ann', order: 'received' })).body;
    expect(items.map(({ action, resource }) => [action?.type, resource.type, resource.name])).toEqual([
      ['delete', 'user', 'ann@example.com'],
      ['remove-member', 'group', 'both'],
      ['edit', 'policy', 'direct'],
      ['edit', 'policy', 'hers'],
      ['remove-key', 'key', hers],
    ]);
    const { lastModified: _lastModified, links: _links, kind: _kind, ...shown } = ann;
    expect(items[0]?.action).toMatchObject({ data: { before: shown, after: null } });
  });

  test('lets the address be invited again, as another user', async () => {
    await sent('DELETE', 'ann@example.com');
    const again = (await newUser(org, mailbox, 'ann@example.com')).body;
    expect(again.id).not.toBe(ann.id);
    expect((await sent<Refusal>('GET', ann.id)).status).toBe(404);
  });

  test('is refused for the last superuser, and changes nothing', async () => {
    const superusers = `/org/${org.name}/group/superusers`;
    const only = JSON.stringify({ memberLinks: [linkOfUser('ann@example.com')] });
    await org.api.send('PATCH', superusers, only, { 'content-type': 'application/json' });
    const superuser = new Api(service.url, annKey);
    const { status, body } = await superuser.send<Refusal>('DELETE', `${path}/ann@example.com`);
    expect([status, body.code]).toEqual([409, 'builtin_resource']);
    expect((await superuser.get<UserBody>(`${path}/ann@example.com`)).body).toEqual(ann);
    expect((await superuser.get<GroupBody>(superusers)).body.memberLinks).toEqual([linkOfUser('ann@example.com')]);
    const both = JSON.stringify({ memberLinks: { $append: [linkOfUser('bob@example.com')] } });
    await superuser.send('PATCH', superusers, both, { 'content-type': 'application/json' });
    expect((await superuser.send('DELETE', `${path}/ann@example.com`)).status).toBe(204);
  });

  test('rests on If-Match', async () => {
    const { status, body } = await sent<Refusal>('DELETE', 'ann@example.com', undefined, { 'if-match': '"2"' });
    expect([status, body.code]).toEqual([412, 'precondition_failed']);
    expect((await sent('DELETE', 'ann@example.com', undefined, { 'if-match': '"1"' })).status).toBe(204);
  });

  test('races additions to groups without leaving a member that is not there', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `racing-${index}`);
    const additions = names.map((name) =>
      org.api.post(`/org/${org.name}/group`, { name, memberLinks: [linkOfUser('ann@example.com')] }),
    );
    const [deleted, ...answers] = await Promise.all([sent('DELETE', 'ann@example.com'), ...additions]);
    expect(deleted?.status).toBe(204);
    for (const [index, { status }] of answers.entries()) {
      expect([201, 400]).toContain(status);
      if (status === 201) expect((await group(names[index] ?? '')).body.memberLinks).toEqual([]);
    }
  });
});
