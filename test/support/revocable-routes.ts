import type { Needed } from '../../src/http/access.js';
import { Api, Org } from './api.js';
import { type Revocable, seedRevocable, type Way } from './revocation.js';
import { type RouteRequest, requestOf, seedTarget } from './route-requests.js';
import { routesOf, type ServedRoute } from './routes.js';
import { Seed } from './seed.js';
import { startService, type TestService } from './service.js';

/** One request on a route by a caller of its own, who can be revoked. */
export interface Trial {
  readonly name: string;
  readonly way: Way;
  /** What is to be sent, and by whom; the caller is ready from then on. */
  prepare(): Promise<{ readonly request: RouteRequest; readonly caller: Revocable }>;
}

/** A route in an organization of its own. */
export interface RevocableRoute {
  readonly method: string;
  readonly url: string;
  /** Whether a request on it is known to do something. */
  readonly changes: boolean;
  readonly trials: readonly Trial[];
  /** When the log took what requests of these ids did, in ms; what they were denied does not count. */
  effects(): Promise<ReadonlyMap<string, number>>;
}

export interface RevocableWorld {
  readonly service: TestService;
  readonly routes: readonly RevocableRoute[];
}

/** Every route that asks a principal for a permission, with so many trials each. */
export async function revocableWorld(ways: (route: number) => readonly Way[]): Promise<RevocableWorld> {
  const first = await routesOf(() => startService({ env: { CONTROL_STORE: 'embedded' } }));
  await first.started.remove();
  const guarded = first.served.filter(
    (route): route is ServedRoute & { readonly access: Needed } =>
      typeof route.access === 'object' && route.method !== 'HEAD',
  );
  const seed = new Seed();
  const made = guarded.map((route, index) => seededRoute(seed, route, `route-${index}`, ways(index)));
  // Every revoked caller is refused at one address, more often than the limit lets through.
  const service = await startService({ seed, env: { CONTROL_BAD_KEYS_PER_MINUTE: '0' } });
  return { service, routes: made.map((of) => of(service)) };
}

function seededRoute(
  seed: Seed,
  { method, url, access }: ServedRoute & { readonly access: Needed },
  org: string,
  ways: readonly Way[],
): (service: TestService) => RevocableRoute {
  const adminKey = seed.org(org);
  const make = requestOf(method, url);
  const seeded = ways.map((way, index) => {
    const name = `trial-${index}`;
    seedTarget(seed, org, name);
    return { name, way, caller: seedRevocable(seed, org, `caller-${index}`, access.kind, way) };
  });
  return (service) => {
    const admin = new Api(service.url, adminKey);
    const trials = seeded.map(({ name, way, caller }) => ({
      name,
      way,
      async prepare() {
        const request = make ? await make({ admin, org, name }) : { path: readPath(url, org, name), body: {} };
        return { request, caller: await caller.of(admin) };
      },
    }));
    const effects = () => effectsIn(new Org(service.url, org, adminKey));
    return { method, url, changes: make !== undefined, trials, effects };
  };
}

/** Of a route that only reads: of something that is there, as far as its reference is a name. */
function readPath(url: string, org: string, name: string): string {
  const ref = url.includes('/domain/')
    ? `${name}.${org}.example.com`
    : url.includes('/user/')
      ? `${name}@example.com`
      : name;
  return url
    .replace(':org', org)
    .replace(':ref', ref)
    .replace(/:[A-Za-z]+|\*/g, name);
}

async function effectsIn(org: Org): Promise<ReadonlyMap<string, number>> {
  const events = await org.walk(`${org.audit}?pageSize=1000`);
  const done = events.filter(({ result }) => result?.['status'] !== 'DENIED');
  return new Map(done.map(({ requestId, receivedTime }) => [requestId, Date.parse(receivedTime)]));
}
