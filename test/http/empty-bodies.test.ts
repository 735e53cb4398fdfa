import { Api, newOrg, type Org, type Refusal, type RequestHeaders } from '../support/api.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;
let root: Api;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  root = new Api(service.url, service.rootKey);
});

afterAll(() => service.remove());

const JSON_TYPE = 'application/json';

const empty: [string, RequestHeaders][] = [
  ['JSON', { 'content-type': JSON_TYPE }],
  ['JSON, of length 0', { 'content-type': `${JSON_TYPE}; charset=utf-8`, 'content-length': '0' }],
  ['JSON, in no chunks', { 'content-type': JSON_TYPE, 'transfer-encoding': 'chunked' }],
  ['NDJSON', { 'content-type': 'application/x-ndjson' }],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' }],
];

describe.each(empty)('an empty body that is said to be %s', (_what, headers) => {
  test('does not hinder a deletion', async () => {
    for (const [kind, body] of [
      ['group', { name: 'robots' }],
      ['serviceaccount', { name: 'robot' }],
      ['policy', { name: 'reading', targetKind: 'group', target: 'all' }],
      ['domain', { name: 'shop.example.com', spec: {} }],
    ] as const) {
      const resources = new Resources(org, kind);
      expect((await resources.create(body)).status).toBe(201);
      const { status, text } = await org.api.raw('DELETE', resources.at(body.name), { headers });
      expect([kind, status, text]).toEqual([kind, 204, '']);
    }
  });

  test('is no body where one may be left out', async () => {
    expect((await root.raw('POST', '/-dead-letters/-replay', { headers })).status).toBe(200);
  });

  test('is refused where a body is needed', async () => {
    const { status, body } = await org.api.raw<Refusal>('POST', `/org/${org.name}/group`, { headers });
    const isJson = headers['content-type']?.startsWith(JSON_TYPE);
    expect([status, body.code]).toEqual(isJson ? [400, 'malformed_json'] : [415, 'unsupported_media_type']);
  });
});

test('a body of a type that a route does not take is refused with a deletion too', async () => {
  const headers = { 'content-type': 'text/plain', 'content-length': '6' };
  const groups = new Resources(org, 'group');
  await groups.create({ name: 'kept' });
  const { status, body } = await org.api.raw<Refusal>('DELETE', groups.at('kept'), { headers, body: 'please' });

  expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
  expect((await groups.get('kept')).status).toBe(200);
});
