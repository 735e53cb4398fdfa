import { type Event, type Json, Org, type Refusal } from '../support/api.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

const ANN = '/org/acme/user/ann@example.com';
const CI = '/org/acme/serviceaccount/ci';

const event = { resource: { name: 'web' }, action: { type: 'edit', data: { n: 1 } } };
const other = { resource: { name: 'web' }, action: { type: 'edit', data: { n: 2 } } };

/** The keys of events from before, and the identifiers that they got. */
const FORMER = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const formerIds = new Map<string, string>();

let service: TestService;
/** `acme` has events from before keys belonged to publishers; `globex` has none. */
let ci: Org;
let ciOtherKey: Org;
let ann: Org;
let globex: Org;
let globexOther: Org;

beforeAll(async () => {
  const seed = new Seed();
  seed.org('acme');
  seed.account('acme', 'ci');
  seed.user('acme', 'ann@example.com', { name: 'Ann' });
  const bindings = [{ permissions: ['manage'] as const, principalLinks: [CI, ANN] }];
  seed.policy('acme', 'writers', { targetKind: 'auditctx', target: 'all', bindings });
  const keys = [seed.key(CI), seed.key(CI), seed.key(ANN)];
  for (const key of FORMER) formerIds.set(key, seed.formerEvent('acme', 'app', event, key));
  service = await startService({ seed });
  [ci, ciOtherKey, ann] = keys.map((key) => new Org(service.url, 'acme', key)) as [Org, Org, Org];
  [globex, globexOther] = await twoAccounts();
});

afterAll(() => service.remove());

/** Two service accounts of an organization that was made since. */
async function twoAccounts(): Promise<[Org, Org]> {
  const root = { authorization: `Bearer ${service.rootKey}`, 'content-type': 'application/json' };
  const made = await fetch(`${service.url}/org`, { method: 'POST', headers: root, body: '{"name":"globex"}' });
  const { key } = (await made.json()) as { key: string };
  const admin = new Org(service.url, 'globex', key);
  await admin.api.post('/org/globex/serviceaccount', { name: 'robot' });
  const robot = await admin.api.post<{ key: string }>('/org/globex/serviceaccount/robot/-addKey', { description: 'k' });
  await admin.api.post('/org/globex/policy', {
    ...{ name: 'writers', targetKind: 'auditctx', target: 'all' },
    bindings: [{ permissions: ['writeAudit'], principalLinks: ['/org/globex/serviceaccount/robot'] }],
  });
  return [admin, new Org(service.url, 'globex', robot.body.key)];
}

const idOf = async (publish: Promise<{ status: number; body: { id: string } }>) => (await publish).body.id;
const publishedUnder = async (org: Org, id: string) => (await org.event(id)).body.item as Event;

describe.each([
  ['in an organization with events from before', () => [ci, ann] as const],
  ['in an organization without', () => [globex, globexOther] as const],
])('a key belongs to its publisher, %s', (_where, both) => {
  test('the same key and body of two publishers are two events', async () => {
    const [one, two] = both();
    const context = 'two';
    const ids = await Promise.all(
      [one, two, one, two].map((org) => idOf(org.publish(event, { context, idempotencyKey: 'k' }))),
    );
    expect(ids.slice(2)).toEqual(ids.slice(0, 2));
    expect(new Set(ids).size).toBe(2);
    const items = (await one.list({ contextName: context })).body.items;
    expect(items.map(({ id }) => id).sort()).toEqual([...new Set(ids)].sort());
  });

  test('a key that somebody else took first suppresses nothing and refuses nothing', async () => {
    const [victim, attacker] = both();
    const context = 'claimed';
    await attacker.publish({ resource: { name: 'claim' } }, { context, idempotencyKey: 'order-1' });
    const answers = [
      await victim.publish(event, { context, idempotencyKey: 'order-1' }),
      await victim.publish(other, { context, idempotencyKey: 'order-2', async: true }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 202]);
    expect((await publishedUnder(victim, answers[0]?.body.id ?? '')).action).toEqual(event.action);
  });

  test('another body of the same publisher is refused', async () => {
    const [org] = both();
    await org.publish(event, { context: 'conflict', idempotencyKey: 'k' });
    const { status, body } = await org.publish<Refusal>(other, { context: 'conflict', idempotencyKey: 'k' });
    expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
  });

  test('items of a bulk too', async () => {
    const [one, two] = both();
    const items = ['x', 'y'].map((idempotencyKey) => ({ idempotencyKey, event }));
    const ids = async (org: Org) => (await org.bulk(items, { context: 'bulk' })).body.items.map(({ id }) => id);
    const [first, second, again] = [await ids(one), await ids(two), await ids(one)];
    expect(again).toEqual(first);
    expect(new Set([...first, ...second]).size).toBe(4);
  });
});

test('another key of the same principal gives the same event', async () => {
  const first = await ci.published(event, { context: 'rotated', idempotencyKey: 'k' });
  expect(await ciOtherKey.published(event, { context: 'rotated', idempotencyKey: 'k' })).toEqual(first);
});

describe('an event from before keys belonged to publishers', () => {
  const inApp = async () => (await ci.list({ contextName: 'app' })).body.items.map(({ id }) => id).sort();
  const all = () => [...formerIds.values()].sort();

  test('is found by a retry of anybody, sync, async and in bulk, and nothing is added', async () => {
    const first = await publishedUnder(ci, formerIds.get('a') ?? '');
    const sync = await ci.publish(event, { idempotencyKey: 'a' });
    const async = await ann.publish(event, { idempotencyKey: 'b', async: true });
    const bulk = await ci.bulk(['c', 'd'].map((idempotencyKey) => ({ idempotencyKey, event })));
    expect([sync.status, sync.body.id]).toEqual([201, formerIds.get('a')]);
    expect([async.status, async.body.id]).toEqual([202, formerIds.get('b')]);
    expect(bulk.body.items.map(({ status, id }) => [status, id])).toEqual(
      ['c', 'd'].map((key) => [201, formerIds.get(key)]),
    );
    await ci.publish(event, { context: 'barrier' });
    expect(await inApp()).toEqual(all());
    expect(await publishedUnder(ci, formerIds.get('a') ?? '')).toEqual(first);
    expect(first.context['publisher']).toBeUndefined();
  });

  test('keeps its key: another body is refused with 409', async () => {
    const { status, body } = await ci.publish<Refusal>(other, { idempotencyKey: 'e' });
    expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
    expect(await inApp()).toEqual(all());
  });

  test('keeps its key in its own context only', async () => {
    const { id } = await ci.published(event, { context: 'elsewhere', idempotencyKey: 'f' });
    expect(formerIds.get('f')).not.toBe(id);
  });

  test('is found again after a restart', async () => {
    await service.stop();
    service = await startService({ dataDir: service.dataDir });
    ci = new Org(service.url, 'acme', ci.key);
    const fresh = { resource: { name: 'fresh' } } satisfies Json;
    expect(await idOf(ci.publish(event, { idempotencyKey: 'a' }))).toBe(formerIds.get('a'));
    expect(all()).not.toContain(await idOf(ci.publish(fresh, { idempotencyKey: 'g', context: 'restarted' })));
  });
});
