import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventJson } from './events.ts';
import { type Options, type Ratios, say } from './figures.ts';
import { Generator, httpRequest, type Job } from './generator.ts';
import { createOrg, Server, startService } from './server.ts';

const CONNECTIONS = 64;
const BULK = 500;
/** Of 64 bulks of 500 at once, the log's queue (20,000 entries) refuses some with 503; 16 fill the server as well. */
const BULK_CONNECTIONS = 16;
const RESOURCES = 4_096;
/** Until the compiler has seen enough: with 3 s, the first rounds still took up to half as much again. */
const WARM_UP_SECONDS = 10;
/** From here on the generator, not the server, may be what was measured. */
const TOO_BUSY = 0.9;

interface Load {
  readonly name: string;
  readonly server: Server;
  readonly requests: Job['requests'];
  readonly status: string;
  readonly ending?: string;
  readonly connections: number;
  readonly eventsEach: number;
}

interface Measured {
  /** A second. */
  readonly requests: number;
  readonly events: number;
  /** A request, in milliseconds; NaN where the system does not tell. */
  readonly cpu: number;
}

/** The service and the echo, each in its own process, under the same load in turns. */
export async function measurePublish({ rounds, seconds }: Options, wanted: ReadonlySet<string>): Promise<Ratios> {
  const folder = mkdtempSync(join(tmpdir(), 'control-bench-'));
  const generator = new Generator();
  const service = await startService(join(folder, 'data'));
  const echo = await Server.start(join(import.meta.dirname, 'echo.ts'));
  try {
    const loads = loadsOf(service, echo, await createOrg(service.url, 'bench'));
    const [sync] = loads;
    const used = loads.filter(({ name }) => name === 'sync' || NEEDED[name]?.some((figure) => wanted.has(figure)));
    for (const load of used) await measure(generator, load, WARM_UP_SECONDS);
    const ratios = new Map<string, number[]>();
    for (let round = 1; round <= rounds; round += 1) {
      const measured = new Map<string, Measured>();
      for (const load of used) {
        measured.set(load.name, await measure(generator, load, seconds, `round ${round}`));
        // What async publishes leave to be indexed is not to weigh on the next load: a sync publish waits for it.
        if (load.name === 'async') await generator.run(onceOf(sync));
      }
      for (const [figure, ratio] of ratiosOf(measured)) ratios.set(figure, [...(ratios.get(figure) ?? []), ratio]);
    }
    return ratios;
  } finally {
    generator.close();
    await Promise.all([service.stop(), echo.stop()]);
    rmSync(folder, { recursive: true });
  }
}

/** What each load is for, beside the sync publish that all are compared with. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  echo: ['publish-rate', 'publish-cpu'],
  async: ['sync-over-async'],
  bulk: ['bulk-over-single'],
};

function onceOf({ server, requests, status }: Load): Job {
  return { port: server.port, requests: requests.slice(0, 1), status, connections: 1, most: 1, seconds: 10 };
}

function loadsOf(service: Server, echo: Server, key: string): [sync: Load, ...others: Load[]] {
  const json = { 'content-type': 'application/json' };
  const headers = { ...json, authorization: `Bearer ${key}` };
  const path = '/audit/org/bench/auditctx/default';
  const events = Array.from({ length: RESOURCES }, (_, resource) => eventJson(resource));
  const bulks = Array.from({ length: RESOURCES / 512 }, (_, part) => events.slice(part * 512, part * 512 + BULK));
  const publish = (query: string) => events.map((event) => httpRequest('POST', path + query, headers, event));
  const ndjson = { ...headers, 'content-type': 'application/x-ndjson' };
  const bulk = bulks.map((lines) => httpRequest('POST', `${path}/-bulk`, ndjson, lines.join('\n')));
  const echoed = events.map((event) => httpRequest('POST', '/', json, event));
  const single = { connections: CONNECTIONS, eventsEach: 1 };
  const bulked = { connections: BULK_CONNECTIONS, eventsEach: BULK, ending: '"failed":0}' };
  return [
    { name: 'sync', server: service, requests: publish(''), status: '201', ...single },
    { name: 'echo', server: echo, requests: echoed, status: '200', ...single },
    { name: 'async', server: service, requests: publish('?async=true'), status: '202', ...single },
    { name: 'bulk', server: service, requests: bulk, status: '200', ...bulked },
  ];
}

async function measure(generator: Generator, load: Load, seconds: number, label = 'warm-up'): Promise<Measured> {
  const { server, requests, status, ending, connections, eventsEach } = load;
  const job = { port: server.port, requests, status, connections, ...(ending && { ending }) };
  const before = server.cpuMs() ?? Number.NaN;
  const { answered, ms, busy } = await generator.run({ ...job, seconds });
  const cpu = ((server.cpuMs() ?? Number.NaN) - before) / answered;
  const perSecond = (answered * 1000) / ms;
  const each = `${(cpu * 1000).toFixed(0)} us CPU a request; generator at ${(busy * 100).toFixed(0)} % of a core`;
  say(`${label}: ${load.name.padEnd(5)} ${perSecond.toFixed(0).padStart(6)} requests/s, ${each}`);
  if (busy > TOO_BUSY) say(`${label}: the generator was busy all the time; "${load.name}" may be faster than this`);
  return { requests: perSecond, events: perSecond * eventsEach, cpu };
}

function ratiosOf(measured: ReadonlyMap<string, Measured>): [string, number][] {
  const [echo, sync, async, bulk] = ['echo', 'sync', 'async', 'bulk'].map((name) => measured.get(name));
  const ratios: [string, number][] = [];
  if (echo && sync) {
    ratios.push(['publish-rate', sync.requests / echo.requests], ['publish-cpu', sync.cpu / echo.cpu]);
  }
  if (async && sync) ratios.push(['sync-over-async', sync.requests / async.requests]);
  if (bulk && sync) ratios.push(['bulk-over-single', bulk.events / sync.events]);
  return ratios;
}
