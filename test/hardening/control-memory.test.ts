import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, type Json, type OrgBody } from '../support/api.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { FULL, scaled, tell } from './scale.js';

/** A cycle makes a resource and deletes it, with an Idempotency-Key for each request or with none. */
const CYCLES = scaled(1_500, 20_000);
const WARM_UP = scaled(200, 2_000);
const CLIENTS = 4;

/** Of one group: what is kept of each would soon be seen. Fewer bytes where there are more cycles. */
const TAG_BYTES = FULL ? 8_000 : 48_000;
const TAGS = Object.fromEntries(Array.from({ length: TAG_BYTES / 1_000 }, (_, n) => [`tag-${n}`, 'x'.repeat(1_000)]));

/** What an operator with little memory gives the process when it starts again. */
const LITTLE_MIB = FULL ? 192 : 96;

const PROBE = join(import.meta.dirname, 'heap-probe.ts');
const MIB = 2 ** 20;
const LONG = 30 * 60_000;

interface Memory {
  readonly heapUsed: number;
  readonly arrayBuffers: number;
}

const dataDir = mkdtempSync(join(tmpdir(), 'control-memory-'));
const heapFile = join(dataDir, 'heap.json');
let child: ServiceProcess;
let url: string;
let done = 0;
const clients: Api[] = [];

async function start(options = ''): Promise<void> {
  child = spawnService(compiledMain(), dataDir, {
    ...TEST_SECRETS,
    NODE_OPTIONS: `--import=${PROBE} ${options}`,
    HEAP_FILE: heapFile,
    CONTROL_LOG_LEVEL: 'info',
  });
  url = await child.listening;
}

async function memory(): Promise<Memory> {
  rmSync(heapFile, { force: true });
  child.kill('SIGUSR2');
  for (let tries = 0; !existsSync(heapFile); tries += 1) {
    if (tries > 1_000) throw new Error('the service does not tell its memory');
    await delay(20);
  }
  return JSON.parse(readFileSync(heapFile, 'utf8')) as Memory;
}

/** Odd cycles have a name of their own, the others one that is used again and again. */
async function cycle(client: number, n: number): Promise<void> {
  const api = clients[client] as Api;
  const name = n % 2 === 0 ? 'again' : `group-${n}`;
  const headers = (what: string): Record<string, string> =>
    n % 4 < 2 ? { 'idempotency-key': `${what} ${n} of ${client}` } : {};
  const made = await api.post<Json>(`/org/org-${client}/group`, { name, tags: TAGS }, headers('make'));
  expect(made.status).toBe(201);
  const gone = await api.send('DELETE', `/org/org-${client}/group/${name}`, undefined, headers('delete'));
  expect(gone.status).toBe(204);
}

async function cycles(until: number): Promise<void> {
  await Promise.all(
    clients.map(async (_, client) => {
      while (done < until) {
        done += 1;
        await cycle(client, done);
      }
    }),
  );
}

beforeAll(async () => {
  await start();
  const root = new Api(url, TEST_SECRETS.CONTROL_ROOT_KEY);
  for (let n = 0; n < CLIENTS; n += 1) {
    const { body } = await root.post<OrgBody>('/org', { name: `org-${n}` });
    clients.push(new Api(url, body.key));
  }
});

afterAll(async () => {
  await child?.end('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

const shown = ({ heapUsed, arrayBuffers }: Memory) =>
  `${(heapUsed / MIB).toFixed(1)} MiB of heap, ${(arrayBuffers / MIB).toFixed(1)} MiB of buffers`;

let early: Memory;

test(
  'making and deleting resources, with and without Idempotency-Keys, leaves the heap as it is',
  async () => {
    await cycles(WARM_UP);
    early = await memory();
    await cycles(CYCLES);
    const late = await memory();
    tell(`memory: after ${WARM_UP} cycles ${shown(early)}; after ${CYCLES} ${shown(late)}`);
    expect(late.heapUsed).toBeLessThan(early.heapUsed * 1.1);
    // The newest records are kept for who reads along: 16 MiB.
    expect(late.arrayBuffers).toBeLessThan(early.arrayBuffers + 16 * MIB + CYCLES * 200);
  },
  LONG,
);

test(
  'a process with little memory starts on the log, has no more heap, and still knows the retries',
  async () => {
    const [api] = clients as [Api];
    const create = (to: Api) =>
      to.post<Json>('/org/org-0/group', { name: 'last', tags: TAGS }, { 'idempotency-key': 'last' });
    const first = await create(api);
    await api.send('DELETE', '/org/org-0/group/last');
    expect((await child.end('SIGTERM')).code).toBe(0);
    // Not from a snapshot: what the fold keeps of the log is in question.
    rmSync(join(dataDir, 'control.snapshot'), { force: true });
    const began = performance.now();
    await start(`--max-old-space-size=${LITTLE_MIB}`);
    const seconds = (performance.now() - began) / 1_000;
    const again = await memory();
    tell(`restart: ${CYCLES} cycles in ${seconds.toFixed(1)} s with at most ${LITTLE_MIB} MiB; then ${shown(again)}`);
    expect(again.heapUsed).toBeLessThan(early.heapUsed * 1.1);
    const retried = await create(new Api(url, api.key));
    expect([retried.status, retried.body]).toEqual([201, first.body]);
    expect((await new Api(url, api.key).get('/org/org-0/group/last')).status).toBe(404);
  },
  LONG,
);
