import { linkTo } from '../../src/contract/links.js';
import type { Access, Needed } from '../../src/http/access.js';
import { permissionsOn, TARGET_KINDS, type TargetKind } from '../../src/model/permission.js';
import { Api } from '../support/api.js';
import { routesOf, type ServedRoute } from '../support/routes.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

const HOME = 'home';

/** Of each kind the resource that the paths name, and another one. */
const TARGETS: Readonly<Record<TargetKind, readonly [string, string]>> = {
  user: ['target@example.com', 'other@example.com'],
  group: ['target', 'other'],
  serviceaccount: ['target', 'other'],
  policy: ['target', 'other'],
  domain: ['target.example.com', 'other.example.com'],
  auditctx: ['target', 'other'],
};

const CALLERS = [
  'no key',
  'a malformed header',
  'an unknown key',
  'a revoked key',
  'an expired key',
  'a key of another organization',
  'a key without the permission',
  'a key with the permission',
  'the root key',
] as const;
type CallerName = (typeof CALLERS)[number];

/** What decides who may call. `answered`: anything but 401, 403 and a fault of the service. */
type Outcome = 401 | 403 | 'answered';

function expectedOutcome(access: Access, caller: CallerName): Outcome {
  if (access === 'public' || access === 'invited') return 'answered';
  switch (caller) {
    case 'no key':
    case 'a malformed header':
    case 'an unknown key':
    case 'a revoked key':
    case 'an expired key':
      return 401;
    case 'the root key':
      return access === 'root' || access === 'keyed' || access === 'memberOrRoot' ? 'answered' : 403;
    case 'a key of another organization':
      return access === 'keyed' ? 'answered' : 403;
    case 'a key without the permission':
      return access === 'member' || access === 'memberOrRoot' || access === 'keyed' ? 'answered' : 403;
    case 'a key with the permission':
      return access === 'root' ? 403 : 'answered';
  }
}

const needOf = ({ kind, permission, on }: Needed) => `${kind} ${permission} ${on}`;
const isNeeded = (access: Access | undefined): access is Needed => typeof access === 'object';
const targetLink = (kind: TargetKind, which: 0 | 1) => linkTo(HOME, kind, TARGETS[kind][which]);

/** A principal with exactly this permission, on the one target where the route asks for one. */
function keyWith(seed: Seed, { kind, permission, on }: Needed, name: string): string {
  const link = seed.account(HOME, name);
  const target = on === 'all' ? { target: 'all' as const } : { targetLinks: [targetLink(kind, 0)] };
  seed.policy(HOME, name, {
    targetKind: kind,
    ...target,
    bindings: [{ permissions: [permission], principalLinks: [link] }],
  });
  return seed.key(link);
}

/** A principal who may do everything but this. */
function keyWithout(seed: Seed, { kind, permission, on }: Needed, name: string): string {
  const link = seed.account(HOME, name);
  const grant = (suffix: string, targetKind: TargetKind, permissions: readonly string[], targetLinks?: string[]) =>
    seed.policy(HOME, `${name}-${suffix}`, {
      targetKind,
      ...(targetLinks ? { targetLinks } : { target: 'all' }),
      bindings: [{ permissions, principalLinks: [link] }],
    });
  for (const other of TARGET_KINDS) if (other !== kind) grant(other, other, ['manage']);
  const others = permissionsOn(kind).filter((one) => one.name !== permission && !one.implies.includes(permission));
  grant(
    'others',
    kind,
    others.map((one) => one.name),
  );
  if (on === 'all') grant('one', kind, [permission], [targetLink(kind, 0)]);
  else if (on !== 'some') grant('another', kind, [permission], [targetLink(kind, 1)]);
  return seed.key(link);
}

function seedTargets(seed: Seed): void {
  for (const which of [0, 1] as const) {
    seed.user(HOME, TARGETS.user[which]);
    seed.group(HOME, TARGETS.group[which]);
    seed.account(HOME, TARGETS.serviceaccount[which]);
    seed.policy(HOME, TARGETS.policy[which], { targetKind: 'group', target: 'all' });
    seed.domain(HOME, TARGETS.domain[which]);
  }
}

interface World {
  readonly service: TestService;
  readonly served: readonly ServedRoute[];
  readonly refusing: readonly string[];
  keyOf(access: Access, caller: CallerName): string | undefined;
}

/**
 * The needs of the routes are known from a first start, on the store that starts soonest: the routes are the same. The
 * principals are made for them, and the service started again.
 */
async function world(): Promise<World> {
  const first = await routesOf(() => startService({ env: { CONTROL_STORE: 'embedded' } }));
  await first.started.remove();
  const needs = new Map(
    first.served
      .map(({ access }) => access)
      .filter(isNeeded)
      .map((need) => [needOf(need), need]),
  );
  const seed = new Seed();
  const keys = new Map<string, string>();
  seed.org(HOME);
  keys.set('a key of another organization', seed.org('elsewhere'));
  seedTargets(seed);
  const nobody = seed.key(seed.account(HOME, 'nobody'));
  for (const [index, [name, need]] of [...needs].entries()) {
    keys.set(`with ${name}`, keyWith(seed, need, `with-${index}`));
    keys.set(`without ${name}`, keyWithout(seed, need, `without-${index}`));
  }
  const admin = linkTo(HOME, 'serviceaccount', 'admin');
  keys.set('a revoked key', seed.key(admin));
  seed.revokeKeys(admin);
  keys.set('an expired key', seed.key(admin, new Date(Date.now() - 1).toISOString()));
  const {
    started: service,
    served,
    refusing,
  } = await routesOf(() => startService({ seed, env: { CONTROL_BAD_KEYS_PER_MINUTE: '0' } }));
  const keyOf = (access: Access, caller: CallerName): string | undefined => {
    if (caller === 'no key' || caller === 'a malformed header') return undefined;
    if (caller === 'an unknown key') return `svc_${'A'.repeat(43)}`;
    if (caller === 'the root key') return service.rootKey;
    const own = isNeeded(access) ? needOf(access) : undefined;
    if (caller === 'a key with the permission') return own ? keys.get(`with ${own}`) : nobody;
    if (caller === 'a key without the permission') return own ? keys.get(`without ${own}`) : nobody;
    return keys.get(caller);
  };
  return { service, served, refusing, keyOf };
}

function pathOf({ url, access }: ServedRoute, org = HOME): string {
  const ref = encodeURIComponent(isNeeded(access) ? TARGETS[access.kind][0] : 'x');
  return url
    .replace(':org', org)
    .replace(':ref', ref)
    .replace(':contextName', TARGETS.auditctx[0])
    .replace(/:[A-Za-z]+|\*/g, 'x');
}

/** Never changes anything: no resource has this version. */
const HEADERS = { 'if-match': '"999999"', 'x-request-id': 'the-same' };

function call(service: TestService, { method }: ServedRoute, path: string, authorization: string | undefined) {
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Api(service.url).raw(method, path, {
    headers: {
      ...HEADERS,
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(authorization !== undefined && { authorization }),
    },
    ...(hasBody && { body: '{}' }),
  });
}

function outcomeOf(status: number): Outcome | number {
  if (status === 401 || status === 403) return status;
  return status < 500 ? 'answered' : status;
}

let all: World;

beforeAll(async () => {
  all = await world();
});

afterAll(() => all.service.remove());

const shown = ({ method, url }: ServedRoute) => `${method} ${url}`;

test('every route says who may call it', () => {
  expect(all.served.length).toBeGreaterThan(40);
  expect(all.served.filter(({ access }) => access === undefined).map(shown)).toEqual([]);
  const kinds = new Set(all.served.map(({ access }) => (isNeeded(access) ? access.kind : access)));
  expect([...kinds].sort()).toEqual(
    [...TARGET_KINDS, 'invited', 'keyed', 'member', 'memberOrRoot', 'public', 'root'].sort(),
  );
  expect(new Set(all.refusing)).toEqual(new Set(all.served.map(({ url }) => url)));
});

test('only these routes are open to all', () => {
  const open = all.served.filter(({ access }) => access === 'public' || access === 'invited');
  expect([...new Set(open.map(({ url }) => url))].sort()).toEqual([
    '/docs',
    '/docs/:asset',
    '/health/live',
    '/health/ready',
    '/metrics',
    '/openapi.json',
    expect.stringMatching(/^\/org\/:org\/invitation\/:[a-z]+\/-accept$/),
  ]);
});

test('every route of an organization checks that the caller belongs to it', () => {
  const free = all.served.filter(
    ({ url, access }) =>
      url.includes(':org') !== (isNeeded(access) || access === 'member' || access === 'memberOrRoot'),
  );
  const others = new Set(free.map(({ access }) => access));
  expect([...others].filter((access) => isNeeded(access) || access === 'member')).toEqual([]);
});

test('every route accepts and refuses callers as its access declares', async () => {
  const wrong: string[] = [];
  let cells = 0;
  for (const route of all.served) {
    const { access } = route;
    if (access === undefined) throw new Error(`${shown(route)} declares no access`);
    await Promise.all(
      CALLERS.map(async (caller) => {
        const key = caller === 'a malformed header' ? 'Basic YWRtaW46YWRtaW4=' : all.keyOf(access, caller);
        const { status } = await call(all.service, route, pathOf(route), key);
        cells += 1;
        const expected = expectedOutcome(access, caller);
        if (outcomeOf(status) !== expected) wrong.push(`${shown(route)}, ${caller}: ${status}, not ${expected}`);
      }),
    );
  }
  process.stdout.write(`authorization matrix: ${all.served.length} routes x ${CALLERS.length} callers = ${cells}\n`);
  expect(wrong).toEqual([]);
  expect(cells).toBe(all.served.length * CALLERS.length);
});

test('a key of another organization is refused in the same bytes whether this one exists or not', async () => {
  const ofOrgs = all.served.filter(({ url, access }) => url.includes(':org') && access !== 'invited');
  let compared = 0;
  for (const route of ofOrgs) {
    const key = all.keyOf('member', 'a key of another organization');
    const [existing, absent, impossible] = await Promise.all(
      [HOME, 'no-such-org', 'NO%20ORG'].map((org) => call(all.service, route, pathOf(route, org), key)),
    );
    expect([shown(route), existing?.status]).toEqual([shown(route), 403]);
    for (const other of [absent, impossible]) {
      expect([shown(route), other?.status, other?.text]).toEqual([shown(route), 403, existing?.text]);
      expect([...(other?.headers.keys() ?? [])].sort()).toEqual([...(existing?.headers.keys() ?? [])].sort());
    }
    compared += 1;
  }
  expect(compared).toBeGreaterThan(40);
});
