import { mkdirSync } from 'node:fs';
import { eventJson } from './events.ts';
import { say } from './figures.ts';
import { Generator, httpRequest } from './generator.ts';
import type { Peer } from './peers/postgres.ts';
import { createOrg, startService, type Target } from './server.ts';

export const EVENTS_A_RESOURCE = 100;

const BULK = 1_000;
const CONNECTIONS = 4;
/** Requests that are put together at a time. */
const PART = 50;
const FIRST_EVENT = Date.parse('2025-01-01T00:00:00.000Z');

/** Makes a data folder with so many events, 100 of each resource, published through the service. Returns a key. */
export async function seed(folder: string, events: number): Promise<string> {
  mkdirSync(folder);
  const service = await startService(folder);
  const key = await createOrg(service.url, 'bench');
  const path = '/audit/org/bench/auditctx/default/-bulk?async=true';
  await send(service, path, { authorization: `Bearer ${key}` }, events).finally(() => service.stop());
  // It serves again once everything is indexed.
  await (await startService(folder)).stop();
  return key;
}

/** The same events in the peer's table. */
export async function seedPeer(peer: Peer, events: number): Promise<void> {
  await send(peer, '/events/bulk', {}, events);
  peer.vacuum();
}

async function send(target: Target, path: string, authorization: Readonly<Record<string, string>>, events: number) {
  const start = performance.now();
  const generator = new Generator();
  const headers = { ...authorization, 'content-type': 'application/x-ndjson' };
  try {
    for (let from = 0; from < events / BULK; from += PART) {
      const numbers = Array.from({ length: Math.min(PART, events / BULK - from) }, (_, index) => from + index);
      const requests = numbers.map((number) => httpRequest('POST', path, headers, bulkOf(number, events)));
      const job = { port: target.port, requests, most: requests.length, connections: CONNECTIONS };
      await generator.run({ ...job, seconds: 600, status: '200', ending: '"failed":0}' });
    }
  } finally {
    generator.close();
  }
  say(`seeded ${events} events in ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

/** Events of one resource lie far apart, as they do when all resources are busy at the same time. */
function bulkOf(number: number, events: number): string {
  const resources = events / EVENTS_A_RESOURCE;
  return Array.from({ length: BULK }, (_, index) => {
    const place = number * BULK + index;
    return eventJson(place % resources, { eventTime: new Date(FIRST_EVENT + place * 1000).toISOString() });
  }).join('\n');
}
