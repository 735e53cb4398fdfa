/**
 * Memory and CPU of the service under a mixed load over minutes: sync and async publishes, bulk, reads by id and by
 * list, refused requests. Run after a build: `node test/bench/soak.ts [minutes]`, ten if not given. Prints one JSON line
 * a figure, and fails where memory or the CPU of a request grew.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MINUTES = Number(process.argv[2] ?? 10);
const CONNECTIONS = 16;
const SAMPLE_MS = 5_000;

interface Sample {
  readonly requests: number;
  readonly cpuTicks: number;
  readonly memoryKiB: number;
}

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'control-service-soak-'));
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const lines = readFileSync(join(root, 'demo/events.ndjson'), 'utf8').trimEnd().split('\n');
const events = lines.map((line) => JSON.stringify(JSON.parse(line).event));
let requests = 0;

function call(
  url: string,
  key: string,
  method: string,
  path: string,
  body = '',
): Promise<{ status: number; text: string }> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { agent, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => {
        requests += 1;
        resolve({ status: answer.statusCode ?? 0, text });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** One client's round; each step's answer is checked, so that a service that fails is not taken for a quick one. */
async function round(url: string, key: string, step: number): Promise<void> {
  const event = events[step % events.length] ?? '';
  const publish = '/audit/org/soak/auditctx/load';
  const expectStatus = async (status: number, ...args: [method: string, path: string, body?: string]) => {
    const answer = await call(url, key, ...args);
    if (answer.status !== status) throw new Error(`${args[0]} ${args[1]} answered ${answer.status}: ${answer.text}`);
    return answer.text;
  };
  const { id } = JSON.parse(await expectStatus(201, 'POST', publish, event));
  await expectStatus(202, 'POST', `${publish}?async=true`, event);
  await expectStatus(200, 'GET', `/audit/org/soak/id/${id}`);
  const name = encodeURIComponent(JSON.parse(event).resource.name ?? 'none');
  await expectStatus(200, 'GET', `/audit/org/soak/resource/name/${name}?pageSize=20`);
  await expectStatus(400, 'POST', publish, '{"resource":{}}');
  if (step % 20 === 0) await expectStatus(200, 'POST', `${publish}/-bulk`, `[${events.slice(0, 50).join(',')}]`);
}

function sample(pid: number): Sample {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const memory = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { requests, cpuTicks: Number(stat[11]) + Number(stat[12]), memoryKiB: Number(memory) };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The last third over the second: the first is for warming up. */
function growth(values: readonly number[]): number {
  const third = Math.floor(values.length / 3);
  return median(values.slice(-third)) / median(values.slice(third, 2 * third));
}

const service = spawn(process.execPath, [join(root, 'dist/main.js')], {
  env: {
    ...process.env,
    CONTROL_DATA_DIR: folder,
    CONTROL_PORT: '0',
    CONTROL_ROOT_KEY: 'soak-root-key-that-opens-nothing-else',
  },
  stdio: ['ignore', 'pipe', 'ignore'],
});
const url = await new Promise<string>((resolve, reject) => {
  service.on('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  service.stdout.setEncoding('utf8').on('data', (text: string) => {
    const found = /"url":"(http[^"]+)"/.exec(text)?.[1];
    if (found) resolve(found);
  });
});
try {
  const { key } = JSON.parse(
    (await call(url, 'soak-root-key-that-opens-nothing-else', 'POST', '/org', '{"name":"soak"}')).text,
  );
  const end = Date.now() + MINUTES * 60_000;
  const samples: Sample[] = [];
  const sampler = setInterval(() => samples.push(sample(service.pid ?? 0)), SAMPLE_MS);
  const clients = Array.from({ length: CONNECTIONS }, async (_, client) => {
    for (let step = client; Date.now() < end; step += CONNECTIONS) await round(url, key, step);
  });
  await Promise.all(clients);
  clearInterval(sampler);
  const cpu = samples.slice(1).map(({ requests: now, cpuTicks }, index) => {
    const before = samples[index];
    return before ? (cpuTicks - before.cpuTicks) / (now - before.requests) : Number.NaN;
  });
  const figures = [
    {
      figure: `memory over ${MINUTES} minutes, last third over second`,
      value: growth(samples.map(({ memoryKiB }) => memoryKiB)),
      bar: 1.15,
    },
    { figure: `CPU a request over ${MINUTES} minutes, last third over second`, value: growth(cpu), bar: 1.25 },
  ];
  for (const { figure, value, bar } of figures) {
    const ok = value <= bar;
    process.stdout.write(`${JSON.stringify({ figure, value: Number(value.toFixed(3)), bar, ok, requests })}\n`);
    if (!ok) process.exitCode = 1;
  }
} finally {
  service.removeAllListeners('exit');
  const ended = new Promise((resolve) => service.on('exit', resolve));
  service.kill('SIGTERM');
  await ended;
  agent.destroy();
  rmSync(folder, { recursive: true, force: true });
}
