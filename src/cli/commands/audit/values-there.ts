import type { ApiClient } from '../../../client/api-client.js';
import { ApiError } from '../../../client/errors.js';
import type { Query } from '../../../client/pages.js';
import { LIMITS } from '../../../contract/limits.js';
import type { Terminal } from '../../terminal.js';
import { COUNTED, type CountedBy, type Counts, countEvents } from './counts.js';

const MOST_NAMED = 10;
const BEGINNING = '1970-01-01T00:00:00Z';

/** Of filters with a value that no event has: which values there are, the most frequent first. */
export async function tellValues(terminal: Terminal, client: ApiClient, org: string, filters: Query): Promise<void> {
  for (const [by, parameter] of Object.entries(COUNTED) as [CountedBy, string][]) {
    const value = filters[parameter];
    if (value === undefined) continue;
    const counts = await counted(client, org, by);
    if (!counts || counts.others.count > 0 || counts.values.some((one) => one.value === value)) continue;
    const there = counts.values.slice(0, MOST_NAMED).map((one) => one.value);
    const rest = counts.values.length > MOST_NAMED ? ', ...' : '';
    const known = there.length > 0 ? `there are ${there.join(', ')}${rest}` : 'none has one';
    terminal.note(`no event has ${optionOf(parameter)} ${value}; ${known}`);
  }
}

/** Undefined where the service does not count: the list itself was shown, and this is only a help. */
async function counted(client: ApiClient, org: string, by: CountedBy): Promise<Counts | undefined> {
  try {
    const query = { fromEvent: BEGINNING, top: String(LIMITS.stats.values) };
    return JSON.parse(await countEvents(client, org, by, query)) as Counts;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

function optionOf(parameter: string): string {
  if (parameter === 'contextName') return '--context';
  return `--${parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
