import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Event {
  readonly resource: Readonly<Record<string, unknown>>;
}

const FILE = join(import.meta.dirname, '../../demo/events.ndjson');

/** What an audit event of a cloud service takes, roughly. */
const TYPICAL_BYTES = 1_400;

/** A real event of typical size. */
function typicalEvent(): Event {
  const events = readFileSync(FILE, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { event: Event }).event);
  const distance = (event: Event) => Math.abs(JSON.stringify(event).length - TYPICAL_BYTES);
  return events.reduce((best, event) => (distance(event) < distance(best) ? event : best));
}

const TYPICAL = typicalEvent();

export function resourceName(number: number): string {
  return `bench/resource-${number}`;
}

/** The JSON of the typical event on one of many resources. */
export function eventJson(resource: number, more: Readonly<Record<string, string>> = {}): string {
  const name = resourceName(resource);
  return JSON.stringify({ ...TYPICAL, ...more, resource: { ...TYPICAL.resource, id: `id-${resource}`, name } });
}
