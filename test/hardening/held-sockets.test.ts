import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { PATIENCE } from '../support/patience.js';
import { answersOn, notARefusal, openSocket } from './raw-http.js';
import { scaled, tell } from './scale.js';

const ROOT_KEY = 'bG9uZy1lbm91Z2gtcm9vdC1rZXktb2YtYS10ZXN0';
const HELD = scaled(3_000, 5_000);
/** A probe that an orchestrator sends gives up after some seconds. */
const PROBE_MS = 3_000 * PATIENCE;
/** Headers have 10 s to come whole, and the service looks for late ones every 2 s. */
const RELEASED_MS = 20_000 * PATIENCE;

let dataDir: string;
let child: ServiceProcess | undefined;
let held: Socket[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'control-held-'));
});

afterEach(async () => {
  for (const socket of held) socket.destroy();
  held = [];
  await child?.end('SIGTERM');
  rmSync(dataDir, { recursive: true, force: true });
});

afterAll(removeCompiled);

function start(env: Readonly<Record<string, string>> = {}, descriptors?: number): ServiceProcess {
  child = spawnService(compiledMain(), dataDir, { CONTROL_ROOT_KEY: ROOT_KEY, ...env }, descriptors);
  return child;
}

function descriptorsOf({ pid }: ServiceProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Milliseconds until `/health/live` was answered over a connection of its own; rejects when it was not. */
function probe(url: string): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/health/live`, { agent: false, signal: AbortSignal.timeout(PROBE_MS) });
    asked.once('error', reject);
    asked.once('response', (answer) => {
      answer.resume();
      if (answer.statusCode === 200) resolve(performance.now() - began);
      else reject(new Error(`/health/live answered ${answer.statusCode}`));
    });
    asked.end();
  });
}

/** Asks all along; the times of the answers, and what went wrong. */
function probing(url: string): { count(): number; stop(): Promise<{ times: number[]; faults: string[] }> } {
  const times: number[] = [];
  const faults: string[] = [];
  let isOver = false;
  const loop = async () => {
    while (!isOver) {
      await probe(url).then(
        (ms) => times.push(ms),
        (error: Error) => faults.push(error.message),
      );
      await delay(20);
    }
  };
  const done = loop();
  return {
    count: () => times.length + faults.length,
    async stop() {
      isOver = true;
      await done;
      return { times: times.sort((a, b) => a - b), faults };
    },
  };
}

/** By turns: nothing at all, half of a head, and what is refused by a client that never closes its side. */
const KINDS = ['', 'POST /org HTTP/1.1\r\nhost: x\r\nx-half', 'NOT HTTP AT ALL\r\n\r\n'];

/** Connections whose clients never close; those that are refused are among them. */
async function hold(url: string, count: number, texts: readonly string[]): Promise<void> {
  for (let begun = 0; begun < count; begun += 100) {
    const some = Array.from({ length: Math.min(100, count - begun) }, async (_, n) => {
      const socket = await openSocket(url);
      held.push(socket);
      socket.resume();
      socket.write(texts[(begun + n) % texts.length] ?? '');
    });
    await Promise.all(some);
  }
}

async function waitFor(holds: () => boolean, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!holds() && performance.now() < end) await delay(50);
}

/** No bound for one address, so that this client stands for many. */
const ONE_FOR_MANY = { CONTROL_MAX_CONNECTIONS_PER_ADDRESS: '1000000' };

const SETTINGS = [
  { title: 'that hold all of them', env: ONE_FOR_MANY, most: HELD + 200, isReleased: true },
  { title: 'of one address', env: {}, most: 1_000 + 200 },
  { title: 'with 1,024 descriptors', env: ONE_FOR_MANY, descriptors: 1_024, most: 1_000 },
];

const onLinux = process.platform === 'linux';
if (!onLinux) process.stderr.write('SKIPPED: the descriptors of another process are counted on Linux only\n');

for (const { title, env, descriptors, most, isReleased } of SETTINGS) {
  (onLinux ? test : test.skip)(
    `answers /health/live while ${HELD} idle, half-sent and FIN-ignoring sockets are open, ${title}`,
    async () => {
      const service = start(env, descriptors);
      const url = await service.listening;
      const before = descriptorsOf(service);
      const probes = probing(url);
      await hold(url, HELD, KINDS);
      const during = descriptorsOf(service);
      const began = performance.now();
      if (isReleased) await waitFor(() => descriptorsOf(service) <= before + 5, RELEASED_MS);
      const after = `${descriptorsOf(service)} after ${((performance.now() - began) / 1000).toFixed(1)} s`;
      await waitFor(() => probes.count() > 50, RELEASED_MS);
      const { times, faults } = await probes.stop();
      const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
      tell(`${title}: ${times.length} probes, p99 ${p99.toFixed(1)} ms; descriptors ${before}, ${during}, ${after}`);
      expect(faults).toEqual([]);
      expect(times.length).toBeGreaterThan(50);
      expect(during).toBeGreaterThan(before + 100);
      expect(during).toBeLessThanOrEqual(most);
      if (isReleased) expect(descriptorsOf(service)).toBeLessThanOrEqual(before + 5);
    },
    120_000,
  );
}

const ACCEPT = 'POST /org/acme/invitation/none/-accept HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

for (const [what, text] of [
  ['half of a body', `${ACCEPT}content-length: 100\r\n\r\n{`],
  ['answers that are not read', 'GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20)],
] as const) {
  test(`gives up connections with ${what} when there are too many`, async () => {
    const url = await start({ CONTROL_MAX_CONNECTIONS: '20' }).listening;
    await hold(url, 19, [text]);
    for (const socket of held) socket.pause();
    await delay(200);
    await hold(url, 10, ['']);
    for (let n = 0; n < 5; n += 1) await probe(url);
  });
}

test('closes a connection within a second of its last answer, whatever the client does', async () => {
  const url = await start().listening;
  const socket = await openSocket(url);
  held.push(socket);
  socket.write('NOT HTTP AT ALL\r\n\r\n');
  const { answers } = await answersOn(socket, 1, 5_000);
  expect(answers.map(notARefusal)).toEqual([undefined]);
  const began = performance.now();
  // The service no longer has the connection when a byte sent to it is answered with a reset.
  const isClosed = new Promise<number>((resolve) => socket.once('close', () => resolve(performance.now() - began)));
  const nudge = setInterval(() => socket.write('x'), 50);
  const ms = await Promise.race([isClosed, delay(10_000, Number.POSITIVE_INFINITY, { ref: false })]);
  clearInterval(nudge);
  expect(ms).toBeLessThan(1_500 * PATIENCE);
});

test('closes a connection on which nothing was sent after some seconds', async () => {
  const url = await start().listening;
  const socket = await openSocket(url);
  held.push(socket);
  const { end, ms } = await answersOn(socket, 1, 20_000 * PATIENCE);
  expect(end).toBe('closed');
  expect(ms).toBeLessThan(9_000 * PATIENCE);
});
