import { pino } from 'pino';
import { Api, newOrg, type Org, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';
import { scaled, tell } from './scale.js';

const LIMIT = 300;
const FLOOD = LIMIT + scaled(500, 19_700);

interface Line {
  readonly level: number;
  readonly addresses?: readonly Readonly<Record<'address' | 'keys' | 'codes' | 'throttled', unknown>>[];
  /** Of an invitation: there is no mail server. */
  readonly code?: string;
}

const WARN = 40;

let service: TestService;
let org: Org;
let now: number;
let lines: Line[];

beforeEach(async () => {
  now = Date.now();
  lines = [];
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
  service = await startService({ clock: { now: () => now }, logger, env: { CONTROL_TRUSTED_PROXIES: '127.0.0.1' } });
  org = await newOrg(service);
});

afterEach(() => service.remove());

const from = (address: string) => ({ 'x-forwarded-for': address });
const unknownKey = (n: number) => new Api(service.url, `svc_${String(n).padStart(43, 'x')}`);

/** Sends all, some at a time, and counts the answers by status. */
async function flood(count: number, send: (n: number) => Promise<{ readonly status: number }>) {
  const statuses = new Map<number, number>();
  let next = 0;
  const one = async () => {
    for (let n = next++; n < count; n = next++) {
      const { status } = await send(n);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 20 }, one));
  return Object.fromEntries(statuses);
}

async function guessesMetric(guessed: string, answer: string): Promise<number> {
  const { text } = await new Api(service.url).get('/metrics');
  const line = new RegExp(`^control_guesses_total\\{guessed="${guessed}",answer="${answer}"\\} (\\d+)$`, 'm');
  return Number(line.exec(text)?.[1] ?? 0);
}

test('a flood of unknown keys gets 429, and a valid key of the same address is served all the while', async () => {
  const served: number[] = [];
  const bad = flood(FLOOD, async (n) => {
    if (n % 10 === 0) served.push((await org.api.get(`/org/${org.name}`, from('192.0.2.1'))).status);
    return unknownKey(n).get(`/org/${org.name}`, from('192.0.2.1'));
  });
  expect(await bad).toEqual({ 401: LIMIT, 429: FLOOD - LIMIT });
  expect(new Set(served)).toEqual(new Set([200]));

  const { status, body, headers } = await unknownKey(0).get<Refusal>(`/org/${org.name}`, from('192.0.2.1'));
  expect([status, body.code]).toEqual([429, 'rate_limited']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
  const elsewhere = await unknownKey(0).get(`/org/${org.name}`, from('192.0.2.2'));
  const root = await new Api(service.url, service.rootKey).get('/-rebuild', from('192.0.2.1'));
  expect([elsewhere.status, root.status]).toEqual([401, 200]);
  tell(`guessing: ${FLOOD} unknown keys, ${LIMIT} x 401, ${served.length} requests with a valid key served`);
});

test('a key that was issued a moment ago works at a throttled address', async () => {
  await flood(LIMIT + 50, (n) => unknownKey(n).get(`/org/${org.name}`, from('192.0.2.1')));
  const path = `/org/${org.name}/serviceaccount/admin/-addKey`;
  const { body } = await org.api.post<{ readonly key: string }>(path, { description: 'new' }, from('192.0.2.1'));
  expect((await new Api(service.url, body.key).get(`/org/${org.name}`, from('192.0.2.1'))).status).toBe(200);
});

test('one warning a minute says how many came from which address', async () => {
  const addresses = () => lines.filter(({ level }) => level === WARN).map((line) => line.addresses);
  await flood(LIMIT + 20, (n) => unknownKey(n).get(`/org/${org.name}`, from('192.0.2.1')));
  await flood(7, (n) => unknownKey(n).get(`/org/${org.name}`, from(`2001:db8::${n}`)));
  expect(addresses()).toEqual([]);
  now += 60_000;
  expect((await unknownKey(0).get(`/org/${org.name}`, from('192.0.2.1'))).status).toBe(401);
  expect(addresses()).toEqual([
    [
      { address: '192.0.2.1', keys: LIMIT + 20, codes: 0, throttled: 20 },
      { address: '2001:db8:0:0::/64', keys: 7, codes: 0, throttled: 0 },
    ],
  ]);
  await service.stop();
  expect(addresses().slice(1)).toEqual([[{ address: '192.0.2.1', keys: 1, codes: 0, throttled: 0 }]]);
});

test.each([
  ['malformed', { authorization: `Bearer ${'x'.repeat(1_025)}` }],
  ['empty', { authorization: 'Bearer ' }],
  ['unknown', { authorization: 'Bearer svc_unknown' }],
])('a key that is %s counts', async (_what, headers) => {
  await new Api(service.url).get(`/org/${org.name}`, headers);
  expect(await guessesMetric('key', 'refused')).toBe(1);
});

test('an expired key counts, no key at all does not', async () => {
  const path = `/org/${org.name}/serviceaccount/admin/-addKey`;
  const expires = new Date(now + 1_000).toISOString();
  const { body } = await org.api.post<{ readonly key: string }>(path, { description: 'short', expires });
  now += 2_000;
  await new Api(service.url, body.key).get(`/org/${org.name}`);
  await new Api(service.url).get(`/org/${org.name}`);
  expect(await guessesMetric('key', 'refused')).toBe(1);
});

test('wrong codes of an invitation get 429 after ten a minute, whether it exists or not; the right one is taken', async () => {
  const emails = ['ann@example.com'];
  const { body } = await org.api.post<{ readonly invitations: Readonly<Record<string, string>> }>(
    `/org/${org.name}/user/-invite`,
    { emails },
  );
  const real = body.invitations['ann@example.com'] ?? '';
  const unreal = `/org/${org.name}/invitation/00000000-0000-7000-8000-000000000000`;
  const guesser = new Api(service.url);
  for (const path of [real, unreal]) {
    const send = (n: number) => guesser.post(`${path}/-accept`, { code: `wrong-${n}`, name: 'Ann' });
    expect(await flood(30, send)).toEqual({ 404: 10, 429: 20 });
  }
  expect([await guessesMetric('code', 'refused'), await guessesMetric('code', 'throttled')]).toEqual([20, 40]);
  const code = lines.find((line) => line.code !== undefined)?.code;
  expect((await guesser.post(`${real}/-accept`, { code, name: 'Ann' })).status).toBe(201);
});

test('0 switches the limit off', async () => {
  await service.remove();
  service = await startService({ env: { CONTROL_BAD_KEYS_PER_MINUTE: '0' } });
  expect(await flood(LIMIT + 50, (n) => unknownKey(n).get('/org/acme'))).toEqual({ 401: LIMIT + 50 });
});
