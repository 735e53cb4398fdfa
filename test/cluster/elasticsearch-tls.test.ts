import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { withHandles } from '../contract/elasticsearch.harness.js';
import { settled } from '../contract/harness.js';
import { event, found, search, store } from '../contract/read-model.harness.js';
import { selfSigned } from '../support/certificate.js';
import { clusterSuite } from './support.js';

const PASSWORD = 'the secret of the user';
const API_KEY = 'dGhlIHNlY3JldDpvZiB0aGUga2V5';
const ACCEPTED = [`Basic ${Buffer.from(`robot:${PASSWORD}`).toString('base64')}`, `ApiKey ${API_KEY}`];

clusterSuite('Elasticsearch behind TLS, with credentials', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);
  const folder = mkdtempSync(join(tmpdir(), 'control-tls-'));
  let server: Server;
  let ca = '';
  let nodes: string[] = [];

  beforeAll(async () => {
    const { cert, key } = selfSigned(folder);
    ca = cert;
    server = createServer({ cert: ca, key }, (asked, answer) => guard(elasticsearchUrl, asked, answer));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    nodes = [`https://127.0.0.1:${(server.address() as AddressInfo).port}`];
  });
  afterAll(() => {
    server?.close();
    rmSync(folder, { recursive: true });
  });

  for (const [what, auth] of [
    ['a user and password', { username: 'robot', password: PASSWORD }],
    ['an API key', { apiKey: API_KEY }],
  ] as const) {
    it(`writes and reads with ${what}`, async (handles) => {
      const model = await handles.open({ nodes, ca, auth });
      await store(model, [event(1), event(2)]);

      expect(await found(model)).toEqual([1, 2]);
    });
  }

  for (const [what, auth, says] of [
    ['a wrong password', { username: 'robot', password: `${PASSWORD}!` }, 'does not accept the credentials'],
    ['a wrong API key', { apiKey: `${API_KEY}AA` }, 'does not accept the credentials'],
    ['no credentials', undefined, 'does not accept the credentials'],
  ] as const) {
    it(`says what is wrong with ${what}, and nothing of the secret`, async (handles) => {
      const lines: string[] = [];
      const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });

      const outcome = await settled(handles.open({ nodes, ca, auth, logger }));

      expect(outcome).toMatchObject({
        error: { code: 'read_model_unavailable', message: expect.stringContaining(says) },
      });
      logger.error({ err: (outcome as { error: unknown }).error }, 'not open');
      expectNoSecret(inspect(outcome, { depth: 20, showHidden: true }) + lines.join(''));
    });
  }

  it('does not trust a certificate of an authority that is not named', async (handles) => {
    const outcome = await settled(handles.open({ nodes, auth: { apiKey: API_KEY } }));

    expect(outcome).toMatchObject({
      error: { code: 'read_model_unavailable', message: expect.stringMatching(/certificate/) },
    });
    expectNoSecret(inspect(outcome, { depth: 20, showHidden: true }));
  });

  it('says nothing of documents, filters and credentials in the errors of a request that failed', async (handles) => {
    const model = await handles.open({ nodes, ca, auth: { apiKey: API_KEY } });
    await store(model, [event(1)]);
    const down = await new Promise<Server>((resolve) => server.close(() => resolve(server)).closeAllConnections());
    const secret = event(2, { source: '{"secret":"of the document"}', fields: { resourceName: 'secret name' } });
    const outcomes = [
      await settled(model.apply('audit', [secret], { 0: 3 })),
      await settled(search(model, { filters: [{ field: 'resourceName', op: '=', value: 'secret name' }] })),
    ];
    const { port } = new URL(nodes[0] ?? '');
    await new Promise<void>((resolve) => {
      down.listen(Number(port), '127.0.0.1', resolve);
    });

    for (const outcome of outcomes) {
      expect(outcome).toHaveProperty('error');
      const text = inspect(outcome, { depth: 20, showHidden: true });
      expectNoSecret(text);
      expect(text).not.toContain('of the document');
      expect(text).not.toContain('secret name');
    }
  });
});

function expectNoSecret(text: string): void {
  for (const secret of [PASSWORD, API_KEY, ...ACCEPTED.map((header) => header.split(' ')[1] ?? '')]) {
    expect(text).not.toContain(secret);
  }
}

/** Lets in who has the right credentials. */
function guard(target: string, asked: IncomingMessage, answer: ServerResponse): void {
  if (!ACCEPTED.includes(asked.headers.authorization ?? '')) {
    asked.resume();
    const error = { type: 'security_exception', reason: `unable to authenticate with ${asked.headers.authorization}` };
    answer.writeHead(401, { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' });
    answer.end(JSON.stringify({ error, status: 401 }));
    return;
  }
  const { authorization: _, host: __, ...headers } = asked.headers;
  const onward = request(new URL(asked.url ?? '/', target), { method: asked.method ?? 'GET', headers }, (found) => {
    answer.writeHead(found.statusCode ?? 502, found.headers);
    found.pipe(answer);
  });
  onward.on('error', () => answer.destroy());
  asked.pipe(onward);
}
