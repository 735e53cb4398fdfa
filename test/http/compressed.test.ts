import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;
let id = '';

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  const data = { text: 'x'.repeat(3_000) };
  const items = Array.from({ length: 1_000 }, (_, n) => ({ resource: { name: `n${n}`, data } }));
  const { body } = await org.bulk(items);
  id = body.items[0]?.id ?? '';
});

afterAll(() => service.remove());

interface Raw {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

/** As `fetch` does not: with the bytes as they travel. */
function get(path: string, encoding: string | undefined, method = 'GET'): Promise<Raw> {
  const headers = {
    authorization: `Bearer ${org.key}`,
    ...(encoding !== undefined && { 'accept-encoding': encoding }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(service.url + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

const event = () => `${org.audit}/id/${id}`;
const small = () => `/org/${org.name}`;

test.each(['gzip', 'gzip, deflate, br', 'GZIP;q=0.5', '*', 'br, *;q=0.1', 'x-gzip', 'identity;q=0.5, gzip;q=1'])(
  'an event is sent as gzip to a client that accepts %s',
  async (encoding) => {
    const plain = await get(event(), undefined);
    const { status, headers, bytes } = await get(event(), encoding);
    expect([status, headers['content-encoding'], headers['vary']]).toEqual([200, 'gzip', 'accept-encoding']);
    expect(headers['content-length']).toBe(String(bytes.byteLength));
    expect(bytes.byteLength).toBeLessThan(plain.bytes.byteLength / 2);
    expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true);
  },
);

test.each([undefined, '', 'identity', 'br', 'gzip;q=0', '*;q=0', 'gzip;q=0.5, identity', 'gzip;q=no'])(
  'an event is sent as it is to a client that accepts %p',
  async (encoding) => {
    const { headers, bytes } = await get(event(), encoding);
    expect([headers['content-encoding'], headers['vary']]).toEqual([undefined, 'accept-encoding']);
    expect(JSON.parse(bytes.toString()).item.id).toBe(id);
  },
);

test.each<[string, () => string]>([
  ['an export', () => `${org.audit}/-export?contextName=app`],
  ['a list that is streamed', () => `${org.audit}?contextName=app&pageSize=1000`],
  ['a list that is sent at once', () => `${org.audit}?contextName=app&pageSize=10`],
  ['the description of the API', () => '/openapi.json'],
  ['metrics', () => '/metrics'],
])('%s is compressed, and is the same', async (_what, path) => {
  const plain = await get(path(), undefined);
  const { status, headers, bytes } = await get(path(), 'gzip');
  expect([status, headers['content-encoding']]).toEqual([200, 'gzip']);
  expect(bytes.byteLength).toBeLessThan(plain.bytes.byteLength / 2);
  const same = (text: Buffer) =>
    text
      .toString()
      .replace(/"cursor":"[^"]*"/, '')
      .replaceAll(/ [0-9.e-]+\n/g, '\n');
  expect(same(gunzipSync(bytes)).slice(0, 10_000)).toBe(same(plain.bytes).slice(0, 10_000));
  if (path() !== '/metrics') expect(same(gunzipSync(bytes))).toBe(same(plain.bytes));
});

test('what is small, what has an entity tag, what is no text and what has no body is sent as it is', async () => {
  const tags = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`tag-${n}`, 'x'.repeat(200)]));
  await org.api.post(`/org/${org.name}/group`, { name: 'large', tags });
  const tagged = await get(`/org/${org.name}/group/large`, 'gzip');
  expect(tagged.bytes.byteLength).toBeGreaterThan(8_000);
  for (const { headers } of [tagged, await get(small(), 'gzip'), await get(event(), 'gzip', 'HEAD')]) {
    expect(headers['content-encoding']).toBeUndefined();
  }
});

test('a long error is compressed, too', async () => {
  const { status, headers, bytes } = await get(
    `${org.audit}?${Array.from({ length: 90 }, (_, n) => `p${n}=1`).join('&')}`,
    'gzip',
  );
  expect([status, headers['content-encoding']]).toEqual([400, 'gzip']);
  expect(JSON.parse(gunzipSync(bytes).toString()).code).toBe('validation_failed');
});

test('a client that goes away while an export is compressed leaves nothing behind', async () => {
  await new Promise<void>((resolve) => {
    const sent = request(
      `${service.url}${org.audit}/-export`,
      { headers: { authorization: `Bearer ${org.key}`, 'accept-encoding': 'gzip' } },
      (response) => {
        response.once('data', () => {
          response.destroy();
          resolve();
        });
      },
    );
    sent.end();
  });
  // The slots of large reads are free again: more reads than an organization has slots are answered.
  const answers = await Promise.all(Array.from({ length: 20 }, () => get(`${org.audit}?pageSize=100`, 'gzip')));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
});
