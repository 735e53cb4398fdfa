import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { affordable, type ConnectionLimits, Connections } from '../../src/http/server/connections.js';
import { systemClock } from '../../src/platform/clock.js';
import { systemIds } from '../../src/platform/ids.js';
import { Metrics } from '../../src/platform/metrics.js';
import { answersOn, openSocket, sendRaw } from '../hardening/raw-http.js';

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

describe('a server with bounded connections', () => {
  let server: Server | undefined;
  let sockets: Socket[] = [];
  let unanswered: ServerResponse[] = [];
  let metrics: Metrics;

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server?.closeAllConnections();
    server?.close();
    sockets = [];
    unanswered = [];
  });

  /** It answers `/now` at once, and all else when the test does. */
  async function serve(limits: Partial<ConnectionLimits>): Promise<string> {
    metrics = new Metrics();
    server = createServer((asked: IncomingMessage, answer: ServerResponse) => {
      if (asked.url === '/now') answer.end();
      else unanswered.push(answer);
    });
    const all = { most: 100, mostPerAddress: 100, trustedProxies: [], ...limits };
    new Connections(server, all, metrics, pino({ level: 'silent' }), systemIds(systemClock), false);
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function ask(url: string, text: string): Promise<Socket> {
    const socket = await openSocket(url);
    sockets.push(socket);
    socket.write(text);
    return socket;
  }

  /** As many requests as given wait for their answers. */
  async function busy(url: string, count: number): Promise<void> {
    const before = unanswered.length;
    for (let n = 0; n < count; n += 1) await ask(url, GET);
    while (unanswered.length < before + count) await delay(5);
  }

  const statusOf = async (url: string) => (await sendRaw(url, GET.replace('/', '/now'), 1, 2_000)).answers[0]?.status;

  test('gives up the connection that rests the longest, and none that it works for', async () => {
    const url = await serve({ most: 3 });
    await busy(url, 1);
    const older = await ask(url, '');
    const younger = await ask(url, GET.replace('/', '/now'));
    await answersOn(younger, 1, 2_000);
    const closed: string[] = [];
    older.once('close', () => closed.push('older'));
    younger.once('close', () => closed.push('younger'));
    for (const socket of [older, younger]) socket.once('end', () => socket.destroy());
    expect(await statusOf(url)).toBe(200);
    while (closed.length === 0) await delay(5);
    expect(closed).toEqual(['older']);
    unanswered[0]?.end('late');
    expect((await answersOn(sockets[0] as Socket, 1, 2_000)).end).not.toBe('closed');
    expect(await metrics.exposition()).toContain('control_connections_cut_total{outcome="given_up",bound="all"} 1');
  });

  for (const [bound, limits, says] of [
    ['all', { most: 3 }, 'this process has as many connections'],
    ['address', { mostPerAddress: 3 }, 'your address has as many connections'],
  ] as const) {
    test(`refuses a connection with 503 while it works for as many as the bound of ${bound} allows`, async () => {
      const url = await serve(limits);
      await busy(url, 3);
      const { answers, end } = await sendRaw(url, '', 2, 2_000);
      expect(end).toBe('closed');
      expect(answers[0]?.status).toBe(503);
      expect(answers[0]?.headers.get('retry-after')).toBe('1');
      expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({
        code: 'too_many_connections',
        message: expect.stringContaining(says),
      });
      unanswered[0]?.end();
      sockets[0]?.destroy();
      while (!unanswered[0]?.destroyed) await delay(5);
      expect(await statusOf(url)).toBe(200);
    });
  }

  test('does not hold a trusted proxy to the bound of an address', async () => {
    const url = await serve({ mostPerAddress: 1, trustedProxies: ['127.0.0.0/8'] });
    await busy(url, 5);
    expect(await statusOf(url)).toBe(200);
  });

  test('counts each address by itself', async () => {
    const url = await serve({ mostPerAddress: 1 });
    await busy(url, 1);
    const status = await new Promise((resolve, reject) => {
      const asked = request(`${url}/now`, { localAddress: '127.0.0.2', agent: false });
      asked.once('response', (answer) => resolve(answer.resume().statusCode));
      asked.once('error', reject).end();
    });
    expect(status).toBe(200);
  });

  test('forgets what was closed', async () => {
    const url = await serve({ most: 50 });
    for (let n = 0; n < 50; n += 1) await ask(url, '');
    for (const socket of sockets) socket.resetAndDestroy();
    while (!(await metrics.exposition()).includes('control_open_connections 0')) await delay(5);
    const { port } = new URL(url);
    sockets = [connect({ host: '127.0.0.1', port: Number(port) })];
    while (!(await metrics.exposition()).includes('control_open_connections 1')) await delay(5);
  });
});

test.each([
  [10_000, 20_000, 10_000],
  [10_000, 1_024, 824],
  [500, 1_024, 500],
  [10_000, 100, 50],
])('of %d wanted connections with %d descriptors allows %d', (wanted, descriptors, allowed) => {
  expect(affordable(wanted, descriptors)).toBe(allowed);
});
