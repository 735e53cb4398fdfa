import { setTimeout as delay } from 'node:timers/promises';
import { newOrg } from '../support/api.js';
import { halfSend } from '../support/half-sent.js';
import { type RevocableRoute, type RevocableWorld, revocableWorld, type Trial } from '../support/revocable-routes.js';
import { WAYS, type Way } from '../support/revocation.js';
import { routesWithRequests } from '../support/route-requests.js';

/** Routes at a time: each is an organization of its own. */
const AT_ONCE = 4;

let world: RevocableWorld;

beforeAll(async () => {
  // Each route with a caller who stays, and with two who go; together the routes see every way several times.
  world = await revocableWorld((route) => [
    'key removed',
    WAYS[(2 * route) % WAYS.length] as Way,
    WAYS[(2 * route + 1) % WAYS.length] as Way,
  ]);
});

afterAll(() => world?.service.remove());

test('every known request is on a route that asks for a permission', () => {
  const served = new Set(world.routes.map(({ method, url }) => `${method} ${url}`));
  expect(routesWithRequests().filter((route) => !served.has(route))).toEqual([]);
});

test('a caller revoked while the body arrives is refused on every route, without effect', async () => {
  const wrong: string[] = [];
  const counts = { routes: 0, changing: 0, revoked: 0 };
  const queue = [...world.routes];
  const work = async () => {
    for (let route = queue.shift(); route; route = queue.shift()) wrong.push(...(await tried(route, counts)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  process.stdout.write(`revoked: ${JSON.stringify(counts)}\n`);
  expect(wrong).toEqual([]);
  expect(counts.changing).toBe(routesWithRequests().length);
});

async function tried(
  route: RevocableRoute,
  counts: { routes: number; changing: number; revoked: number },
): Promise<string[]> {
  const { method, url, changes, trials } = route;
  const wrong: string[] = [];
  const fault = (text: string) => wrong.push(`${method} ${url}: ${text}`);
  const [kept, ...gone] = trials;
  if (!kept) throw new Error('a route has a trial');
  const { status } = await half(method, kept);
  if (changes && status >= 300) fault(`answered ${status} to who may do it`);
  for (const trial of gone) {
    const { status, text, expected } = await half(method, trial, 'revoke');
    counts.revoked += 1;
    if (status !== expected) fault(`${trial.way}: answered ${status}, not ${expected}: ${text}`);
  }
  const effects = await route.effects();
  if (changes && !effects.has(kept.name)) fault('did nothing for who may do it');
  for (const { name, way } of gone) if (effects.has(name)) fault(`${way}: was done all the same`);
  counts.routes += 1;
  if (changes) counts.changing += 1;
  return wrong;
}

/** Sends all but the rest of the body; revokes the caller; sends the rest. */
async function half(method: string, trial: Trial, revoke?: 'revoke') {
  const { request, caller } = await trial.prepare();
  const sent = { method, ...request, key: caller.key, requestId: trial.name };
  const { finish, answer } = await halfSend(world.service.url, sent, 'first byte');
  // The service has seen the headers by then, and most often checked them.
  await delay(20);
  if (revoke) await caller.revoke();
  finish();
  const { status = 0, text = '' } = (await answer) ?? {};
  return { status, text, expected: caller.status };
}

test('a deleted service account gets no key of another by a request that it began before', async () => {
  const org = await newOrg(world.service);
  const { api } = org;
  await api.post(`/org/${org.name}/serviceaccount`, { name: 'robot' });
  const robot = await api.post<{ key: string }>(`/org/${org.name}/serviceaccount/robot/-addKey`, { description: 'x' });
  const json = { 'content-type': 'application/json' };
  const members = JSON.stringify({ memberLinks: { $append: [`/org/${org.name}/serviceaccount/robot`] } });
  await api.send('PATCH', `/org/${org.name}/group/superusers`, members, json);
  const keys = async () =>
    (await api.get<{ keys: readonly object[] }>(`/org/${org.name}/serviceaccount/admin`)).body.keys.length;
  const before = await keys();

  const path = `/org/${org.name}/serviceaccount/admin/-addKey`;
  const request = { method: 'POST', path, body: { description: 'mine' }, key: robot.body.key, requestId: 'attack' };
  const { finish, answer } = await halfSend(world.service.url, request, 'first byte');
  await delay(100);
  expect((await api.send('DELETE', `/org/${org.name}/serviceaccount/robot`)).status).toBe(204);
  await delay(200);
  finish();

  expect(JSON.parse((await answer)?.text ?? '{}')).toMatchObject({ status: 401, code: 'unauthenticated' });
  expect(await keys()).toBe(before);
});
