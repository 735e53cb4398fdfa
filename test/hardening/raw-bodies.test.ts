import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledMain, removeCompiled, type ServiceProcess, spawnService } from '../faults/process.js';
import { Api, type BulkResult, Org, type OrgBody } from '../support/api.js';
import { randomFor } from '../support/random.js';
import { type BadBody, badBody, type Target } from './bad-bodies.js';
import { answersOn, notAnErrorBody, notARefusal, openSocket, type RawAnswer } from './raw-http.js';
import { scaled, Tally, tell } from './scale.js';

const ROOT_KEY = 'root-key-of-the-raw-bodies-test-0123456789';
const TARGETS: readonly Target[] = ['publish', 'bulk array', 'bulk NDJSON', 'org'];
/** A connection on which a body is awaited that never comes is left after this. */
const PATIENCE_MS = 400;

let dataDir: string;
let child: ServiceProcess;
let url: string;
let org: Org;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'control-raw-'));
  child = spawnService(compiledMain(), dataDir, { CONTROL_ROOT_KEY: ROOT_KEY });
  url = await child.listening;
  const { body } = await new Api(url, ROOT_KEY).post<OrgBody>('/org', { name: 'acme' });
  org = new Org(url, 'acme', body.key);
});

afterAll(async () => {
  await child?.end('SIGTERM');
  rmSync(dataDir, { recursive: true, force: true });
  removeCompiled();
});

function requestOf({ body, headers, length = body.length }: BadBody, target: Target): Buffer {
  const path = target === 'org' ? '/org' : `/audit/org/acme/auditctx/app${target === 'publish' ? '' : '/-bulk'}`;
  const key = target === 'org' ? ROOT_KEY : org.key;
  const lines = Object.entries({ host: 'x', authorization: `Bearer ${key}`, ...headers, 'content-length': length });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n`), body]);
}

/** Why the answer to a bad body is not one, or undefined. */
function faultOf(bad: BadBody, target: Target, answer: RawAnswer | undefined): string | undefined {
  // More was promised than sent: nothing is to be answered before the rest comes.
  if (bad.name === 'a length beyond the body') return answer && notARefusal(answer);
  if (!answer) return 'no answer';
  if (answer.status !== 200 || !target.startsWith('bulk')) return notARefusal(answer);
  const result = JSON.parse(answer.text) as BulkResult;
  if (result.succeeded > 0 || result.items.length === 0) return `taken: ${answer.text.slice(0, 200)}`;
  for (const { status, error } of result.items) {
    const fault = status < 400 || status > 499 ? `item with ${status}` : notAnErrorBody(JSON.stringify(error), status);
    if (fault) return fault;
  }
  return undefined;
}

async function send(bad: BadBody, target: Target): Promise<string | undefined> {
  const socket = await openSocket(url);
  socket.write(requestOf(bad, target));
  const waits = bad.name === 'a length beyond the body';
  const { answers } = await answersOn(socket, 1, waits ? PATIENCE_MS / 4 : 10_000);
  socket.destroy();
  return faultOf(bad, target, answers[0]);
}

/** Sends so many bad bodies, a few at a time; what was answered wrongly, worded. */
async function fuzz(purpose: string, count: number, kinds = new Tally()): Promise<string[]> {
  const random = randomFor(purpose);
  const wrong: string[] = [];
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const target = random.pick(TARGETS);
      const bad = badBody(random, target);
      kinds.add(bad.name);
      const fault = await send(bad, target);
      if (fault) wrong.push(`${target}, ${bad.name}: ${fault}; sent ${bad.body.toString('latin1', 0, 120)}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return wrong;
}

test('every bad body is answered with a refusal in the Error body, never with a 5xx and never not at all', async () => {
  const kinds = new Tally();
  const count = scaled(2_000, 20_000);
  const wrong = await fuzz('raw bodies', count, kinds);
  tell(`${count} bad bodies: ${kinds}`);
  expect(wrong).toEqual([]);
}, 300_000);

test('a sound publish works after all of them, and none of them left an event', async () => {
  const before = await org.list({ contextName: 'app' });
  expect(before.body.items).toEqual([]);
  expect((await org.publish({ resource: { name: 'sound' } })).status).toBe(201);
});

const onLinux = process.platform === 'linux';
if (!onLinux) process.stderr.write('SKIPPED: the memory of another process is measured on Linux only\n');

(onLinux ? test : test.skip)(
  'the memory of the service does not grow with the bad bodies it refused',
  async () => {
    const pid = pidWith(`CONTROL_DATA_DIR=${dataDir}`);
    const round = scaled(300, 3_000);
    await fuzz('warm-up', round);
    const sizes = [residentMiB(pid)];
    for (let n = 1; n <= 4; n += 1) {
      await fuzz(`memory ${n}`, round);
      sizes.push(residentMiB(pid));
    }
    tell(`resident MiB after every ${round} bad bodies: ${sizes.join(', ')}`);
    expect(sizes[0]).toBeGreaterThan(20);
    expect((sizes.at(-1) ?? 0) - (sizes[0] ?? 0)).toBeLessThan(MOST_GROWTH_MIB);
  },
  300_000,
);

/** What garbage may lie about; a leak of the bodies alone would be more. */
const MOST_GROWTH_MIB = 64;

function pidWith(variable: string): number {
  for (const pid of readdirSync('/proc').map(Number)) {
    try {
      if (pid > 0 && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(variable)) return pid;
    } catch {
      // It ended meanwhile, or is another user's.
    }
  }
  throw new Error(`no process runs with ${variable}`);
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
