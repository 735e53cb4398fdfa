import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { FULL, tell } from '../hardening/scale.js';
import { type Event, type EventPage, newOrg } from '../support/api.js';
import { type Certificate, selfSigned } from '../support/certificate.js';
import { startService, type TestService } from '../support/service.js';
import { withTool } from '../support/tools.js';
import { Programs } from './programs.js';

const REQUESTS = 1_000;
const LOST_EACH = 10;

let service: TestService;
let programs: Programs;
let proxy: Server;
let certificate: Certificate;
let answers = 0;
let lost = 0;

/** Over TLS, without which the API server sends no key. Forwards every request, and loses every 10th answer: the service has recorded it, and the sender does not know. */
function losingProxy({ cert, key }: Certificate): Server {
  return createServer({ cert, key }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const headers = { authorization, 'content-type': type };
    const answer = await fetch(`${service.url}${request.url}`, {
      method: 'POST',
      headers,
      body: Buffer.concat(chunks),
    });
    const body = await answer.text();
    answers += 1;
    if (answers % LOST_EACH === 0) {
      lost += 1;
      response.destroy();
    } else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
  });
}

// Its modules take some 85 s of CPU to build, so only a full run has it.
(FULL ? withTool('go', 'version') : describe.skip)('the webhook backend of the Kubernetes API server', () => {
  beforeAll(async () => {
    programs = new Programs('webhook', '.');
    service = await startService();
    certificate = selfSigned(programs.folder);
    proxy = losingProxy(certificate).listen(0, '127.0.0.1');
  }, 600_000);

  afterAll(async () => {
    programs?.remove();
    proxy?.close();
    await service?.remove();
  });

  test('records each auditID and stage once, though every 10th answer is lost', async () => {
    const org = await newOrg(service);
    const { port } = proxy.address() as AddressInfo;
    const server = `https://127.0.0.1:${port}${org.audit}/auditctx/cluster/-ingest`;
    const config = join(programs.folder, 'kubeconfig');
    writeFileSync(config, kubeConfig(server, org.key));
    const { code, out } = await programs.run('webhook', '', config, String(REQUESTS));
    expect([code, out]).toEqual([0, '']);

    const recorded = await all(org);
    const seen = recorded.map(({ resource }) => `${resource.data?.auditID} ${resource.data?.stage}`);
    tell(`the webhook backend sent ${2 * REQUESTS} events, ${lost} of ${answers} answers were lost`);
    expect(lost).toBeGreaterThan(0);
    expect([seen.length, new Set(seen).size]).toEqual([2 * REQUESTS, 2 * REQUESTS]);
    expect(recorded.filter(({ resource }) => resource.type !== 'secrets')).toEqual([]);
  });
});

async function all(org: Awaited<ReturnType<typeof newOrg>>): Promise<Event[]> {
  const events: Event[] = [];
  let path: string | undefined = `${org.audit}?contextName=cluster&pageSize=1000`;
  while (path !== undefined) {
    const { items, links }: EventPage = (await org.api.get<EventPage>(path)).body;
    events.push(...items);
    path = links.find(({ rel }) => rel === 'next')?.href;
  }
  return events;
}

function kubeConfig(server: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'audit', cluster: { server, 'certificate-authority': certificate.certFile } }],
    users: [{ name: 'audit', user: { token } }],
    contexts: [{ name: 'audit', context: { cluster: 'audit', user: 'audit' } }],
    'current-context': 'audit',
  });
}
