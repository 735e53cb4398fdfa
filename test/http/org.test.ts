import { createHash } from 'node:crypto';
import {
  type Answer,
  Api,
  EVENTS_OF_A_NEW_ORG,
  type Link,
  linkOf,
  newOrg,
  Org,
  type OrgBody,
  pointers,
  type Refusal,
  type Sent,
} from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let root: Api;

beforeAll(async () => {
  service = await startService();
  root = new Api(service.url, service.rootKey);
});

afterAll(() => service.remove());

const create = (body: Sent, idempotencyKey?: string) =>
  root.post<OrgBody & Refusal>('/org', body, idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey });

describe('the list of organizations', () => {
  interface OrgPage {
    readonly items: readonly OrgBody[];
    readonly links: readonly Link[];
  }
  const namesOf = ({ items }: OrgPage) => items.map(({ name }) => name);

  test('has all of them by name, the newest at once, as they are read one by one, and no keys', async () => {
    const made = [];
    for (const name of ['list-b', 'list-a', 'list-c']) made.push((await create({ name })).body);
    const { status, body, text } = await root.get<OrgPage>('/org?limit=1000');
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'list', itemKind: 'org' });
    const names = namesOf(body);
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['list-a', 'list-b', 'list-c']));
    for (const { name, key } of made) {
      expect(text).not.toContain(key);
      const listed = body.items.find((item) => item.name === name);
      expect((await root.get(`/org/${name}`)).body).toEqual(listed);
      expect((await new Api(service.url, key).get(`/org/${name}`)).body).toEqual(listed);
    }
  });

  test('is read in pages, without gap or repetition', async () => {
    const all = namesOf((await root.get<OrgPage>('/org?limit=1000')).body);
    const paged: string[] = [];
    for (let at: string | undefined = '/org?limit=2'; at !== undefined; ) {
      const { body }: Answer<OrgPage> = await root.get(at);
      paged.push(...namesOf(body));
      at = linkOf(body, 'next');
    }
    expect(paged).toEqual(all);
    const { status, body } = await root.get<Refusal>('/org?cursor=made-up');
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });

  test('is for the root key alone', async () => {
    const { key } = (await create({ name: 'curious' })).body;
    const { status, body } = await new Api(service.url, key).get<Refusal>('/org');
    expect([status, body.code]).toEqual([403, 'forbidden']);
    const absent = await root.get<Refusal>('/org/no-such-org');
    expect([absent.status, absent.body.code]).toEqual([404, 'not_found']);
  });
});

describe('a new organization', () => {
  test('is answered with 201, Location, its resource and the first key', async () => {
    const { status, headers, body } = await create({
      name: 'acme',
      description: 'Acme Inc.',
      tags: { tier: 'gold', '': undefined },
    });
    expect([status, headers.get('location')]).toEqual([201, '/org/acme']);
    expect(headers.get('cache-control')).toBe('no-store');
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body).toEqual({
      kind: 'org',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'acme',
      description: 'Acme Inc.',
      tags: { tier: 'gold' },
      version: 1,
      created: instant,
      lastModified: body.created,
      links: [{ rel: 'self', href: '/org/acme' }],
      serviceAccount: '/org/acme/serviceaccount/admin',
      key: expect.stringMatching(/^svc_[A-Za-z0-9_-]{43}$/),
    });
  });

  test('is read with its key at once, without the key', async () => {
    const { key, serviceAccount: _account, ...org } = (await create({ name: 'read-me' })).body;
    const { status, body, text } = await new Api(service.url, key).get('/org/read-me');
    expect([status, body]).toEqual([200, org]);
    expect(text).not.toContain(key);
  });

  test('defaults to its name as description, and has no tags', async () => {
    const { body } = await create({ name: 'plain' });
    expect([body.description, body.tags]).toEqual(['plain', {}]);
  });

  test.each(['ab', 'a1', 'a-b', 'a--b', `a${'b'.repeat(62)}`])('may be named %s', async (name) => {
    expect((await create({ name })).status).toBe(201);
  });
});

describe('POST /org refuses', () => {
  test.each<[string, Sent, string[]]>([
    ['no name', {}, ['/name']],
    ['null', null, ['']],
    ['a short name', { name: 'a' }, ['/name']],
    ['a long name', { name: 'a'.repeat(64) }, ['/name']],
    ['a name in upper case', { name: 'Acme' }, ['/name']],
    ['a name that begins with a digit', { name: '1acme' }, ['/name']],
    ['a name that ends with a dash', { name: 'acme-' }, ['/name']],
    ['a name with a line end', { name: 'acme\n' }, ['/name']],
    ['a name with a slash', { name: 'a/b' }, ['/name']],
    ['a name that is a number', { name: 42 }, ['/name']],
    ['a description of null', { name: 'valid', description: null }, ['/description']],
    ['a description of 251 characters', { name: 'valid', description: '😀'.repeat(251) }, ['/description']],
    ['a description that begins with white space', { name: 'valid', description: ' x' }, ['/description']],
    ['a description that ends with a line end', { name: 'valid', description: 'x\n' }, ['/description']],
    ['tags that are an array', { name: 'valid', tags: [] }, ['/tags']],
    ['a tag that is no text', { name: 'valid', tags: { a: 1 } }, ['/tags/a']],
    ['a tag of 1,025 characters', { name: 'valid', tags: { a: 'x'.repeat(1_025) } }, ['/tags/a']],
    ['a tag with an empty key', { name: 'valid', tags: { '': 'x' } }, ['/tags']],
    ['a tag with a key of 129 characters', { name: 'valid', tags: { ['k'.repeat(129)]: 'x' } }, ['/tags']],
    ['51 tags', { name: 'valid', tags: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, 'x'])) }, ['/tags']],
    ['an unknown field', { name: 'valid', key: 'mine' }, ['/key']],
    ['all its faults at once', { name: 'A', description: 1, tags: 'x' }, ['/description', '/name', '/tags']],
  ])('%s', async (_what, body, places) => {
    const answer = await create(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect([...new Set(pointers(answer))]).toEqual(places);
  });

  test('tags that belong to the service', async () => {
    const { status, body } = await create({ name: 'builtin-tag', tags: { 'svc/owner': 'me' } });
    expect([status, body.code]).toEqual([400, 'builtin_tag']);
  });

  test('a name that is taken, with 409', async () => {
    await create({ name: 'taken' });
    const { status, body } = await create({ name: 'taken', description: 'another' });
    expect([status, body.code]).toEqual([409, 'already_exists']);
    expect(body).not.toHaveProperty('key');
  });

  test('no key and a wrong key with 401, the key of an organization with 403', async () => {
    const org = await newOrg(service);
    const body = { name: 'not-made' };
    const answers = [
      await new Api(service.url).post<Refusal>('/org', body),
      await new Api(service.url, 'wrong').post<Refusal>('/org', body),
      await new Api(service.url, `${service.rootKey}x`).post<Refusal>('/org', body),
      await org.api.post<Refusal>('/org', body),
    ];
    expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual([
      [401, 'unauthenticated'],
      [401, 'unauthenticated'],
      [401, 'unauthenticated'],
      [403, 'forbidden'],
    ]);
    expect((await create(body)).status).toBe(201);
  });

  test('another media type', async () => {
    const answer = await root.post<Refusal>('/org', '{"name":"valid"}', { 'content-type': 'application/x-ndjson' });
    expect(answer.status).toBe(415);
  });
});

describe('of 20 creations of one name at once', () => {
  test('exactly one is answered 201, and its key works', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'contested' })));
    const made = answers.filter(({ status }) => status === 201);
    expect(answers.filter(({ body }) => body.code === 'already_exists')).toHaveLength(19);
    expect(made).toHaveLength(1);
    const org = new Org(service.url, 'contested', made[0]?.body.key ?? '');
    expect((await org.list({ contextName: 'svc' })).body.items).toHaveLength(EVENTS_OF_A_NEW_ORG);
  });

  test('all get the same response when they carry one key', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'agreed' }, 'agreed-1')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });
});

describe('an Idempotency-Key on POST /org', () => {
  test('returns the first response again, including the key', async () => {
    const first = await create({ name: 'retried', tags: { a: '1', b: '2' } }, 'retry-1');
    const again = await create({ tags: { b: '2', a: '1' }, name: 'retried' }, 'retry-1');
    expect([again.status, again.text]).toEqual([201, first.text]);
    const org = new Org(service.url, 'retried', again.body.key);
    const { items } = (await org.list({ contextName: 'svc' })).body;
    // That the key was shown again is an event too, found at once or a little later.
    const created = items.filter(({ action }) => action?.type !== 'show-key');
    expect(created).toHaveLength(EVENTS_OF_A_NEW_ORG);
  });

  test('is refused with another body, whether its name is taken or free', async () => {
    await create({ name: 'keyed' }, 'keyed-1');
    for (const name of ['keyed-other', 'keyed']) {
      const { status, body } = await create({ name, description: 'other' }, 'keyed-1');
      expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
    }
    expect((await create({ name: 'keyed-other' })).status).toBe(201);
  });

  test('does not make a taken name free', async () => {
    await create({ name: 'first-come' });
    const { status, body } = await create({ name: 'first-come' }, 'late-1');
    expect([status, body.code]).toEqual([409, 'already_exists']);
  });

  test('of a refused request is still free', async () => {
    await create({ name: 'blocker' });
    expect((await create({ name: 'blocker' }, 'reused-1')).status).toBe(409);
    expect((await create({ name: 'unblocked' }, 'reused-1')).status).toBe(201);
  });

  test('returns the first response after a restart too', async () => {
    const before = await startService();
    try {
      const post = (at: TestService) =>
        new Api(at.url, at.rootKey).post<OrgBody>('/org', { name: 'durable' }, { 'idempotency-key': 'durable-1' });
      const first = await post(before);
      await before.stop();
      const after = await startService({ dataDir: before.dataDir });
      const again = await post(after);
      expect([again.status, again.text]).toEqual([201, first.text]);
      await after.stop();
    } finally {
      await before.remove();
    }
  });
});

describe('the audit events of a new organization', () => {
  test('record the organization, its account and key, and built-in resources, in the service’s context', async () => {
    const org = await newOrg(service);
    const { items } = (await org.list({ order: 'received' })).body;
    expect(items.map(({ action, resource }) => [action?.type, resource.type, resource.name])).toEqual([
      ['create', 'org', org.name],
      ['create', 'serviceaccount', 'admin'],
      ['add-key', 'key', `/org/${org.name}/serviceaccount/admin`],
      ['create', 'group', 'superusers'],
      ['create', 'policy', 'superusers'],
      ['create', 'group', 'viewers'],
      ['create', 'policy', 'viewers'],
    ]);
    for (const { context, result, subject } of items) {
      expect([context.org, context.name, result?.['status'], subject['name']]).toEqual([org.name, 'svc', 'OK', 'root']);
    }
  });

  test('carry the resource after the change, the request and its address', async () => {
    const { body } = await root.post<OrgBody>('/org', { name: 'audited' }, { 'x-request-id': 'make-audited' });
    const org = new Org(service.url, 'audited', body.key);
    const [event] = (await org.list({ resourceType: 'org' })).body.items;
    const { kind: _kind, links: _links, serviceAccount: _account, key: _key, ...resource } = body;
    expect(event).toMatchObject({
      resource: { id: body.id, name: 'audited', type: 'org', data: resource },
      requestId: 'make-audited',
      eventTime: body.created,
      context: { remoteIp: '127.0.0.1' },
      action: { type: 'create', data: { before: null, after: resource } },
    });
  });

  test('contain neither the key nor its hash', async () => {
    const org = await newOrg(service);
    const { text } = await org.list({ pageSize: '1000' });
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      expect(text).not.toContain(createHash('sha256').update(org.key).digest(encoding));
    }
    expect(text).not.toContain(org.key);
    expect(text).not.toMatch(/hash/i);
  });

  test('are read by id like any other', async () => {
    const org = await newOrg(service);
    for (const event of (await org.list()).body.items) expect((await org.event(event.id)).body.item).toEqual(event);
  });
});

describe('POST /org/{org}/-recover', () => {
  interface Issued {
    readonly key: string;
    readonly links: readonly { readonly href: string }[];
  }

  const recover = (org: string, headers: Record<string, string> = {}) =>
    root.post<Issued & Refusal>(`/org/${org}/-recover`, {}, headers);

  test('gives a key that works at once, of the account admin, shown this once', async () => {
    const { name } = await newOrg(service);
    const { status, headers, body } = await recover(name);
    expect([status, headers.get('location')]).toEqual([201, `/org/${name}/serviceaccount/admin`]);
    expect(headers.get('cache-control')).toBe('no-store');
    const recovered = new Org(service.url, name, body.key);
    expect((await recovered.api.get(`/org/${name}`)).status).toBe(200);
    expect((await recovered.api.post(`/org/${name}/group`, { name: 'made-by-it' })).status).toBe(201);
  });

  test('is in the event log of the account, by the holder of the root key', async () => {
    const { name } = await newOrg(service);
    const { key } = (await recover(name)).body;
    const log = await new Api(service.url, key).get<{ items: { action: unknown; subject: unknown }[] }>(
      `/org/${name}/serviceaccount/admin/-eventlog`,
    );
    expect(log.body.items[0]).toMatchObject({ action: { type: 'add-key' }, subject: { name: 'root' } });
    expect(log.text).not.toContain(key);
  });

  test('repeated with the same Idempotency-Key gives the same key; without one, another', async () => {
    const { name } = await newOrg(service);
    const keyed = { 'idempotency-key': 'recover once' };
    const keys = [await recover(name, keyed), await recover(name, keyed), await recover(name)].map(
      ({ body }) => body.key,
    );
    expect(new Set(keys).size).toBe(2);
    expect(keys[0]).toBe(keys[1]);
  });

  test('is for the holder of the root key, and for organizations that exist', async () => {
    const org = await newOrg(service);
    expect((await org.api.post(`/org/${org.name}/-recover`, {})).status).toBe(403);
    expect((await recover('nobody-made-it')).status).toBe(404);
  });
});
