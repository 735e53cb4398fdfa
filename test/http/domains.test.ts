import { newOrg, type Org, pointers, type Refusal, type Sent } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { type Resource, Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;
let domains: Resources;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  domains = new Resources(org, 'domain');
});

afterAll(() => service.remove());

let made = 0;

/** A host name that nobody has. */
function fresh(): string {
  made += 1;
  return `host-${made}.example.com`;
}

const SUITES = [
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-GCM-SHA256',
];

/** Where `withRoute` puts it. */
const REGEX = '/spec/ports/0/routes/0/regex';

/** Every field that the specification lists, at once. */
const whole = (name: string) => ({
  name,
  description: 'The shop',
  tags: { team: 'web', tier: '1' },
  spec: {
    dnsMode: 'cname',
    gvcLink: '/org/acme/gvc/shop',
    workloadLink: '//gvc/shop/workload/web',
    certChallengeType: 'http01',
    acceptAllHosts: true,
    acceptAllSubdomains: true,
    ports: [
      {
        number: 443,
        protocol: 'http2',
        routes: [
          {
            prefix: '/api',
            replacePrefix: '/v2',
            regex: '^/api/v[0-9]+/.*$',
            hostPrefix: 'www.',
            hostRegex: '^(www|shop)\\.example\\.com$',
            workloadLink: '/org/acme/gvc/shop/workload/api',
            port: 8080,
            replica: 0,
            headers: { request: { set: { 'X-Forwarded-Prefix': '/api', 'x-team': 'web' } } },
          },
        ],
        cors: {
          allowOrigins: [{ exact: 'https://example.com', regex: '^https://.*\\.example\\.com$' }],
          allowMethods: ['GET', 'POST'],
          allowHeaders: ['content-type', '*'],
          exposeHeaders: ['x-request-id'],
          maxAge: '24h',
          allowCredentials: true,
        },
        tls: {
          minProtocolVersion: 'TLSV1_2',
          cipherSuites: SUITES,
          clientCertificate: { secretLink: '/org/acme/secret/client-ca' },
          serverCertificate: { secretLink: '//secret/server' },
        },
      },
    ],
  },
});

const withPort = (port: object, name = fresh()) => ({ name, spec: { ports: [{ number: 443, ...port }] } });
const withRoute = (route: object, name?: string) => withPort({ routes: [route] }, name);

describe('a domain', () => {
  test('with every field that the specification lists is taken, and comes back whole', async () => {
    const body = whole(fresh());
    const { status, headers, body: domain } = await domains.create(body);
    expect([status, headers.get('location'), headers.get('etag')]).toEqual([
      201,
      `/org/${org.name}/domain/${body.name}`,
      '"1"',
    ]);
    expect(domain).toEqual({
      kind: 'domain',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...body,
      version: 1,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      lastModified: domain.created,
      links: [{ rel: 'self', href: `/org/${org.name}/domain/${body.name}` }],
    });
    const read = await domains.get(body.name);
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', domain]);
  });

  test('may give its cipher suites in an array within the array, and shows them flat, each once', async () => {
    const nested = { cipherSuites: [SUITES, [SUITES[0]], SUITES[1]] };
    const { status, body } = await domains.create(withPort({ tls: nested }));
    expect([status, body['spec']]).toMatchObject([201, { ports: [{ tls: { cipherSuites: SUITES } }] }]);
  });

  test('gets every default', async () => {
    const name = fresh();
    const { body } = await domains.create({ name, spec: {} });
    expect([body.description, body.tags, body['spec']]).toEqual([
      name,
      {},
      { dnsMode: 'cname', ports: [{ number: 443, protocol: 'http2' }] },
    ]);
  });

  test('gets the defaults of what is there', async () => {
    const { body } = await domains.create(
      withPort({
        routes: [{}, { regex: '^/a$' }, { prefix: '/b' }],
        cors: { allowMethods: ['get', 'pAtCh'] },
        tls: {},
      }),
    );
    expect(body['spec']).toEqual({
      dnsMode: 'cname',
      ports: [
        {
          number: 443,
          protocol: 'http2',
          routes: [{ prefix: '/' }, { regex: '^/a$' }, { prefix: '/b' }],
          cors: { allowMethods: ['GET', 'PATCH'], maxAge: '24h' },
          tls: { minProtocolVersion: 'TLSV1_2', cipherSuites: SUITES },
        },
      ],
    });
  });

  test('is listed by name', async () => {
    const mine = new Resources(await newOrg(service), 'domain');
    for (const name of ['c.example.org', 'a.example.org', 'b.example.org']) await mine.create({ name, spec: {} });
    const { body } = await mine.list('?limit=2');
    expect([body.itemKind, body.items.map(({ name }) => name)]).toEqual(['domain', ['a.example.org', 'b.example.org']]);
    const next = body.links.find(({ rel }) => rel === 'next')?.href ?? '';
    const rest = await mine.org.api.get<{ items: Resource[]; links: { rel: string }[] }>(next);
    expect(rest.body.items.map(({ name }) => name)).toEqual(['c.example.org']);
    expect(rest.body.links.map(({ rel }) => rel)).toEqual(['self']);
  });

  test('is found by its properties', async () => {
    const name = fresh();
    await domains.create({ name, spec: { dnsMode: 'ns', ports: [{ number: 8443 }] } });
    const terms = [
      { property: 'spec.dnsMode', value: 'ns' },
      { property: 'spec.ports.0.number', op: '>', value: 8000 },
    ];
    const { body } = await domains.query({ kind: 'domain', spec: { match: 'all', terms } });
    expect(body.items.map((one) => one.name)).toEqual([name]);
  });
});

describe('the name of a domain', () => {
  test.each([
    ['example.com'],
    ['a.b'],
    ['r3---sn-x.example.com'],
    ['1and1.example.com'],
    ['xn--mnchen-3ya.example.com'],
    ['example.xn--p1ai'],
    [`${'a'.repeat(63)}.example.com`],
    [`${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(61)],
  ])('may be %s', async (name) => {
    const { status, body } = await domains.create({ name, spec: {} });
    expect([status, body.name]).toEqual([201, name]);
    expect((await domains.get(name)).status).toBe(200);
    expect((await domains.patch(name, { tags: { a: 'b' } })).status).toBe(200);
  });

  test.each<[string, RegExp]>([
    ['*.example.com', /wildcard/],
    ['*', /fully qualified/],
    ['www.*.example.com', /letters, digits and hyphens/],
    ['Example.com', /lower case/],
    ['münchen.example', /A-labels.*xn--mnchen-3ya\.example/],
    ['xn--a.example', /xn--a, which is not a valid A-label/],
    ['xn--.example', /A-label|hyphen/],
    ['xn--abc-.example', /hyphen/],
    ['localhost', /fully qualified/],
    ['example.com.', /end with a dot/],
    ['.example.com', /empty label/],
    ['a..b', /empty label/],
    ['-a.example', /hyphen/],
    ['a-.example', /hyphen/],
    ['a_b.example', /letters, digits and hyphens/],
    ['a b.example', /letters, digits and hyphens/],
    ['192.0.2.1', /addresses/],
    ['example.123', /addresses/],
    ['a.0x1', /addresses/],
    ['https://example.com', /letters, digits and hyphens/],
    ['example.com/path', /letters, digits and hyphens/],
    ['example.com:443', /letters, digits and hyphens/],
    [`${'a'.repeat(64)}.example`, /at most 63/],
    [`${'a.'.repeat(126)}bc`, /at most 253/],
    ['', /at least 1/],
  ])('may not be %s', async (name, reason) => {
    const { status, body } = await domains.create({ name, spec: {} });
    expect([status, body.code]).toEqual([400, 'validation_failed']);
    const reasons = body.details.fields?.filter(({ pointer }) => pointer === '/name').map((fault) => fault.reason);
    expect(reasons?.join('; ')).toMatch(reason);
  });

  test('is unique over all organizations, and the refusal does not name the owner', async () => {
    const name = fresh();
    const other = await newOrg(service);
    await domains.create({ name, spec: {} });
    const { status, text, body } = await new Resources(other, 'domain').create({ name, spec: {} });
    expect([status, body.code]).toEqual([409, 'already_exists']);
    expect(text).not.toContain(org.name);
    expect((await domains.create({ name, spec: {} })).body.message).toBe(body.message);
  });

  test('is unknown everywhere else in another organization', async () => {
    const name = fresh();
    await domains.create({ name, spec: {} });
    const others = new Resources(await newOrg(service), 'domain');
    const unknown = fresh();
    for (const call of [
      (ref: string) => others.get(ref),
      (ref: string) => others.patch(ref, { tags: {} }),
      (ref: string) => others.put(ref, { spec: {} }),
      (ref: string) => others.delete(ref),
      (ref: string) => others.org.api.get<Refusal>(`${others.at(ref)}/-eventlog`),
    ]) {
      const [of, none] = [await call(name), await call(unknown)];
      const told = ({ status, body: { id: _id, ...body } }: typeof of, ref: string) =>
        JSON.stringify([status, body]).replaceAll(ref, 'REF');
      expect([of.status, told(of, name)]).toEqual([404, told(none, unknown)]);
    }
    expect((await others.list()).body.items).toEqual([]);
    expect((await domains.get(name)).body.version).toBe(1);
  });

  test('is free again once the domain is deleted, for every organization', async () => {
    const name = fresh();
    const others = new Resources(await newOrg(service), 'domain');
    await domains.create({ name, spec: {} });
    expect((await domains.delete(name)).status).toBe(204);
    expect((await others.create({ name, spec: {} })).status).toBe(201);
    expect([(await domains.get(name)).status, (await others.get(name)).status]).toEqual([404, 200]);
    expect((await domains.create({ name, spec: {} })).body.code).toBe('already_exists');
  });
});

describe('POST refuses', () => {
  test('every fault at once, each with its pointer', async () => {
    const answer = await domains.create({
      name: '*.example.com',
      description: ' x',
      tags: { a: 1 },
      color: 'red',
      spec: {
        dnsMode: 'a',
        gvcLink: 'http://example.com',
        workloadLink: '/org/acme',
        certChallengeType: 'tls01',
        acceptAllHosts: 'yes',
        ports: [
          { number: 0, protocol: 'udp' },
          {
            number: 443,
            routes: [
              { prefix: 'x', regex: '(', hostRegex: '(?=a)', port: 65_536, replica: -1, workloadLink: '/a' },
              { headers: { request: { set: { 'a b': 'c', d: 1 } } }, extra: true },
            ],
            cors: { allowOrigins: [{}, { regex: '*' }], allowMethods: ['G T'], maxAge: '24', allowCredentials: 1 },
            tls: {
              minProtocolVersion: 'SSLV3',
              cipherSuites: ['RC4', ['MD5']],
              clientCertificate: { secretLink: 's' },
            },
          },
          { number: 443 },
          {},
        ],
      },
    });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect(pointers(answer)).toEqual([
      '/color',
      '/description',
      '/name',
      '/spec/acceptAllHosts',
      '/spec/certChallengeType',
      '/spec/dnsMode',
      '/spec/gvcLink',
      '/spec/ports/0/number',
      '/spec/ports/0/protocol',
      '/spec/ports/1/cors/allowCredentials',
      '/spec/ports/1/cors/allowMethods/0',
      '/spec/ports/1/cors/allowOrigins/0',
      '/spec/ports/1/cors/allowOrigins/1/regex',
      '/spec/ports/1/cors/maxAge',
      '/spec/ports/1/routes/0/hostRegex',
      '/spec/ports/1/routes/0/port',
      '/spec/ports/1/routes/0/prefix',
      '/spec/ports/1/routes/0/regex',
      '/spec/ports/1/routes/0/replica',
      '/spec/ports/1/routes/0/workloadLink',
      '/spec/ports/1/routes/1/extra',
      '/spec/ports/1/routes/1/headers/request/set/a b',
      '/spec/ports/1/routes/1/headers/request/set/d',
      '/spec/ports/1/tls/cipherSuites/0',
      '/spec/ports/1/tls/cipherSuites/1/0',
      '/spec/ports/1/tls/clientCertificate/secretLink',
      '/spec/ports/1/tls/minProtocolVersion',
      '/spec/ports/2/number',
      '/spec/ports/3/number',
      '/spec/workloadLink',
      '/tags/a',
    ]);
  });

  test.each<[string, Sent, string[]]>([
    ['no name', { spec: {} }, ['/name']],
    ['no spec', { name: 'no-spec.example.com' }, ['/spec']],
    ['a spec that is no object', { name: 'no-spec.example.com', spec: null }, ['/spec']],
    ['nothing', {}, ['/name', '/spec']],
    ['an array', [], ['']],
    ['eleven ports', { name: 'p.example.com', spec: { ports: numbered(11) } }, ['/spec/ports']],
    ['151 routes', withPort({ routes: Array(151).fill({}) }, 'r.example.com'), ['/spec/ports/0/routes']],
    ['no cipher suite', withPort({ tls: { cipherSuites: [] } }, 't.example.com'), ['/spec/ports/0/tls/cipherSuites']],
    [
      'no cipher suite in the array within',
      withPort({ tls: { cipherSuites: [[]] } }, 't.example.com'),
      ['/spec/ports/0/tls/cipherSuites/0'],
    ],
    ['a regex of 1,025 characters', withRoute({ regex: 'a'.repeat(1_025) }, 'x.example.com'), [REGEX]],
  ])('%s', async (_what, body, at) => {
    const answer = await domains.create(body);
    expect([answer.status, pointers(answer)]).toEqual([400, at]);
  });

  test('a number that a double cannot hold', async () => {
    const body = `{"name":"${fresh()}","spec":{"ports":[{"number":1,"routes":[{"replica":12345678901234567890}]}]}}`;
    const answer = await domains.create(body);
    expect([answer.status, pointers(answer)]).toEqual([
      400,
      expect.arrayContaining(['/spec/ports/0/routes/0/replica']),
    ]);
  });

  test('a tag of the service', async () => {
    const { status, body } = await domains.create({ name: fresh(), spec: {}, tags: { 'svc/owner': 'me' } });
    expect([status, body.code]).toEqual([400, 'builtin_tag']);
  });
});

function numbered(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({ number: index + 1 }));
}

test('ten ports of 150 routes are taken', async () => {
  const ports = numbered(10).map((port) => ({ ...port, routes: Array(150).fill({ regex: '^/a' }) }));
  expect((await domains.create({ name: fresh(), spec: { ports } })).status).toBe(201);
});

describe('a link', () => {
  test.each(['//secret/x', '//gvc/a/workload/b', '/org/acme/gvc/a', '/org/a%20b/c/d.e~f'])(
    'may be %s',
    async (link) => {
      expect((await domains.create({ name: fresh(), spec: { gvcLink: link } })).status).toBe(201);
    },
  );

  test.each([
    '',
    '/',
    '//',
    'x',
    '/org/acme',
    '/org//x',
    '//a//b',
    '//a/',
    '/org/a/../b',
    '//./a',
    '//a b',
    '//a?b',
    '//%zz',
    'https://a/b',
  ])('may not be %j', async (link) => {
    const answer = await domains.create({ name: fresh(), spec: { gvcLink: link } });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/spec/gvcLink']]);
  });
});

describe('maxAge', () => {
  test.each(['0', '0s', '24h', '1h30m', '1.5h', '.5s', '300ms', '1h2m3s4ms5us6ns', '2µs'])(
    'may be %s',
    async (maxAge) => {
      const { status, body } = await domains.create(withPort({ cors: { maxAge } }));
      expect([status, body['spec']]).toMatchObject([201, { ports: [{ cors: { maxAge } }] }]);
    },
  );

  test.each(['', '24', '-1h', '+1h', '1d', 'h', '1 h', '1h ', '.h', '1H', '1h-1m'])('may not be %j', async (maxAge) => {
    const answer = await domains.create(withPort({ cors: { maxAge } }));
    expect([answer.status, pointers(answer)]).toEqual([400, ['/spec/ports/0/cors/maxAge']]);
  });
});

describe('a regular expression', () => {
  test.each([
    '^/api/v[0-9]+/.*$',
    '(?i)^/a',
    '(?P<name>a+)',
    '(?<name>a+)',
    '\\pL+',
    '[[:alpha:]]{1,64}',
    '\\Q.\\E',
    'a*?',
  ])('may be %s', async (regex) => {
    const { status, body } = await domains.create(withRoute({ regex }));
    expect([status, body['spec']]).toMatchObject([201, { ports: [{ routes: [{ regex }] }] }]);
  });

  test.each([
    '(',
    '[',
    '*a',
    'a**',
    '(?=a)',
    '(?<=a)b',
    '(a)\\1',
    '(?>a)',
    '\\Z',
    'a{1001}',
    '(?:(?:a{100}){100})',
    'a{2,1}',
  ])('may not be %s, which RE2 does not take', async (regex) => {
    const answer = await domains.create(withRoute({ regex }));
    expect([answer.status, pointers(answer)]).toEqual([400, [REGEX]]);
  });

  test.each([
    ['counted repetitions', '(?:.{0,1000})'.repeat(78)],
    ['Unicode classes', '\\pL'.repeat(340)],
    ['ranges without regard to case', `(?i)[${'B-\u{1E942}'.repeat(240)}]`],
  ])('of too many %s is refused unread', async (_what, regex) => {
    const start = performance.now();
    const { status, body } = await domains.create(withRoute({ regex }));
    expect([status, body.details.fields?.map(({ reason }) => reason)]).toEqual([
      400,
      [expect.stringMatching(/too large/)],
    ]);
    // Read, it would take seconds.
    expect(performance.now() - start).toBeLessThan(1_500 * PATIENCE);
  });

  test('is refused unread where those before it were much already', async () => {
    const routes = Array.from({ length: 150 }, (_, index) => ({ regex: `a{0,${1_000 - index}}` }));
    const { status, body } = await domains.create(withPort({ routes }));
    const fields = body.details.fields ?? [];
    const first = Number(fields[0]?.pointer.split('/').at(-2));
    expect([status, body.code]).toEqual([400, 'validation_failed']);
    expect(first).toBeGreaterThan(1);
    expect(fields).toEqual(
      routes.slice(first).map((_route, index) => ({
        pointer: `/spec/ports/0/routes/${first + index}/regex`,
        reason: expect.stringMatching(/^is too much together .* use fewer/),
      })),
    );
  });

  test('may stand in each of 150 routes, for the path and for the host', async () => {
    const routes = Array.from({ length: 150 }, (_, n) => ({
      regex: `^/tenants/${n}/(?:[a-z0-9-]{1,63}/){1,4}(?:items|orders)(?:/[0-9]+)?$`,
      hostRegex: `^(?:www|shop|tenant-${n})\\.(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+example\\.(?:com|net|org)$`,
    }));
    expect((await domains.create(withPort({ routes }))).status).toBe(201);
  });
});

describe('PATCH', () => {
  test('merges into the stored document, defaults included, and takes `null` for the default', async () => {
    const name = fresh();
    await domains.create({ ...whole(name), spec: { ...whole(name).spec, dnsMode: 'ns' } });
    const { status, headers, body } = await domains.patch(name, {
      description: null,
      tags: { tier: null, new: 'x' },
      spec: { dnsMode: null, gvcLink: null, acceptAllHosts: false, ports: [{ number: 80, protocol: 'http' }] },
    });
    expect([status, headers.get('etag'), body.version]).toEqual([200, '"2"', 2]);
    const { gvcLink: _gvcLink, ...kept } = whole(name).spec;
    expect(body).toMatchObject({ description: name, tags: { team: 'web', new: 'x' } });
    expect(body.tags).toEqual({ team: 'web', new: 'x' });
    expect(body['spec']).toEqual({
      ...kept,
      dnsMode: 'cname',
      acceptAllHosts: false,
      ports: [{ number: 80, protocol: 'http' }],
    });
    expect((await domains.get(name)).body).toEqual(body);
  });

  test('checks the whole again', async () => {
    const name = fresh();
    await domains.create({ name, spec: {} });
    const answer = await domains.patch(name, {
      spec: { dnsMode: 'x', ports: [{ number: 1, routes: [{ regex: '(' }] }] },
      nothing: 1,
      tags: { '': 'x' },
    });
    expect(answer.status).toBe(400);
    expect(new Set(pointers(answer))).toEqual(
      new Set(['/nothing', '/spec/dnsMode', '/spec/ports/0/routes/0/regex', '/tags']),
    );
    expect(pointers(await domains.patch(name, { spec: null }))).toEqual(['/spec']);
    expect((await domains.get(name)).body.version).toBe(1);
  });

  test('takes back what was read, and makes no version of it', async () => {
    const name = fresh();
    const { body } = await domains.create(whole(name));
    const again = await domains.patch(name, body);
    expect([again.status, again.body]).toEqual([200, body]);
  });

  test.each([
    ['id', '01890000-0000-7000-8000-000000000000'],
    ['name', 'other.example.com'],
    ['created', '2020-01-01T00:00:00.000Z'],
    ['kind', 'group'],
  ])('refuses another %s', async (member, value) => {
    const name = fresh();
    await domains.create({ name, spec: {} });
    const answer = await domains.patch(name, { [member]: value });
    expect([answer.status, pointers(answer)]).toEqual([400, [`/${member}`]]);
  });
});

describe('PUT', () => {
  test('replaces all: what the body leaves out gets its default', async () => {
    const name = fresh();
    await domains.create(whole(name));
    const { status, body } = await domains.put(name, { spec: { workloadLink: '//gvc/a/workload/b' } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ description: name, tags: {}, version: 2 });
    expect(body['spec']).toEqual({
      dnsMode: 'cname',
      workloadLink: '//gvc/a/workload/b',
      ports: [{ number: 443, protocol: 'http2' }],
    });
  });

  test('needs a spec, and reports every fault at once', async () => {
    const name = fresh();
    await domains.create({ name, spec: {} });
    expect(pointers(await domains.put(name, { kind: 'group', version: 'x', tags: [] }))).toEqual([
      '/kind',
      '/spec',
      '/tags',
      '/version',
    ]);
  });
});

describe('If-Match', () => {
  const CHANGES: [string, (name: string, match: string) => ReturnType<Resources['patch']>][] = [
    ['PATCH', (name, match) => domains.patch(name, { tags: { a: 'b' } }, { 'if-match': match })],
    ['PUT', (name, match) => domains.put(name, { spec: { dnsMode: 'ns' } }, { 'if-match': match })],
    ['DELETE', (name, match) => domains.delete(name, { 'if-match': match }) as ReturnType<Resources['patch']>],
  ];

  test.each(CHANGES)('of another version refuses %s with 412, of this one lets it through', async (_method, change) => {
    const name = fresh();
    await domains.create({ name, spec: {} });
    const refused = await change(name, '"2"');
    expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
    expect((await domains.get(name)).body.version).toBe(1);
    expect((await change(name, '"1"')).status).toBeLessThan(300);
  });

  test('may be the version in the body', async () => {
    const name = fresh();
    await domains.create({ name, spec: {} });
    expect((await domains.patch(name, { version: 7, tags: { a: 'b' } })).status).toBe(412);
    expect((await domains.patch(name, { version: 1, tags: { a: 'b' } })).body.version).toBe(2);
  });
});

describe('Idempotency-Key', () => {
  test('returns the first response to a retry', async () => {
    const body = { name: fresh(), spec: {} };
    const key = { 'idempotency-key': `create ${body.name}` };
    const first = await domains.create(body, key);
    await domains.patch(body.name, { description: 'changed since' });
    const again = await domains.create(body, key);
    expect([again.status, again.body, again.headers.get('location')]).toEqual([
      201,
      first.body,
      first.headers.get('location'),
    ]);
    expect((await domains.get(body.name)).body.version).toBe(2);
  });

  test('refuses another body, and does not know the key of another organization', async () => {
    const key = { 'idempotency-key': 'the same' };
    expect((await domains.create({ name: fresh(), spec: {} }, key)).status).toBe(201);
    const refused = await domains.create({ name: fresh(), spec: {} }, key);
    expect([refused.status, refused.body.code]).toEqual([409, 'idempotency_conflict']);
    const others = new Resources(await newOrg(service), 'domain');
    expect((await others.create({ name: fresh(), spec: {} }, key)).status).toBe(201);
  });

  test('makes one domain of many requests at once', async () => {
    const body = { name: fresh(), spec: {} };
    const key = { 'idempotency-key': body.name };
    const answers = await Promise.all(Array.from({ length: 10 }, () => domains.create(body, key)));
    expect(new Set(answers.map(({ status, body: { id } }) => `${status} ${id}`)).size).toBe(1);
  });
});

test('patches that come at once are all kept', async () => {
  const name = fresh();
  await domains.create({ name, spec: {} });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => domains.patch(name, { tags: { [`t${index}`]: 'x' } })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  const { body } = await domains.get(name);
  expect([Object.keys(body.tags).length, body.version]).toEqual([20, 21]);
});
