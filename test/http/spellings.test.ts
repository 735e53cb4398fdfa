import { newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { type Mailbox, openMailbox } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';

const PAGE = 'https://console.example.com';

let service: TestService;
let org: Org;
let mailbox: Mailbox;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: { ...mailbox.env, CONTROL_CORS_ORIGINS: `${PAGE}, http://localhost:3000` } });
  org = await newOrg(service);
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const json = { 'content-type': 'application/json' };

interface Resource {
  readonly id: string;
  readonly version: number;
  readonly description: string;
}

async function group(name: string): Promise<Resource> {
  return (await org.api.post<Resource>(`/org/${org.name}/group`, { name })).body;
}

describe('a slash at the end of a path', () => {
  test('means the same path', async () => {
    const { id } = (await org.publish({ resource: { name: 'slash' } })).body;
    for (const path of [`${org.audit}/id/${id}/`, `${org.audit}/?pageSize=1`, `/org/${org.name}/group/superusers/`]) {
      expect([path, (await org.api.raw('GET', path)).status]).toEqual([path, 200]);
    }
    const published = await org.api.raw('POST', `${org.audit}/auditctx/app/?async=true`, {
      headers: json,
      body: '{"resource":{"name":"slash"}}',
    });
    expect(published.status).toBe(202);
  });

  test('belongs to the name of a resource', async () => {
    await org.publish({ resource: { name: 'folder/' } });
    const { body } = await org.api.raw<{ items: { resource: { name: string } }[] }>(
      'GET',
      `${org.audit}/resource/name/folder/`,
    );
    expect(body.items.map(({ resource }) => resource.name)).toEqual(['folder/']);
    expect((await org.named('folder')).body.items).toEqual([]);
    expect((await org.api.raw('GET', `${org.audit}/resource/name/`)).status).toBe(400);
  });

  test('is one slash, and makes no path of none', async () => {
    for (const path of [`${org.audit}//`, '/', '//', '/nothing/']) {
      expect([path, (await org.api.raw('GET', path)).status]).toEqual([path, 404]);
    }
  });
});

describe('a UUID in capitals', () => {
  const OWN = 'ABCDEF01-0000-4000-8000-00000000000A';

  test('names an event, a resource and an invitation in a path', async () => {
    const { id } = (await org.publish({ resource: { name: 'capitals' } })).body;
    expect((await org.event(id.toUpperCase())).body.item.id).toBe(id);
    const sent = { emails: ['ann@example.com'] };
    const invited = await org.api.post<{ invitations: Record<string, string> }>(`/org/${org.name}/user/-invite`, sent);
    const [link = ''] = Object.values(invited.body.invitations);
    const invitation = link.split('/').at(-1) ?? '';
    expect((await org.api.get(`/org/${org.name}/invitation/${invitation.toUpperCase()}`)).status).toBe(200);
  });

  test('finds in a filter what was recorded in either case', async () => {
    await org.publish({ resource: { name: 'either', id: OWN } });
    await org.publish({ resource: { name: 'either', id: OWN.toLowerCase() } });
    expect((await org.list({ resourceId: OWN })).body.items).toHaveLength(2);
    expect((await org.list({ resourceId: OWN.toLowerCase() })).body.items).toHaveLength(1);
    const byPath = await org.api.get(`${org.audit}/resource/id/${OWN}?pageSize=1`);
    const next = byPath.body.links.find(({ rel }) => rel === 'next')?.href ?? '';
    expect((await org.api.get(next)).body.items).toHaveLength(1);
  });

  test('finds an event by the identifier of its request', async () => {
    const { requestId, id } = await org.published({ resource: { name: 'request' } });
    const { items } = (await org.list({ requestId: requestId.toUpperCase() })).body;
    expect(items.map((event) => event.id)).toEqual([id]);
  });

  test('names a user in links and relations', async () => {
    const { body } = await org.api.post<{ invitations: Record<string, string> }>(`/org/${org.name}/user/-invite`, {
      emails: ['eve@example.com'],
    });
    const invitation = Object.values(body.invitations)[0] ?? '';
    const code = mailbox.code('eve@example.com');
    const accepted = await org.api.post<Resource>(`${invitation}/-accept`, { code, name: 'Eve' });
    const memberLinks = [`/org/${org.name}/user/${accepted.body.id.toUpperCase()}`];
    const made = await org.api.post<{ memberLinks: string[] }>(`/org/${org.name}/group`, {
      name: 'linked',
      memberLinks,
    });
    expect(made.body.memberLinks).toEqual([`/org/${org.name}/user/eve@example.com`]);
    expect((await org.api.get(`/org/${org.name}/user/${accepted.body.id.toUpperCase()}`)).status).toBe(200);
  });

  test('is the value of an id in a query', async () => {
    const { id } = await group('by-id');
    const spec = { terms: [{ property: 'id', value: id.toUpperCase() }] };
    const { body } = await org.api.post<{ items: Resource[] }>(`/org/${org.name}/group/-query`, { spec });
    expect(body.items.map((one) => one.id)).toEqual([id]);
  });
});

describe('If-None-Match', () => {
  const of = (name: string, tag: string) => org.api.get(`/org/${org.name}/group/${name}`, { 'if-none-match': tag });

  test.each(['"1"', 'W/"1"', '"7", "1"', '*'])(
    '%s of a version that the caller has is 304, without a body',
    async (tag) => {
      const { status, headers, text } = await of('superusers', tag);
      expect([status, headers.get('etag'), text]).toEqual([304, '"1"', '']);
    },
  );

  test('of a HEAD is 304 without a length: that of its GET is not 0', async () => {
    await org.api.send('PUT', `${org.audit}/auditctx/app`, '{"retentionDays":30}', json);
    for (const path of [`/org/${org.name}/group/superusers`, `${org.audit}/auditctx/app`]) {
      const tag = (await org.api.get(path)).headers.get('etag') ?? '';
      const { status, headers } = await org.api.raw('HEAD', path, {
        headers: { authorization: `Bearer ${org.key}`, 'if-none-match': tag },
      });
      expect([status, headers.get('etag'), headers.get('content-length')]).toEqual([304, tag, null]);
    }
  });

  test('of another version is 200, also right after a change', async () => {
    await group('changed');
    await org.api.send('PATCH', `/org/${org.name}/group/changed`, '{"description":"new"}', json);
    const { status, headers } = await of('changed', '"1"');
    expect([status, headers.get('etag')]).toEqual([200, '"2"']);
    expect((await of('changed', '"2"')).status).toBe(304);
  });

  test('does not hide what changes without another version: keys', async () => {
    const path = `/org/${org.name}/serviceaccount/admin`;
    const { headers } = await org.api.get(path);
    expect((await org.api.get(path, { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(200);
  });

  test('is looked at after the access', async () => {
    const answer = await org.api.raw('GET', `/org/${org.name}/group/superusers`, {
      headers: { authorization: 'Bearer wrong', 'if-none-match': '*' },
    });
    expect(answer.status).toBe(401);
  });
});

describe('application/merge-patch+json', () => {
  const patch = { 'content-type': 'application/merge-patch+json' };

  test('is the type of a PATCH', async () => {
    await group('patched');
    const path = `/org/${org.name}/group/patched`;
    const { status, body } = await org.api.send<Resource>('PATCH', path, '{"description":"merged"}', patch);
    expect([status, body.description]).toEqual([200, 'merged']);
  });

  test('is refused for what is no patch', async () => {
    const path = `/org/${org.name}/group`;
    expect((await org.api.post<Refusal>(path, { name: 'x-y' }, patch)).body.code).toBe('unsupported_media_type');
  });
});

describe('the link of an audit context itself', () => {
  test('is a target of policies', async () => {
    const contexts = await org.api.get<{ items: { links: { href: string }[] }[] }>(`${org.audit}/auditctx`);
    const self = contexts.body.items[0]?.links[0]?.href ?? '';
    expect(self).toMatch(/^\/audit\/org\/[^/]+\/auditctx\/[^/]+$/);
    const policy = { name: 'one-context', targetKind: 'auditctx', targetLinks: [self, self.replace('/audit', '')] };
    const { status, body } = await org.api.post<{ targetLinks: string[] }>(`/org/${org.name}/policy`, policy);
    expect([status, body.targetLinks]).toEqual([201, [self.replace('/audit', '')]]);
  });

  test('is that of contexts alone, and of this organization', async () => {
    const targets = [`/audit/org/${org.name}/group/superusers`, '/audit/org/other/auditctx/app'];
    for (const [index, targetKind] of ['group', 'auditctx'].entries()) {
      const policy = { name: `no-${index}`, targetKind, targetLinks: [targets[index]] };
      const answer = await org.api.post<Refusal>(`/org/${org.name}/policy`, policy);
      expect(pointers(answer)).toEqual(['/targetLinks/0']);
    }
  });
});

describe('with CORS', () => {
  const from = (origin: string, more = {}) => ({ headers: { origin, ...more } });
  const allowed = (headers: Headers) => headers.get('access-control-allow-origin');

  test('pages of an allowed origin may read responses, also of errors, and other pages may not', async () => {
    const paths = [org.audit, `${org.audit}/nothing`, '/health/ready'];
    for (const path of paths) {
      const { headers } = await org.api.raw('GET', path, from(PAGE));
      expect([path, allowed(headers), headers.get('vary')]).toEqual([path, PAGE, expect.stringContaining('origin')]);
      expect(headers.get('access-control-expose-headers')).toContain('etag');
      for (const other of ['https://evil.example.com', 'null', `${PAGE}.evil.example.com`]) {
        expect(allowed((await org.api.raw('GET', path, from(other))).headers)).toBeNull();
      }
    }
    expect(
      (await org.api.raw('GET', org.audit, from(PAGE))).headers.get('access-control-allow-credentials'),
    ).toBeNull();
  });

  test('a preflight names the methods and headers of the path, without a key', async () => {
    const preflight = from(PAGE, { 'access-control-request-method': 'POST', authorization: '' });
    const { status, headers, text } = await org.api.raw('OPTIONS', `${org.audit}/auditctx/app`, preflight);
    expect([status, text, allowed(headers)]).toEqual([204, '', PAGE]);
    expect(headers.get('access-control-allow-methods')).toBe(headers.get('allow'));
    expect(headers.get('allow')).toMatch(/OPTIONS.*POST/);
    expect(headers.get('access-control-allow-headers')).toContain('authorization');
    expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0);
  });

  test('OPTIONS without an origin has the methods alone, and 404 where nothing is', async () => {
    const { status, headers } = await org.api.raw('OPTIONS', org.audit);
    expect([status, headers.get('allow'), allowed(headers)]).toEqual([204, 'GET, HEAD, OPTIONS', null]);
    expect(headers.get('access-control-allow-methods')).toBeNull();
    expect((await org.api.raw('OPTIONS', '/nothing')).status).toBe(404);
  });
});
