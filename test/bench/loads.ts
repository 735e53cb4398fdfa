import { eventJson } from './events.ts';
import { say } from './figures.ts';
import { type Load as Answers, type Generator, httpRequest, type Job } from './generator.ts';
import { otlpRequest } from './otlp.ts';
import type { Target } from './server.ts';

const CONNECTIONS = 64;
const BULK = 500;
/** Of 64 bulks of 500 at once, the log's queue (20,000 entries) refuses some with 503; 16 fill the server as well. */
const BULK_CONNECTIONS = 16;
const RESOURCES = 4_096;
/** From here on the generator, not the server, may be what was measured. */
const TOO_BUSY = 0.9;

/** What one server gets from the load generator. */
export interface Load {
  readonly name: string;
  readonly target: Target;
  readonly requests: Job['requests'];
  readonly status: string;
  readonly ending?: string;
  readonly connections: number;
  readonly eventsEach: number;
}

export interface Measured {
  /** A second. */
  readonly events: number;
  readonly count: number;
  /** Of an event, in milliseconds; NaN where the system does not tell. */
  readonly cpu: number;
  /** Of a request, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const EVENTS = Array.from({ length: RESOURCES }, (_, resource) => eventJson(resource));
const BATCHES = Array.from({ length: RESOURCES / 512 }, (_, part) => EVENTS.slice(part * 512, part * 512 + BULK));
const BULKS = BATCHES.map((events) => events.join('\n'));

/** Of all events, on average. */
export const EVENT_BYTES = EVENTS.reduce((sum, event) => sum + Buffer.byteLength(event), 0) / EVENTS.length;

const JSON_TYPE = { 'content-type': 'application/json' };
const NDJSON_TYPE = { 'content-type': 'application/x-ndjson' };
const SINGLE = { connections: CONNECTIONS, eventsEach: 1 };
const BULKED = { connections: BULK_CONNECTIONS, eventsEach: BULK, status: '200', ending: '"failed":0}' };
const PATH = '/audit/org/bench/auditctx/default';

type Headers = Readonly<Record<string, string>>;

function posts(path: string, headers: Headers, bodies: readonly (string | Uint8Array)[]): Uint8Array[] {
  return bodies.map((body) => httpRequest('POST', path, headers, body));
}

export function syncPublish(target: Target, key: string): Load {
  const requests = posts(PATH, { ...JSON_TYPE, authorization: `Bearer ${key}` }, EVENTS);
  return { name: 'sync', target, requests, status: '201', ...SINGLE };
}

export function asyncPublish(target: Target, key: string): Load {
  const requests = posts(`${PATH}?async=true`, { ...JSON_TYPE, authorization: `Bearer ${key}` }, EVENTS);
  return { name: 'async', target, requests, status: '202', ...SINGLE };
}

export function bulkPublish(target: Target, key: string): Load {
  const requests = posts(`${PATH}/-bulk`, { ...NDJSON_TYPE, authorization: `Bearer ${key}` }, BULKS);
  return { name: 'bulk', target, requests, ...BULKED };
}

/** The bodies of `bulkPublish`. */
export function ingest(target: Target, key: string): Load {
  const requests = posts(`${PATH}/-ingest`, { ...NDJSON_TYPE, authorization: `Bearer ${key}` }, BULKS);
  return { name: 'ingest', target, requests, ...BULKED, ending: '"unmapped":0,"firstUnmapped":[]}' };
}

/** The events of `bulkPublish`. */
export function otlp(target: Target, key: string): Load {
  const headers = { 'content-type': 'application/x-protobuf', authorization: `Bearer ${key}` };
  const requests = posts('/otlp/org/bench/auditctx/default/v1/logs', headers, BATCHES.map(otlpRequest));
  return { name: 'otlp', target, requests, ...BULKED, ending: '\r\n\r\n' };
}

export function echo(target: Target): Load {
  return { name: 'echo', target, requests: posts('/', JSON_TYPE, EVENTS), status: '200', ...SINGLE };
}

export function peerInsert(target: Target): Load {
  return { name: 'peer', target, requests: posts('/events', JSON_TYPE, EVENTS), status: '201', ...SINGLE };
}

export function peerBulk(target: Target): Load {
  return { name: 'peer bulk', target, requests: posts('/events/bulk', NDJSON_TYPE, BULKS), ...BULKED };
}

/** Sends the load until the time is over, or so many requests. */
export function run(generator: Generator, load: Load, seconds: number, most?: number): Promise<Answers> {
  const { target, requests, status, ending, connections } = load;
  const limits = { seconds, ...(most !== undefined && { most }) };
  return generator.run({ port: target.port, requests, status, connections, ...limits, ...(ending && { ending }) });
}

export async function measure(generator: Generator, load: Load, seconds: number, label: string): Promise<Measured> {
  const { name, target, eventsEach } = load;
  const before = target.cpuMs() ?? Number.NaN;
  const { answered, ms, p50, p99, busy } = await run(generator, load, seconds);
  const cpu = ((target.cpuMs() ?? Number.NaN) - before) / answered / eventsEach;
  const events = (answered * eventsEach * 1000) / ms;
  const each = `${(cpu * 1000).toFixed(0)} us CPU an event, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  say(`${label}: ${name.padEnd(9)} ${events.toFixed(0).padStart(6)} events/s, ${each}`);
  if (busy > TOO_BUSY) say(`${label}: the generator was busy all the time; "${name}" may be faster than this`);
  return { events, count: answered * eventsEach, cpu, p50, p99 };
}
