import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Api, newOrg, type Org } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

const EVENTS = 180;
const EVENT_CHARACTERS = 230_000;
const A_BULK = 30;
/** More than the sockets of a loopback connection hold, and less than half of the export. */
const HELD_BYTES = 18_000_000;
const READER = { policy: 'reader', account: 'reader' };

let service: TestService;
let org: Org;
let admin: Api;
const lines: string[] = [];

beforeAll(async () => {
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  service = await startService({ logger, env: { CONTROL_READS_PER_ORG: '1' } });
  org = await newOrg(service);
  admin = org.api;
  const resource = { name: 'large', data: { text: 'x'.repeat(EVENT_CHARACTERS) } };
  for (const context of ['one', 'two']) {
    for (let sent = 0; sent < EVENTS / 2; sent += A_BULK) {
      await org.bulk(
        Array.from({ length: A_BULK }, () => ({ resource })),
        { context },
      );
    }
  }
});

afterAll(() => service?.remove());

const link = (kind: string, name: string) => `/org/${org.name}/${kind}/${name}`;

async function reader(): Promise<Api> {
  await admin.send('DELETE', link('policy', READER.policy));
  await admin.send('DELETE', link('serviceaccount', READER.account));
  await admin.post(`/org/${org.name}/serviceaccount`, { name: READER.account });
  const { body } = await admin.post<{ key: string }>(`${link('serviceaccount', READER.account)}/-addKey`, {
    description: 'x',
  });
  await admin.post(`/org/${org.name}/policy`, {
    name: READER.policy,
    targetKind: 'auditctx',
    targetLinks: [link('auditctx', 'one'), link('auditctx', 'two')],
    bindings: [{ permissions: ['readAudit'], principalLinks: [link('serviceaccount', READER.account)] }],
  });
  return new Api(service.url, body.key);
}

function policyOn(...contexts: string[]): Promise<unknown> {
  const targetLinks = contexts.map((name) => link('auditctx', name));
  const json = { 'content-type': 'application/json' };
  return admin.send('PATCH', link('policy', READER.policy), JSON.stringify({ targetLinks }), json);
}

/** An export of which the client takes nothing for now. */
async function begun(by: Api): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${by.key}` };
    get(`${service.url}${org.audit}/-export`, { headers, agent: false }, resolve).on('error', reject);
  });
  expect(response.statusCode).toBe(200);
  response.on('error', () => undefined);
  await delay(300);
  return response;
}

/** Begins an export, waits for `meanwhile`, and takes all that comes. */
async function exported(by: Api, meanwhile: () => Promise<unknown>): Promise<{ bytes: number; end: string }> {
  const response = await begun(by);
  await meanwhile();
  let bytes = 0;
  let end = '';
  const done = new Promise<void>((resolve) => response.once('close', resolve));
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    end = (end + chunk.toString('latin1')).slice(-300);
  });
  await Promise.race([done, delay(60_000 * PATIENCE)]);
  return { bytes, end };
}

const ALL_BYTES = EVENTS * EVENT_CHARACTERS;

test('a whole export ends with its last line, whatever others lose meanwhile', async () => {
  const by = await reader();
  await admin.post(`/org/${org.name}/serviceaccount`, { name: 'other' });
  const { bytes, end } = await exported(by, () => admin.send('DELETE', link('serviceaccount', 'other')));
  expect(bytes).toBeGreaterThan(ALL_BYTES);
  expect(end).toContain('"kind":"exportend"');
});

test.each([
  [
    'the key of the caller is revoked',
    'unauthenticated',
    () => admin.send('DELETE', link('serviceaccount', READER.account)),
  ],
  ['the caller may read nothing any more', 'forbidden', () => policyOn()],
  ['the caller may read one context less', 'forbidden', () => policyOn('one')],
])('is cut without the last line when %s', async (_when, code, revoke) => {
  const by = await reader();
  const { bytes, end } = await exported(by, revoke);
  expect(end).not.toContain('exportend');
  expect(bytes).toBeLessThan(HELD_BYTES);
  const logged = lines
    .map((line) => JSON.parse(line))
    .findLast(({ msg }) => String(msg).includes('not given to its end'));
  expect(logged).toMatchObject({ level: 40, code, principal: link('serviceaccount', READER.account) });
});

test('a list that waited for its turn while the caller was revoked is refused', async () => {
  const by = await reader();
  // It has the only place of the organization.
  const response = await begun(admin);
  const listed = by.get(`${org.audit}?pageSize=1`);
  await delay(200);
  await admin.send('DELETE', link('serviceaccount', READER.account));
  response.destroy();
  expect((await listed).status).toBe(401);
});
