import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventJson, resourceName } from './events.ts';
import { say } from './figures.ts';
import { Generator, httpRequest } from './generator.ts';
import { createOrg, DIST, startService } from './server.ts';

export const EVENTS_A_RESOURCE = 100;

/** Changes when other events are seeded. */
const SEED = 1;
const BULK = 1_000;
const CONNECTIONS = 4;
/** Requests that are put together at a time. */
const PART = 50;
const FIRST_EVENT = Date.parse('2025-01-01T00:00:00.000Z');

export interface Seeded {
  readonly folder: string;
  readonly events: number;
  readonly key: string;
  resourceName(number: number): string;
}

/** A data folder with so many events, 100 of each resource, published through the service itself; kept for later runs. */
export async function seeded(events: number): Promise<Seeded> {
  const folder = join(tmpdir(), `control-bench-${await formats()}-${SEED}-${events}`);
  const keyFile = join(folder, 'bench.key');
  if (!existsSync(keyFile)) await seed(folder, events);
  return { folder, events, key: readFileSync(keyFile, 'utf8'), resourceName };
}

/** The formats of both files: data of others would be rebuilt at every start. */
async function formats(): Promise<string> {
  const from = (file: string) => import(pathToFileURL(join(DIST, file)).href);
  const { FORMAT } = (await from('event-log/embedded-format.js')) as { FORMAT: { version: string } };
  const { FORMAT_VERSION } = (await from('read-model/embedded-schema.js')) as { FORMAT_VERSION: string };
  return `${FORMAT.version}-${FORMAT_VERSION}`;
}

async function seed(folder: string, events: number): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  const start = performance.now();
  const service = await startService(unfinished);
  const generator = new Generator();
  try {
    const key = await createOrg(service.url, 'bench');
    const path = '/audit/org/bench/auditctx/default/-bulk';
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' };
    const send = (numbers: number[], query: string) => {
      const requests = numbers.map((number) => httpRequest('POST', path + query, headers, bulkOf(number, events)));
      const job = { requests, most: requests.length, seconds: 600, status: '200', ending: '"failed":0}' };
      return generator.run({ ...job, port: service.port, connections: CONNECTIONS });
    };
    for (let from = 0; from < events / BULK; from += PART) {
      const numbers = Array.from({ length: Math.min(PART, events / BULK - from) }, (_, index) => from + index);
      await send(numbers, '?async=true');
    }
    writeFileSync(join(unfinished, 'bench.key'), key);
  } finally {
    generator.close();
    await service.stop();
  }
  // It serves again once everything is indexed.
  await (await startService(unfinished)).stop();
  renameSync(unfinished, folder);
  say(`seeded ${events} events in ${((performance.now() - start) / 1000).toFixed(0)} s: ${folder}`);
}

/** Events of one resource lie far apart, as they do when all resources are busy at the same time. */
function bulkOf(number: number, events: number): string {
  const resources = events / EVENTS_A_RESOURCE;
  return Array.from({ length: BULK }, (_, index) => {
    const place = number * BULK + index;
    return eventJson(place % resources, { eventTime: new Date(FIRST_EVENT + place * 1000).toISOString() });
  }).join('\n');
}
