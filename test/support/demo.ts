import { readFileSync } from 'node:fs';

/** The events of the demonstration, without their sources. */
export function demoEvents<Event>(): Event[] {
  const lines = readFileSync(new URL('../../demo/events.ndjson', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => (JSON.parse(line) as { event: Event }).event);
}
