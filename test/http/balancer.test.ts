import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

let target: Server;
let balancer: ChildProcess | undefined;
let seen: IncomingHttpHeaders[] = [];

const listening = (server: Server) =>
  new Promise<number>((done) => server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port)));

beforeAll(async () => {
  target = createServer((asked, answer) => {
    seen.push(asked.headers);
    answer.end();
  });
  const port = await listening(target);
  const probe = createServer();
  const own = await listening(probe);
  await new Promise((done) => probe.close(done));
  balancer = spawn(process.execPath, [resolve('infra/balancer.mjs')], {
    env: { BALANCER_TARGETS: `http://127.0.0.1:${port}`, BALANCER_PORT: String(own) },
    stdio: 'inherit',
  });
  url = `http://127.0.0.1:${own}`;
  while (!(await accepts(own))) await delay(20);
});
afterAll(() => {
  balancer?.kill();
  target.closeAllConnections();
  target.close();
});

let url = '';

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });
}

test('the balancer says itself who called, whatever the caller says', async () => {
  seen = [];
  const claims = {
    'x-forwarded-for': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
    'x-real-ip': '203.0.113.9',
    'x-forwarded-host': 'elsewhere',
    'x-forwarded-proto': 'https',
  };
  const { status } = await fetch(url, { headers: { ...claims, 'x-request-id': 'kept' } });
  expect(status).toBe(200);
  const [headers = {}] = seen;
  expect(headers['x-forwarded-for']).toMatch(/^(::ffff:)?127\.0\.0\.1$/);
  expect(JSON.stringify(headers)).not.toMatch(/203\.0\.113\.9|elsewhere/);
  expect(headers['x-forwarded-proto']).toBeUndefined();
  expect(headers['x-request-id']).toBe('kept');
});
