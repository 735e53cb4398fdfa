/**
 * What changes while the embedded store fills: rates, lists, memory, bytes, starts and backups, at 1, 2, 5, 10 and 20
 * million events. Run after a build: `node test/bench/long-life.ts [millions] [minutes]`, 20 and 60 if not given. Drives one
 * service through HTTP on an empty folder until it has so many events, or the time is over. Prints one JSON line a mark, and
 * a table at the end. Needs Linux, and 2 GB of disk for a million events.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sizeOf } from './bytes.ts';
import { realEvent, resourceName } from './events.ts';
import { say } from './figures.ts';
import { Generator, httpRequest } from './generator.ts';
import { createOrg, ROOT_KEY, type Server, startService } from './server.ts';

const [millions = 20, minutes = 60] = process.argv.slice(2).map(Number);
const MARKS = [1, 2, 5, 10, 20].filter((mark) => mark < millions).concat(millions);
const RESOURCES = 10_000;
const BULK = 500;
const SECONDS = 5;
/** Part of the way to a mark: the time is looked at between them. */
const PART = 100_000;
const PATH = '/audit/org/bench/auditctx/default';

interface Mark {
  readonly events: number;
  /** Of the way from the mark before. */
  readonly bulkEvents: number;
  readonly bulkCpuUs: number;
  readonly writtenBytes: number;
  /** At the mark. */
  readonly syncEvents: number;
  readonly syncP50: number;
  readonly syncP99: number;
  readonly listP50: number;
  readonly listP99: number;
  readonly listCpuUs: number;
  readonly filteredP50: number;
  readonly filteredP99: number;
  readonly memoryMiB: number;
  readonly ownMemoryMiB: number;
  readonly diskBytes: number;
  readonly backupSeconds: number;
  readonly backupMiB: number;
  readonly startSeconds: number;
  readonly startCpuSeconds: number;
  readonly startAfterKillSeconds: number;
  readonly startAfterKillCpuSeconds: number;
}

/** Real events without their times: they have the time at which they are received, as those of a living system. */
const EVENTS = Array.from({ length: RESOURCES }, (_, resource) => ({
  ...realEvent(resource, RESOURCES),
  eventTime: undefined,
}));
const folder = mkdtempSync(join(tmpdir(), 'control-long-life-'));
const generator = new Generator();
const deadline = Date.now() + minutes * 60_000;
let service = await startService(folder);
const headers = { authorization: `Bearer ${await createOrg(service.url, 'bench')}` };
const bulks = Array.from({ length: RESOURCES / BULK }, (_, bulk) => {
  const lines = EVENTS.slice(bulk * BULK, (bulk + 1) * BULK).map((event) => JSON.stringify(event));
  return httpRequest('POST', `${PATH}/-bulk`, { ...headers, 'content-type': 'application/x-ndjson' }, lines.join('\n'));
});
const singles = EVENTS.slice(0, 4_096).map((event) =>
  httpRequest('POST', PATH, { ...headers, 'content-type': 'application/json' }, JSON.stringify(event)),
);

let events = 0;
const marks: Mark[] = [];
try {
  for (const mark of MARKS) {
    const way = await fill(mark * 1_000_000);
    marks.push({ events, ...way, ...(await measure()) });
    process.stdout.write(`${JSON.stringify(marks.at(-1))}\n`);
    if (Date.now() > deadline) break;
  }
  process.stdout.write(`\n${table()}\n`);
} finally {
  generator.close();
  await service.stop();
  rmSync(folder, { recursive: true });
}

async function fill(goal: number): Promise<Pick<Mark, 'bulkEvents' | 'bulkCpuUs' | 'writtenBytes'>> {
  const before = { events, ms: 0, cpu: cpu(), written: service.written() };
  while (events < goal && Date.now() < deadline) {
    const most = Math.ceil(Math.min(PART, goal - events) / BULK);
    const job = { port: service.port, requests: bulks, connections: 16, seconds: 3_600, most };
    const { answered, ms } = await generator.run({ ...job, status: '200', ending: '"failed":0}' });
    events += answered * BULK;
    before.ms += ms;
    say(`${events} events, ${((answered * BULK * 1_000) / ms).toFixed(0)} a second`);
  }
  const made = events - before.events;
  return {
    bulkEvents: round((made * 1_000) / before.ms),
    bulkCpuUs: round(((cpu() - before.cpu) * 1_000) / made),
    writtenBytes: round((service.written() - before.written) / made),
  };
}

async function measure(): Promise<Omit<Mark, 'events' | 'bulkEvents' | 'bulkCpuUs' | 'writtenBytes'>> {
  const sync = await load(singles, '201', 64);
  events += sync.answered;
  const names = Array.from({ length: RESOURCES }, () => encodeURIComponent(resourceName(random(RESOURCES))));
  const before = cpu();
  const list = await load(
    names.map((name) => get(`/audit/org/bench/resource/name/${name}?pageSize=50`)),
    '200',
    1,
  );
  const listCpu = cpu() - before;
  const types = ['file.update', 'ConsoleLogin', 'CreateUser'];
  const filtered = await load(
    types.map((type) => get(`/audit/org/bench?actionType=${type}&pageSize=50`)),
    '200',
    1,
  );
  const memory = { memoryMiB: round(service.memory()), ownMemoryMiB: round(service.ownMemory()) };
  const backup = await takeBackup(service);
  const [startSeconds, startCpuSeconds] = await restart('SIGTERM');
  const diskBytes = round(sizeOf(folder) / events);
  events += (await load(singles, '201', 64, 2)).answered;
  const [startAfterKillSeconds, startAfterKillCpuSeconds] = await restart('SIGKILL');
  return {
    syncEvents: round((sync.answered * 1_000) / sync.ms),
    ...{ syncP50: ms(sync.p50), syncP99: ms(sync.p99), listP50: ms(list.p50), listP99: ms(list.p99) },
    listCpuUs: round((listCpu * 1_000) / list.answered),
    ...{ filteredP50: ms(filtered.p50), filteredP99: ms(filtered.p99) },
    ...memory,
    diskBytes,
    ...backup,
    ...{ startSeconds, startCpuSeconds, startAfterKillSeconds, startAfterKillCpuSeconds },
  };
}

function cpu(): number {
  return service.cpuMs() ?? Number.NaN;
}

function load(requests: readonly Uint8Array[], status: string, connections: number, seconds = SECONDS) {
  return generator.run({ port: service.port, requests, connections, seconds, status });
}

function get(path: string): Uint8Array {
  return httpRequest('GET', path, headers);
}

async function takeBackup({ url }: Server): Promise<Pick<Mark, 'backupSeconds' | 'backupMiB'>> {
  const start = performance.now();
  const answer = await fetch(`${url}/-backup`, { headers: { authorization: `Bearer ${ROOT_KEY}` } });
  if (answer.status !== 200 || !answer.body) throw new Error(`no backup: ${await answer.text()}`);
  let bytes = 0;
  for await (const chunk of answer.body) bytes += chunk.length;
  return { backupSeconds: ms((performance.now() - start) / 1_000), backupMiB: round(bytes / 2 ** 20) };
}

/** From the start until it serves: seconds, and seconds of CPU time. */
async function restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<[seconds: number, cpu: number]> {
  await service.stop(signal);
  const start = performance.now();
  service = await startService(folder);
  return [ms((performance.now() - start) / 1_000), ms(cpu() / 1_000)];
}

function table(): string {
  const rows = Object.keys(marks[0] ?? {}) as (keyof Mark)[];
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  const body = rows.map((row) => line([row, ...marks.map((mark) => mark[row].toLocaleString('en'))]));
  return [...body.slice(0, 1), line(['---', ...marks.map(() => '---:')]), ...body.slice(1)].join('\n');
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}

function round(value: number): number {
  return Math.round(value);
}

function ms(value: number): number {
  return Number(value.toFixed(2));
}
