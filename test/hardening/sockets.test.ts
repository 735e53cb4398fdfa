import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, Org, type OrgBody } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { answersOn, notARefusal, openSocket, sendRaw } from './raw-http.js';
import { FULL, scaled, tell } from './scale.js';

const ROOT_KEY = 'root-key-of-the-sockets-test-0123456789';
/** Generous: it is to tell a service that answers from one that is stuck, also on a slow machine. */
const SLOWEST_MS = 1_000 * PATIENCE;
/** The service gives a request 30 s to arrive; Node looks for late ones every 30 s. */
const CUT_OFF_MS = 70_000;

let dataDir: string;
let child: ServiceProcess;
let url: string;
let org: Org;
let open: Socket[] = [];

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'control-sockets-'));
  child = spawnService(compiledMain(), dataDir, { CONTROL_ROOT_KEY: ROOT_KEY });
  url = await child.listening;
  const { body } = await new Api(url, ROOT_KEY).post<OrgBody>('/org', { name: 'acme' });
  org = new Org(url, 'acme', body.key);
  await p99(50);
});

afterEach(() => {
  for (const socket of open) socket.destroy();
  open = [];
});

afterAll(async () => {
  await child?.end('SIGTERM');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

async function opened(): Promise<Socket> {
  const socket = await openSocket(url);
  open.push(socket);
  return socket;
}

function head(body: string, length = Buffer.byteLength(body)): string {
  const lines = ['POST /audit/org/acme/auditctx/app HTTP/1.1', 'host: x', `authorization: Bearer ${org.key}`];
  return `${[...lines, 'content-type: application/json', `content-length: ${length}`].join('\r\n')}\r\n\r\n`;
}

function eventText(name: string): string {
  return JSON.stringify({ resource: { name } });
}

function request(name: string): string {
  return head(eventText(name)) + eventText(name);
}

/** The 99th percentile of so many publishes, one after the other, in milliseconds. */
async function p99(publishes = 200): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < publishes; n += 1) {
    const began = performance.now();
    const { status } = await org.publish({ resource: { name: 'timed' } });
    times.push(performance.now() - began);
    expect(status).toBe(201);
  }
  return times.sort((a, b) => a - b)[Math.floor(publishes * 0.99)] ?? 0;
}

async function found(name: string): Promise<number> {
  return (await org.named(name)).body.items.length;
}

test('500 idle connections leave it as quick as it was', async () => {
  const before = await p99();
  await Promise.all(Array.from({ length: 500 }, opened));
  const during = await p99();
  tell(`p99 of 200 publishes: ${before.toFixed(1)} ms, with 500 idle connections ${during.toFixed(1)} ms`);
  expect(during).toBeLessThan(Math.max(SLOWEST_MS, before * 10));
});

test('100 clients that send a byte at a time do not hold up others', async () => {
  const slow = await Promise.all(Array.from({ length: 100 }, opened));
  const text = request('slow');
  let at = 0;
  const timer = setInterval(() => {
    for (const socket of slow) socket.write(text.slice(at, at + 1));
    at += 1;
  }, 20);
  const during = await p99(100);
  clearInterval(timer);
  tell(`p99 of 100 publishes with 100 slow clients: ${during.toFixed(1)} ms`);
  expect(at).toBeGreaterThan(5);
  expect(during).toBeLessThan(SLOWEST_MS);
});

test('a body that comes a byte at a time is taken when it comes in time', async () => {
  const socket = await opened();
  socket.write(head(eventText('in bytes')));
  for (const byte of eventText('in bytes')) {
    socket.write(byte);
    await delay(2);
  }
  const { answers } = await answersOn(socket, 1, 5_000);
  expect(answers[0]?.status).toBe(201);
  expect(await found('in bytes')).toBe(1);
});

/** Waits for the service's own time limits, so for a full run only. */
const slowly = FULL ? test : test.skip;

slowly(
  'headers that never end and a body that never comes whole are cut off with 408 and the Error body',
  async () => {
    const [headers, body] = [await opened(), await opened()];
    headers.write('POST /audit/org/acme/auditctx/app HTTP/1.1\r\nhost: x\r\n');
    body.write(`${head(eventText('late'))}{`);
    const trickle = setInterval(() => {
      headers.write('x: y\r\n');
      body.write(' ');
    }, 3_000);
    const ends = await Promise.all([answersOn(headers, 2, CUT_OFF_MS), answersOn(body, 2, CUT_OFF_MS)]);
    clearInterval(trickle);
    tell(`cut off after ${ends.map(({ ms }) => `${Math.round(ms / 1000)} s`).join(' and ')}`);
    for (const { answers, end } of ends) {
      expect(end).toBe('closed');
      expect(answers.map(({ status }) => status)).toEqual([408]);
      expect(answers.map(notARefusal)).toEqual([undefined]);
    }
  },
  CUT_OFF_MS + 10_000,
);

test('a client that closes its own side after a whole request is answered all the same', async () => {
  const socket = await opened();
  socket.end(request('half-closed'));
  const { answers } = await answersOn(socket, 1, 5_000);
  expect(answers[0]?.status).toBe(201);
});

test('a client that closes its side within a request records nothing, and its connection is given up', async () => {
  const socket = await opened();
  socket.end(request('cut short').slice(0, -3));
  const { answers, end } = await answersOn(socket, 2, 5_000);
  expect(end).toBe('closed');
  expect(answers.filter(({ status }) => status < 400)).toEqual([]);
  expect(await found('cut short')).toBe(0);
});

test('connections reset at every stage of a request do no harm', async () => {
  const text = request('reset');
  for (let n = 0; n < scaled(60, 1_000); n += 1) {
    const socket = await opened();
    socket.write(text.slice(0, Math.floor((text.length * n) / 59) % (text.length + 1)));
    await delay(n % 4);
    socket.resetAndDestroy();
  }
  expect((await org.publish({ resource: { name: 'after resets' } })).status).toBe(201);
});

test('pipelined requests are each answered once, in order', async () => {
  const socket = await opened();
  const names = Array.from({ length: 40 }, (_, n) => `pipelined-${n}`);
  socket.write(names.map(request).join(''));
  const { answers } = await answersOn(socket, names.length, 10_000);
  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
  for (const [index, { text }] of answers.entries()) {
    const { body } = await org.event(JSON.parse(text).id);
    expect(body.item.resource.name).toBe(names[index]);
  }
});

test('a faulty request in a pipeline takes nothing from the one before it', async () => {
  const { answers } = await sendRaw(url, `${request('before the fault')}NOT HTTP AT ALL\r\n\r\n`, 2, 5_000);
  expect(answers.map(({ status }) => status)).toEqual([201, 400]);
  expect(answers.slice(1).map(notARefusal)).toEqual([undefined]);
});

test('clients that do not read their answers do not hold up others', async () => {
  const big = { resource: { name: 'big', data: { fill: 'x'.repeat(200_000) } } };
  for (let n = 0; n < 20; n += 1) await org.publish(big);
  const list = `GET /audit/org/acme/resource/name/big HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${org.key}\r\n\r\n`;
  for (let n = 0; n < 10; n += 1) {
    const socket = await opened();
    socket.pause();
    socket.write(list.repeat(3));
  }
  const during = await p99(100);
  tell(`p99 of 100 publishes with 10 clients that do not read: ${during.toFixed(1)} ms`);
  expect(during).toBeLessThan(SLOWEST_MS);
});
