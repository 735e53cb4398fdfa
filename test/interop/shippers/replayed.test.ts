import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { newOrg, type Org, withQuery } from '../../support/api.js';
import { startService, type TestService } from '../../support/service.js';

/**
 * Requests as programs send them that this machine cannot have: written from their sources, with the configurations of
 * `infra/shippers`. The request is what the program repeats when it loses the answer.
 */
interface Sent {
  readonly shipper: string;
  readonly headers: (key: string) => Record<string, string>;
  readonly body: string;
}

const basic = (user: string, key: string) => `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`;
const PLACE = { file: '/var/log/audit.log', host: 'web-1' };
const LINES = ['{"user":"ada","id":12345678901234567890}', 'plain ünïcode', 'plain ünïcode', ''];
const OFFSETS = [0, 41, 57, 73];

const VECTOR: Sent = {
  shipper: 'vector',
  headers: (key) => ({
    authorization: `Bearer ${key}`,
    'content-type': 'application/x-ndjson',
    'content-encoding': 'gzip',
    'user-agent': 'Vector/0.45.0 (x86_64-unknown-linux-gnu)',
  }),
  body: LINES.map((message, at) => {
    const { file, host } = PLACE;
    return `${JSON.stringify({ file, host, message, offset: OFFSETS[at], source_type: 'file' })}\n`;
  }).join(''),
};

const FLUENT_BIT: Sent = {
  shipper: 'fluent-bit',
  headers: (key) => ({
    authorization: basic('fluent-bit', key),
    'content-type': 'application/x-ndjson',
    'content-encoding': 'gzip',
    'user-agent': 'Fluent-Bit',
  }),
  // It escapes what is not ASCII.
  body: LINES.map((log, at) => {
    const { file, host } = PLACE;
    const json = JSON.stringify({ file, offset: OFFSETS[at], log, host });
    return `${json.replaceAll('ü', '\\u00fc').replaceAll('ï', '\\u00ef')}\n`;
  }).join(''),
};

const LOGSTASH: Sent = {
  shipper: 'logstash',
  headers: (key) => ({ authorization: basic('logstash', key), 'content-type': 'application/json' }),
  body: JSON.stringify(
    LINES.map((message, at) => ({
      message,
      '@version': '1',
      '@timestamp': '2026-05-01T08:00:00.123456789Z',
      id: `6f0c8a5e-0000-4000-8000-00000000000${at}`,
      log: { file: { path: PLACE.file } },
      host: { name: PLACE.host },
      event: { original: message },
    })),
  ),
};

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

async function settle(shipper: string): Promise<void> {
  const file = new URL(`../../../infra/shippers/${shipper}/context.json`, import.meta.url);
  const headers = { 'content-type': 'application/json' };
  const { status } = await org.api.send('PUT', `${org.audit}/auditctx/app`, readFileSync(file, 'utf8'), headers);
  expect([200, 201]).toContain(status);
}

async function send({ headers, body }: Sent): Promise<unknown> {
  const sent = headers(org.key);
  const packed = sent['content-encoding'] === 'gzip' ? gzipSync(body) : body;
  const url = `${service.url}${org.audit}/auditctx/app/-ingest`;
  const response = await fetch(url, { method: 'POST', headers: sent, body: packed });
  return { status: response.status, ...((await response.json()) as object) };
}

test.each([VECTOR, FLUENT_BIT, LOGSTASH])('records what $shipper sends, and nothing twice', async (sent) => {
  await settle(sent.shipper);
  const lines = LINES.length;
  const result = { status: 200, lines, unmapped: 0, firstUnmapped: [] };
  expect(await send(sent)).toMatchObject({ ...result, recorded: lines, repeated: 0 });
  expect(await send(sent)).toMatchObject({ ...result, recorded: 0, repeated: lines });
  const events = await org.walk(withQuery(org.audit, { contextName: 'app', order: 'received' }));
  const texts = events.map(({ resource: { data } }) => data?.['message'] ?? data?.['log']);
  expect(texts).toEqual(LINES);
});

test('records the list of the audit webhook of kube-apiserver, each stage once', async () => {
  await settle('kube-apiserver');
  const item = (auditID: string, stage: string) => ({
    ...{ level: 'Metadata', auditID, stage, requestURI: '/api/v1/namespaces/default/secrets/s', verb: 'get' },
    ...{ user: { username: 'ada' }, objectRef: { resource: 'secrets', namespace: 'default', name: 's' } },
    ...{ requestReceivedTimestamp: '2026-05-01T08:00:00.123456Z', stageTimestamp: '2026-05-01T08:00:00.223456Z' },
  });
  const items = [item('a', 'ResponseStarted'), item('a', 'ResponseComplete'), item('b', 'ResponseComplete')];
  const sent: Sent = {
    shipper: 'kube-apiserver',
    headers: (key) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' }),
    body: JSON.stringify({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items }),
  };
  expect(await send(sent)).toMatchObject({ status: 200, lines: 3, recorded: 3, unmapped: 0 });
  expect(await send(sent)).toMatchObject({ status: 200, lines: 3, recorded: 0, repeated: 3 });
});
