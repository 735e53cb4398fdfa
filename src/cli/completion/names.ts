import { ApiClient, path } from '../../client/api-client.js';
import type { Kind } from '../../contract/kinds.js';
import type { GivenOption } from '../args/argv.js';
import { resolveSettings } from '../profile/settings.js';
import { ProfileStore } from '../profile/store.js';
import type { Candidate } from './complete.js';

/** How long a user waits for names at a prompt. */
const PATIENCE_MS = 1_000;
const MOST_NAMES = 100;

/** What says where names are read, and with which key. */
export interface Asking {
  /** The options of the line that is completed: they may name the service and the organization. */
  readonly given: readonly GivenOption[];
  readonly env: NodeJS.ProcessEnv;
}

export async function profileNames({ env }: Asking): Promise<Candidate[]> {
  const { byName } = await (await ProfileStore.open(env)).read();
  return [...byName].map(([value, { org = '' }]) => ({ value, description: org }));
}

/** The names of resources from the prefix on, by name. None if no organization or no key is known. */
export async function resourceNames(kind: Kind, prefix: string, asking: Asking): Promise<Candidate[]> {
  const { given, env } = asking;
  const text = (option: string) => given.findLast(({ name }) => name === option)?.value.toString();
  const flags = {
    profile: text('--profile'),
    org: text('--org'),
    token: text('--token'),
    endpoint: text('--endpoint'),
  };
  const settings = await resolveSettings(flags, env, async (name) => (await ProfileStore.open(env)).find(name));
  if (!settings.org || !settings.token) return [];
  const insecure = given.some(({ name, value }) => name === '--insecure' && value === true);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const client = new ApiClient({ ...settings, insecure, signal, userAgent: 'svc' });
  const terms = prefix === '' ? [] : [{ property: kind.ref, op: '>=', value: prefix }];
  const answer = await client.call({
    method: 'POST',
    path: `${path`/org/${settings.org}/${kind.name}`}/-query?limit=${MOST_NAMES}`,
    on: 'api',
    body: JSON.stringify({ kind: kind.name, fetch: 'items', spec: { match: 'all', terms } }),
    retry: 'never',
  });
  const { items } = JSON.parse(answer) as { items: readonly Readonly<Record<string, unknown>>[] };
  return items.flatMap(({ name, email, description }) => {
    const [value, about] = kind.ref === 'email' ? [email, name] : [name, description];
    return typeof value === 'string' ? [{ value, description: String(about) }] : [];
  });
}
