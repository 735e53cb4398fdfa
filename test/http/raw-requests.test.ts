import { answersOn, notARefusal, openSocket, type RawAnswer, sendRaw } from '../hardening/raw-http.js';
import { Api, Org, type OrgBody } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  const { body } = await new Api(service.url, service.rootKey).post<OrgBody>('/org', { name: 'acme' });
  org = new Org(service.url, 'acme', body.key);
});

afterAll(() => service.remove());

const EVENT = JSON.stringify({ resource: { name: 'raw' } });
const PUBLISH = '/audit/org/acme/auditctx/app';

function publish(headers: readonly string[], body: string, version = '1.1'): string {
  const lines = [`POST ${PUBLISH} HTTP/${version}`, `authorization: Bearer ${org.key}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

const JSON_TYPE = 'content-type: application/json';
const LENGTH = `content-length: ${EVENT.length}`;

async function refusedAndClosed(text: string): Promise<RawAnswer> {
  const { answers, end } = await sendRaw(service.url, text + text, 2, 5_000);
  expect(end).toBe('closed');
  expect(answers).toHaveLength(1);
  expect(answers.map(notARefusal)).toEqual([undefined]);
  expect((await org.named('raw')).body.items).toEqual([]);
  return answers[0] as RawAnswer;
}

test.each([
  ['a second Host header', ['host: x', 'Host: y', JSON_TYPE, LENGTH], EVENT, '1.1', 'header:host'],
  ['a second Host header that is the same', ['host: x', 'host: x', JSON_TYPE, LENGTH], EVENT, '1.1', 'header:host'],
  [
    'a second Authorization header',
    ['host: x', 'Authorization: Bearer svc_x', JSON_TYPE, LENGTH],
    EVENT,
    '1.1',
    'header:authorization',
  ],
  ['no Host header', [JSON_TYPE, LENGTH], EVENT, '1.1', 'header:host'],
  [
    'HTTP/1.0 with Transfer-Encoding',
    ['host: x', JSON_TYPE, 'transfer-encoding: chunked', 'connection: keep-alive'],
    `${EVENT.length.toString(16)}\r\n${EVENT}\r\n0\r\n\r\n`,
    '1.0',
    'header:transfer-encoding',
  ],
])('refuses %s with 400, and closes the connection', async (_what, headers, body, version, pointer) => {
  const { status, text } = await refusedAndClosed(publish(headers, body, version));
  expect(status).toBe(400);
  expect(JSON.parse(text)).toMatchObject({ code: 'validation_failed', details: { fields: [{ pointer }] } });
});

test('takes HTTP/1.0 without a Host header', async () => {
  const { answers } = await sendRaw(service.url, 'GET /health/live HTTP/1.0\r\n\r\n', 1, 5_000);
  expect(answers.map(({ status }) => status)).toEqual([200]);
});

describe('the charset of a body', () => {
  const send = (type: string) =>
    new Api(service.url, org.key).send('POST', PUBLISH, JSON.stringify({ resource: { name: 'c' } }), {
      'content-type': type,
    });

  test.each([
    'application/json; charset=latin1',
    'application/json;charset="ISO-8859-1"',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=latin1',
    'application/json; x="; charset=utf-8"; CHARSET=latin1',
    'application/json; charset=',
  ])('is refused with 415 in %s', async (type) => {
    const { status, body } = await send(type);
    expect([status, body]).toEqual([415, expect.objectContaining({ code: 'unsupported_media_type' })]);
  });

  test.each([
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; Charset="Utf-8"',
    'application/json; charset=utf8',
  ])('is taken in %s', async (type) => {
    expect((await send(type)).status).toBe(201);
  });
});

describe('every response', () => {
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;

  test.each([
    ['a public route', get('/health/live'), 200],
    ['the page', get('/docs'), 200],
    ['a file of the page', get('/docs/page.js'), 200],
    ['a route that does not exist', get('/nowhere'), 404],
    ['a path that is not UTF-8', get('/org/%ff'), 400],
    ['a parameter that is too long', get(`/org/${'x'.repeat(20_000)}`), 414],
    ['another method', 'PUT /health/live HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n', 405],
    ['no key', get('/org/acme'), 401],
    ['what is not HTTP', 'NOT HTTP AT ALL\r\n\r\n', 400],
    ['too many headers', get('/health/live', `x: ${'x'.repeat(70_000)}\r\n`), 431],
    ['an expectation that nobody has', get('/health/live', 'expect: tea\r\n'), 200],
  ])('is neither stored nor guessed at: %s', async (_what, text, expected) => {
    const { answers } = await sendRaw(service.url, text, 1, 5_000);
    const [answer] = answers;
    expect(answer?.status).toBe(expected);
    expect(answer?.headers.get('cache-control')).toBe('no-store');
    expect(answer?.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('is neither stored nor guessed at: a request that does not come whole', async () => {
    const socket = await openSocket(service.url);
    socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n');
    const { answers } = await answersOn(socket, 1, 30_000);
    socket.destroy();
    expect(answers.map(({ status }) => status)).toEqual([408]);
    expect(answers[0]?.headers.get('cache-control')).toBe('no-store');
    expect(answers[0]?.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('keeps a page out of the frames of others', async () => {
    const { headers } = await new Api(service.url).get('/docs');
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
  });
});
