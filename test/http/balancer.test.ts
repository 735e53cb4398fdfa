import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Balancer, startBalancer } from '../support/balancer.js';

/** An instance of which only the balancer's side matters. */
interface Target {
  readonly url: string;
  readonly server: Server;
  readonly seen: IncomingHttpHeaders[];
  isReady: boolean;
  wasAskedAt: number;
}

const targets: Target[] = [];
let balancer: Balancer;
let url = '';

async function startTarget(): Promise<Target> {
  const server = createServer((asked, answer) => {
    if (asked.url === '/health/ready') {
      target.wasAskedAt = performance.now();
      answer.statusCode = target.isReady ? 200 : 503;
    } else {
      target.seen.push(asked.headers);
      answer.setHeader('connection', 'close');
    }
    answer.end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const target: Target = { url: `http://127.0.0.1:${port}`, server, seen: [], isReady: true, wasAskedAt: 0 };
  return target;
}

/** Resolves when the balancer has heard from every target what it is now. */
async function looked(): Promise<void> {
  const now = performance.now();
  while (!targets.every(({ wasAskedAt }) => wasAskedAt > now)) await delay(20);
  await fetch(url);
  for (const { seen } of targets) seen.length = 0;
}

beforeAll(async () => {
  targets.push(await startTarget(), await startTarget());
  balancer = await startBalancer(targets.map((target) => target.url));
  ({ url } = balancer);
});
beforeEach(async () => {
  for (const target of targets) target.isReady = true;
  await looked();
});
afterAll(async () => {
  await balancer.stop();
  for (const { server } of targets) {
    server.closeAllConnections();
    server.close();
  }
});

const requests = async (count: number) => {
  for (let n = 0; n < count; n += 1) expect((await fetch(url)).status).toBe(200);
  return targets.map(({ seen }) => seen.length);
};

test('the balancer says itself who called, whatever the caller says', async () => {
  const claims = {
    'x-forwarded-for': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
    'x-real-ip': '203.0.113.9',
    'x-forwarded-host': 'elsewhere',
    'x-forwarded-proto': 'https',
  };
  const { status } = await fetch(url, { headers: { ...claims, 'x-request-id': 'kept' } });
  expect(status).toBe(200);
  const [headers = {}] = targets.flatMap(({ seen }) => seen);
  expect(headers['x-forwarded-for']).toMatch(/^(::ffff:)?127\.0\.0\.1$/);
  expect(JSON.stringify(headers)).not.toMatch(/203\.0\.113\.9|elsewhere/);
  expect(headers['x-forwarded-proto']).toBeUndefined();
  expect(headers['x-request-id']).toBe('kept');
});

test('instances that are ready take turns', async () => {
  expect(await requests(10)).toEqual([5, 5]);
});

test('an instance that is not ready gets no request while another one is', async () => {
  Object.assign(targets[0] as Target, { isReady: false });
  await looked();
  expect(await requests(10)).toEqual([0, 10]);
});

test('if none is ready, any of them answers', async () => {
  for (const target of targets) target.isReady = false;
  await looked();
  expect(await requests(10)).toEqual([5, 5]);
});

test('the end of a connection to an instance is not passed on', async () => {
  expect((await fetch(url)).headers.get('connection')).not.toBe('close');
});
