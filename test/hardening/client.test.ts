import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AuditClient, SpoolError } from '../../src/client/index.js';
import { at, newOrg, type Org } from '../support/api.js';
import { randomFor } from '../support/random.js';
import { startService, type TestService } from '../support/service.js';
import { canMountTmpfs, mountTmpfs } from '../support/tmpfs.js';
import { FULL, scaled, tell } from './scale.js';

const EVENTS = scaled(4_000, 200_000);
const KILLS = scaled(6, 50);
const OUTAGE_MS = scaled(1_000, 60_000);
const LOST_EVERY = 20;
const FIRST_LOST = 5;
const AT_ONCE = 50;
const CONTEXT = 'orders';

/** A proxy that forwards every request, and loses every 20th answer. */
async function startProxy() {
  const state = { upstream: '', answers: 0, lost: 0 };
  const server = createServer((asked, answer) => {
    const { method, url: path, headers } = asked;
    const { hostname, port } = new URL(state.upstream);
    const forwarded = request({ hostname, port, method, path, headers }, (given) => {
      state.answers += 1;
      if (state.answers % LOST_EVERY !== FIRST_LOST)
        return void given.pipe(answer.writeHead(given.statusCode ?? 0, given.headers));
      state.lost += 1;
      given.resume().on('end', () => answer.destroy());
    });
    forwarded.on('error', () => answer.destroy());
    asked.pipe(forwarded);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { state, url: `http://127.0.0.1:${port}`, close: () => server.close().closeAllConnections() };
}

let service: TestService;
let org: Org;
let folder: string;
let proxy: Awaited<ReturnType<typeof startProxy>>;

beforeAll(async () => {
  service = await startService();
  proxy = await startProxy();
});
beforeEach(async () => {
  proxy.state.upstream = service.url;
  org = await newOrg(service);
  folder = mkdtempSync(join(tmpdir(), 'client-crash-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
afterAll(async () => {
  proxy.close();
  await service.remove();
});

const options = (spool: string) => ({
  ...{ endpoint: proxy.url, key: org.key, org: org.name, context: CONTEXT },
  spool: { folder: spool },
});

/** How often each event is in a full export, by the caller's own identifier. */
async function exported(): Promise<Map<string, number>> {
  // It is recorded after all others, and searchable when the export begins.
  const reader = new AuditClient({ ...options(''), endpoint: service.url, spool: undefined });
  const { id } = await reader.publish({ resource: { name: 'last' } }, { wait: 'searchable' });
  await reader.close();
  const { text } = await at(service, org).api.get<never>(`${org.audit}/-export?contextName=${CONTEXT}`);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Exported);
  expect(lines.pop()).toMatchObject({ kind: 'exportend' });
  expect(lines.pop()).toMatchObject({ id });
  const counts = new Map<string, number>();
  for (const { resource } of lines) counts.set(resource.data.id, (counts.get(resource.data.id) ?? 0) + 1);
  return counts;
}

interface Exported {
  readonly resource: { readonly data: { readonly id: string } };
}

const twice = (counts: Map<string, number>) => [...counts].filter(([, count]) => count !== 1);

it('killed at any moment, with answers lost and the service down for a time: what was acknowledged is there, once', async () => {
  const random = randomFor('client killed');
  const notes = join(folder, 'acknowledged');
  const start = (run: string, count: number): ChildProcess =>
    spawn(process.execPath, [
      join(import.meta.dirname, 'recorder.mjs'),
      JSON.stringify({ options: options(join(folder, 'spool')), run, count, notes }),
    ]);
  const noted = () => (existsSync(notes) ? readFileSync(notes, 'utf8').trimEnd().split('\n').length : 0);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = start(`killed ${kill}`, EVENTS);
    const until = noted() + random.whole(1, Math.ceil(EVENTS / KILLS));
    while (noted() < until) await delay(random.whole(0, 5));
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  const last = start('last', Math.max(500, EVENTS - noted()));
  const output = (async () => (await last.stdout?.toArray())?.join('') ?? '')();
  const errors = (async () => (await last.stderr?.toArray())?.join('') ?? '')();
  await service.stop();
  await delay(OUTAGE_MS);
  service = await startService({ dataDir: service.dataDir });
  proxy.state.upstream = service.url;
  expect([(await once(last, 'close'))[0], await errors]).toEqual([0, '']);
  const loop = JSON.parse(await output) as { p50: number; p99: number; max: number };

  const acknowledged = new Set(readFileSync(notes, 'utf8').trimEnd().split('\n'));
  const counts = await exported();
  const more = [...counts.keys()].filter((id) => !acknowledged.has(id));
  const { answers, lost } = proxy.state;
  tell(
    `${acknowledged.size} events acknowledged over ${KILLS} kills, ${lost} of ${answers} answers lost, an outage of ` +
      `${OUTAGE_MS} ms: ${counts.size} recorded, ${more.length} of them in flight when killed; event loop p50 ` +
      `${loop.p50.toFixed(1)} ms, p99 ${loop.p99.toFixed(1)} ms`,
  );
  expect([...acknowledged].filter((id) => !counts.has(id))).toEqual([]);
  expect(twice(counts)).toEqual([]);
  // A record that was written and not acknowledged when the process was killed: its caller cannot know.
  expect(more.length).toBeLessThanOrEqual(KILLS * AT_ONCE);
  expect(more.filter((id) => !id.startsWith('killed'))).toEqual([]);
  if (FULL) expect(loop.p99).toBeLessThanOrEqual(10);
});

(canMountTmpfs() ? it : it.skip)('on a full disk: exactly what was acknowledged is there, once', async () => {
  const random = randomFor('client disk');
  const disk = join(folder, 'disk');
  execFileSync('mkdir', [disk]);
  mountTmpfs(disk, `size=${random.whole(1_000, 5_000)}k,mode=0700`);
  try {
    proxy.state.upstream = 'http://127.0.0.1:1';
    const client = new AuditClient(options(join(disk, 'spool')));
    const acknowledged = new Set<string>();
    const faults = new Set<string>();
    let [made, refused] = [0, 0];
    const fill = async () => {
      while (refused < scaled(40, 200)) {
        const id = `event ${made++}`;
        const data = { id, fill: 'x'.repeat(random.whole(1, random.pick([100, 5_000, 100_000]))) };
        await client.record({ resource: { name: 'a', data } }).then(
          () => acknowledged.add(id),
          (error: SpoolError) => {
            refused += 1;
            faults.add(error.fault);
          },
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, fill));
    await client.close({ flushMs: 0 });
    proxy.state.upstream = service.url;
    const next = new AuditClient(options(join(disk, 'spool')));
    await next.flush();
    await next.record({ resource: { name: 'a', data: { id: 'after' } } });
    await next.close();
    const counts = await exported();
    tell(`${acknowledged.size} events acknowledged, ${refused} refused on a full disk: ${counts.size - 1} recorded`);
    expect([...faults]).toEqual(['disk-full']);
    expect([...counts.keys()].sort()).toEqual([...acknowledged, 'after'].sort());
    expect(twice(counts)).toEqual([]);
  } finally {
    execFileSync('umount', [disk]);
  }
});
