import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Event {
  readonly resource: Readonly<Record<string, unknown>>;
}

const FILE = join(import.meta.dirname, '../../demo/events.ndjson');

/** What an audit event of a cloud service takes, roughly. */
const TYPICAL_BYTES = 1_400;

function realEvents(): Event[] {
  const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { event: Event }).event);
}

const REAL = realEvents();

/** A real event of typical size. */
function typicalEvent(events: readonly Event[]): Event {
  const distance = (event: Event) => Math.abs(JSON.stringify(event).length - TYPICAL_BYTES);
  return events.reduce((best, event) => (distance(event) < distance(best) ? event : best));
}

const TYPICAL = typicalEvent(REAL);

export function resourceName(number: number): string {
  return `bench/resource-${number}`;
}

function onResource(event: Event, resource: number): Event {
  return { ...event, resource: { ...event.resource, id: `id-${resource}`, name: resourceName(resource) } };
}

/** The JSON of the typical event on one of many resources. */
export function eventJson(resource: number, more: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify({ ...onResource(TYPICAL, resource), ...more });
}

/** The real events in turn, each on one of many resources. */
export function realEvent(number: number, resources: number): Event {
  return onResource(REAL[number % REAL.length] ?? TYPICAL, number % resources);
}
