import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, Org, type OrgBody } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { openSocket } from './raw-http.js';
import { scaled, Tally, tell } from './scale.js';

/** What each of the two organizations announces, a connection each: together all that there is for bodies. */
const ANNOUNCED = [7_000_000, 3_500_000, 1_200_000, 600_000, 300_000, 150_000, 75_000, 40_000, 20_000, 10_000, 5_000];
const PUBLISHES = scaled(40, 400);
/** The least that a process can have; 16 MiB of it are for bodies. */
const ENV = { ...TEST_SECRETS, CONTROL_MEMORY_MIB: '256' };

const dataDir = mkdtempSync(join(tmpdir(), 'control-slow-bodies-'));
let child: ServiceProcess;
let url: string;

beforeAll(async () => {
  child = spawnService(compiledMain(), dataDir, ENV);
  url = await child.listening;
});

afterAll(async () => {
  await child?.end('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

async function newOrg(name: string): Promise<Org> {
  const { body } = await new Api(url, TEST_SECRETS.CONTROL_ROOT_KEY).post<OrgBody>('/org', { name });
  return new Org(url, name, body.key);
}

/** Announces a bulk and sends it byte by byte; again when it is refused. */
async function dawdle(org: Org, announced: number, going: { on: boolean }, refused: Tally): Promise<void> {
  while (going.on) {
    const socket: Socket = await openSocket(url);
    let isOpen = true;
    socket.on('data', (answer) => refused.add(String(answer).slice(9, 12)));
    socket.on('error', () => undefined).on('close', () => (isOpen = false));
    const head = [
      `POST ${org.audit}/auditctx/default/-bulk HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${org.key}`,
      'content-type: application/json',
      `content-length: ${announced}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n[`);
    for (; isOpen && going.on; await delay(50)) socket.write(' ');
    socket.destroy();
  }
}

test('two organizations that send announced bodies byte by byte hold up neither an event nor a bulk of a third', async () => {
  const [one, two, third] = await Promise.all(['one', 'two', 'third'].map(newOrg));
  if (!(one && two && third)) throw new Error('an organization was not made');
  const going = { on: true };
  const refused = new Tally();
  const slow = [one, two].flatMap((org) => ANNOUNCED.map((bytes) => dawdle(org, bytes, going, refused)));
  await delay(500);
  const times: number[] = [];
  for (let n = 0; n < PUBLISHES; n += 1) {
    const began = performance.now();
    const { status } = await third.publish({ resource: { name: `r${n}`, data: { fill: 'x'.repeat(1_000) } } });
    times.push(performance.now() - began);
    expect([n, status]).toEqual([n, 201]);
  }
  const began = performance.now();
  const items = Array.from({ length: 100 }, (_, n) => ({
    resource: { name: `b${n}`, data: { fill: 'x'.repeat(1_000) } },
  }));
  expect((await third.bulk(items)).status).toBe(200);
  const bulkMs = performance.now() - began;
  going.on = false;
  await Promise.all(slow);
  const slowest = Math.max(...times);
  tell(
    `slow bodies: ${PUBLISHES} publishes, the slowest ${Math.round(slowest)} ms, a bulk ${Math.round(bulkMs)} ms; refused: ${refused}`,
  );
  expect(slowest).toBeLessThan(1_000 * PATIENCE);
  expect(bulkMs).toBeLessThan(6_000 * PATIENCE);
});
