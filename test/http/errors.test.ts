import { request } from 'node:http';
import { connect } from 'node:net';
import { type Answer, Api, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

const JSON_BODY = { 'content-type': 'application/json' };

let service: TestService;
let org: Org;
let publish: string;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  publish = `${org.audit}/auditctx/app`;
});

afterAll(() => service.remove());

/** The Error body, whole and nothing else, under the request's id. */
function expectError({ status, headers, body }: Answer<Refusal>, expected: number, code: string): void {
  expect(body).toEqual({
    status: expected,
    message: expect.stringMatching(/./),
    code,
    details: expect.any(Object),
    id: headers.get('x-request-id'),
  });
  expect(status).toBe(expected);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(body.message).not.toMatch(/\bat .*\.(js|ts):\d+/);
}

describe('a path that is none', () => {
  test.each(['/', '/nowhere', '/audit', '/audit/org', '/org/a/b', '/health', '/audit/org/x//', '/favicon.ico'])(
    '%s answers 404, with a key and without',
    async (path) => {
      expectError(await org.api.raw('GET', path), 404, 'not_found');
      expectError(await new Api(service.url).raw('POST', path, { headers: JSON_BODY, body: '{' }), 404, 'not_found');
    },
  );

  test('is distinguished from one in another case', async () => {
    expectError(await org.api.raw('GET', `/AUDIT/org/${org.name}`), 404, 'not_found');
  });
});

describe('a method that is none', () => {
  const paths: [string, () => string, string, string[]][] = [
    ['publish', () => publish, 'GET, HEAD, PATCH, POST, PUT', ['DELETE', 'OPTIONS']],
    ['bulk', () => `${publish}/-bulk`, 'POST', ['GET', 'PUT', 'DELETE']],
    ['list', () => org.audit, 'GET, HEAD', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
    ['named list', () => `${org.audit}/resource/name/a%2Fb`, 'GET, HEAD', ['POST', 'DELETE']],
    ['one event', () => `${org.audit}/id/x`, 'GET, HEAD', ['POST', 'PUT', 'DELETE']],
    ['organizations', () => '/org', 'GET, HEAD, POST', ['PUT', 'DELETE']],
    ['one organization', () => `/org/${org.name}`, 'GET, HEAD', ['POST', 'DELETE']],
    ['health', () => '/health/ready', 'GET, HEAD', ['POST', 'DELETE']],
  ];

  test.each(paths)('returns 405 with Allow: %s', async (_what, path, allow, methods) => {
    for (const method of methods) {
      const answer = await org.api.raw(method, path());
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, allow]);
      if (method !== 'HEAD') expectError(answer, 405, 'method_not_allowed');
    }
  });

  test('returns 405 whatever the body says', async () => {
    expectError(await org.api.raw('PATCH', org.audit, { headers: JSON_BODY, body: '{' }), 405, 'method_not_allowed');
  });

  test.each(['TRACE', 'PROPFIND'])('returns 405 for %s, which no path has', async (method) => {
    expectError(await org.api.raw(method, publish), 405, 'method_not_allowed');
  });
});

describe('a body that is no object', () => {
  test.each([
    ['group', 'null'],
    ['policy', 'null'],
    ['domain', 'null'],
    ['serviceaccount', 'null'],
    ['group', '[]'],
    ['domain', '"a"'],
  ])('is refused where a %s is created: %s', async (kind, body) => {
    const answer = await org.api.post<Refusal>(`/org/${org.name}/${kind}`, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
  });
});

describe('a body that is refused as a whole', () => {
  test.each([
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    '///',
  ])('as %s', async (type) => {
    const answer = await org.api.raw('POST', publish, { headers: { 'content-type': type }, body: '{}' });
    expectError(answer, 415, 'unsupported_media_type');
  });

  test('without a media type, and without a body', async () => {
    expectError(await org.api.raw('POST', publish, { body: '{}' }), 415, 'unsupported_media_type');
    expectError(await org.api.raw('POST', publish), 415, 'unsupported_media_type');
  });

  test('as NDJSON where one event is due', async () => {
    const headers = { 'content-type': 'application/x-ndjson' };
    expectError(await org.api.raw('POST', publish, { headers, body: '{}' }), 415, 'unsupported_media_type');
  });

  test.each(['gzip', 'deflate', 'br', 'zstd', 'gzip, identity'])('compressed with %s', async (encoding) => {
    const headers = { ...JSON_BODY, 'content-encoding': encoding };
    expectError(await org.api.raw('POST', publish, { headers, body: 'x' }), 415, 'unsupported_media_type');
  });

  test('over 256 KiB, announced or not, while 256 KiB are taken', async () => {
    const body = '{"resource":{"name":"x"}}'.padEnd(256 * 1024);
    expect((await org.api.raw('POST', publish, { headers: JSON_BODY, body })).status).toBe(201);
    const announced = await org.api.raw('POST', publish, { headers: JSON_BODY, body: `${body} ` });
    const headers = { ...JSON_BODY, 'transfer-encoding': 'chunked' };
    const chunked = await org.api.raw('POST', publish, { headers, body: `${body}${' '.repeat(1024)}` });
    expectError(announced, 413, 'payload_too_large');
    expectError(chunked, 413, 'payload_too_large');
  });

  test('of 8 MiB is taken by the bulk route alone', async () => {
    const answer = await org.api.post<Refusal>('/org', ' '.repeat(300 * 1024));
    expect([403, 413]).toContain(answer.status);
    const root = new Api(service.url, service.rootKey);
    expectError(await root.post<Refusal>('/org', `{"name":"big"}${' '.repeat(300 * 1024)}`), 413, 'payload_too_large');
  });
});

describe('media types', () => {
  test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;x=y'])(
    '%s is JSON',
    async (type) => {
      const answer = await org.publish({ resource: { name: 'x' } }, { headers: { 'content-type': type } });
      expect(answer.status).toBe(201);
    },
  );

  test('identity is no compression', async () => {
    const headers = { 'content-encoding': 'identity' };
    expect((await org.publish({ resource: { name: 'x' } }, { headers })).status).toBe(201);
  });
});

describe('an address that cannot be', () => {
  test.each(['%zz', '%', '%e0%a4%a', '%ff'])('%s in the path gets 400', async (part) => {
    for (const path of [`${org.audit}/id/${part}`, `${org.audit}/resource/name/${part}`, `/org/${part}`]) {
      const answer = await org.api.raw('GET', path);
      expectError(answer, 400, 'validation_failed');
      expect(pointers(answer)).toEqual(['path']);
    }
  });

  test('too long a path parameter gets 414', async () => {
    expectError(await org.api.raw('GET', `${org.audit}/id/${'a'.repeat(20_000)}`), 414, 'uri_too_long');
  });

  test('too long a URL gets the Error body', async () => {
    const answer = await org.api.raw('GET', `${org.audit}/resource/name/${'a'.repeat(70_000)}`);
    expect([414, 431]).toContain(answer.status);
    expectError(answer, answer.status, answer.status === 414 ? 'uri_too_long' : 'headers_too_large');
  });

  test('too large headers get the Error body', async () => {
    const answer = await org.api.raw('GET', org.audit, { headers: { 'x-large': 'a'.repeat(70_000) } });
    expectError(answer, 431, 'headers_too_large');
  });

  test('a request that is not HTTP gets the Error body', async () => {
    const { port } = new URL(service.url);
    const text = await new Promise<string>((resolve, reject) => {
      let received = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
      socket.setEncoding('utf8').on('data', (chunk) => (received += chunk));
      socket.on('close', () => resolve(received)).on('error', reject);
    });
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body)).toEqual({
      status: 400,
      message: expect.any(String),
      code: expect.any(String),
      details: expect.any(Object),
      id: /^x-request-id: (.+)$/im.exec(head)?.[1],
    });
  });
});

describe('x-request-id', () => {
  test.each(['abc', 'A-1_2.3', 'a'.repeat(128)])('is taken up from the caller: %s', async (id) => {
    const headers = { 'x-request-id': id };
    const ok = await org.api.get(org.audit, headers);
    const refused = await org.api.get<Refusal>('/nowhere', headers);
    expect([ok.headers.get('x-request-id'), refused.headers.get('x-request-id'), refused.body.id]).toEqual([
      id,
      id,
      id,
    ]);
  });

  test.each(['', 'two words', 'a'.repeat(129), 'a,b', '<x>', '{"a":1}', 'é'])(
    'is replaced when it is %p',
    async (id) => {
      const answer = await org.api.raw('GET', '/nowhere', { headers: { 'x-request-id': id } });
      expect(answer.headers.get('x-request-id')).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/,
      );
      expectError(answer, 404, 'not_found');
    },
  );

  test('is replaced when it comes twice', async () => {
    const id = await new Promise<string | undefined>((resolve, reject) => {
      const { hostname, port } = new URL(service.url);
      const headers = ['x-request-id', 'one', 'x-request-id', 'two', 'host', hostname];
      const sent = request({ hostname, port, path: '/nowhere', headers, agent: false }, (response) => {
        response.resume();
        resolve(String(response.headers['x-request-id']));
      });
      sent.on('error', reject).end();
    });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('is another for each request without one', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => org.api.get('/health/live')));
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(20);
  });
});

test('a refused request does not spoil its connection for the next', async () => {
  for (let index = 0; index < 10; index += 1) {
    expect((await org.publish('{"resource":')).status).toBe(400);
    expect((await org.publish({ resource: {} })).status).toBe(400);
    expect((await org.publish({ resource: { name: 'x' } })).status).toBe(201);
  }
});
