import { Api, type Event, type EventPage, linkOf, Org, type Refusal } from '../support/api.js';
import { Resources } from '../support/resources.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;
/** Reads `shop` and `hr`, and writes `shop`. */
let clerk: Org;
let policies: Resources;
/** Has an event in a context of a name that is refused today. */
let older: Org;

const CONTEXTS = ['shop', 'hr', 'secret', 'Shop'];
const READABLE = ['shop', 'hr'];
const context = (name: string) => `/org/acme/auditctx/${name}`;
const CLERK = '/org/acme/serviceaccount/clerk';

let ids: Record<string, string[]>;

beforeAll(async () => {
  const seed = new Seed();
  const key = seed.org('acme');
  const olderKey = seed.org('older');
  seed.formerEvent('older', 'SVC', { resource: { name: 'x' } }, 'former');
  const clerkKey = seed.key(seed.account('acme', 'clerk'));
  const binding = (...permissions: string[]) => [{ permissions, principalLinks: [CLERK] }];
  // Two policies add up; a context that has no event is none to be seen.
  seed.policy('acme', 'shop', {
    targetKind: 'auditctx',
    targetLinks: [context('shop'), context('none')],
    bindings: binding('readAudit', 'writeAudit'),
  });
  seed.policy('acme', 'hr', { targetKind: 'auditctx', targetLinks: [context('hr')], bindings: binding('readAudit') });
  service = await startService({ seed });
  org = new Org(service.url, 'acme', key);
  older = new Org(service.url, 'older', olderKey);
  clerk = new Org(service.url, 'acme', clerkKey);
  policies = new Resources(org, 'policy');
  ids = {};
  for (let n = 0; n < 40; n += 1) {
    const name = CONTEXTS[n % 4] ?? '';
    const { id } = await org.published({ resource: { name: 'thing', id: 'r-1' } }, { context: name });
    ids[name] = [...(ids[name] ?? []), id];
  }
});

afterAll(() => service.remove());

const contextsOf = (events: readonly Event[]) => [...new Set(events.map((event) => event.context.name))].sort();
const wanted = () => READABLE.flatMap((name) => ids[name] ?? []).sort();

/** The events of an export, and its last line. */
async function exported(from: Org, query = ''): Promise<{ events: Event[]; count: number; cursor: string }> {
  const { status, text } = await from.api.get(`${from.audit}/-export${query}`);
  if (status !== 200) throw new Error(`the export answered ${status}: ${text}`);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { count, cursor } = lines.pop() as { count: number; cursor: string };
  return { events: lines, count, cursor };
}

describe('who may read some audit contexts', () => {
  test.each([
    ['of the organization', ''],
    ['in the order received', '?order=received'],
    ['of a resource by name', '/resource/name/thing'],
    ['of a resource by id', '/resource/id/r-1'],
    ['of a resource, in the order received', '/resource/name/thing?order=received'],
  ])('sees those alone in the list %s, on every page', async (_what, path) => {
    const paged = `${clerk.audit}${path}${path.includes('?') ? '&' : '?'}pageSize=7`;
    const events = await clerk.walk(paged);
    expect(events.map(({ id }) => id).sort()).toEqual(wanted());
    const whole = await org.walk(paged);
    expect(contextsOf(whole)).toEqual(expect.arrayContaining(CONTEXTS));
  });

  test('sees those alone on a page by its number, and at the end of the order received', async () => {
    const events: Event[] = [];
    for (const page of ['1', '2', '3', '4']) events.push(...(await clerk.list({ page, pageSize: '6' })).body.items);
    expect(events.map(({ id }) => id).sort()).toEqual(wanted());
    const { body } = await clerk.list({ order: 'received', last: '5' });
    expect([body.items.length, contextsOf(body.items)]).toEqual([5, ['hr', 'shop']]);
  });

  test('finds nothing by a filter on another context, whether there is one or not', async () => {
    const found = async (contextName: string) => (await clerk.list({ contextName })).body.items.length;
    expect([await found('shop'), await found('hr')]).toEqual([10, 10]);
    expect([await found('secret'), await found('Shop'), await found('svc'), await found('nowhere')]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  test('exports those alone', async () => {
    const { events, count } = await exported(clerk);
    expect(events.map(({ id }) => id).sort()).toEqual(wanted());
    expect(count).toBe(wanted().length);
    expect((await exported(clerk, '?contextName=secret')).events).toEqual([]);
  });

  test('reads an event of another as one that is not there', async () => {
    const answer = async (of: Org, id: string) => {
      const { status, body } = await of.event<Refusal>(id);
      const { id: _requestId, ...rest } = body;
      return [status, status === 404 ? rest : 'found'];
    };
    const missing = await answer(clerk, '01890000-0000-7000-8000-000000000000');
    for (const name of CONTEXTS) {
      const id = ids[name]?.[0] ?? '';
      expect(await answer(org, id)).toEqual([200, 'found']);
      expect(await answer(clerk, id)).toEqual(READABLE.includes(name) ? [200, 'found'] : missing);
    }
    expect(missing[0]).toBe(404);
  });

  test('reads a keyed event of another as one that is not there', async () => {
    const { id } = await org.published({ resource: { name: 'x' } }, { context: 'secret', idempotencyKey: 'k' });
    expect([(await org.event(id)).status, (await clerk.event(id)).status]).toEqual([200, 404]);
  });

  test('sees those contexts alone, by name', async () => {
    type Contexts = { readonly items: readonly { readonly name: string; readonly count: number }[] };
    const names = async (of: Org) =>
      (await of.api.get<Contexts>(`${of.audit}/auditctx`)).body.items.map(({ name }) => name);
    expect(await names(org)).toEqual(['Shop', 'hr', 'secret', 'shop', 'svc']);
    expect(await names(clerk)).toEqual(['hr', 'shop']);
    const statuses = async (name: string) => (await clerk.api.get(`${clerk.audit}/auditctx/${name}`)).status;
    expect([
      await statuses('shop'),
      await statuses('none'),
      await statuses('secret'),
      await statuses('nowhere'),
    ]).toEqual([200, 404, 403, 403]);
  });
});

describe('who may write an audit context', () => {
  test('writes that alone, one event or many', async () => {
    const event = { resource: { name: 'written' } };
    const statuses = [];
    for (const name of ['shop', 'hr', 'secret', 'Shop', 'shop2', 'svc']) {
      const one = await clerk.publish(event, { context: name });
      const many = await clerk.bulk([event], { context: name });
      statuses.push([name, one.status, many.status]);
    }
    expect(statuses).toEqual([
      ['shop', 201, 200],
      ['hr', 403, 403],
      ['secret', 403, 403],
      ['Shop', 403, 403],
      ['shop2', 403, 403],
      ['svc', 403, 403],
    ]);
  });

  test('may not read what it may write, unless a policy says so', async () => {
    const account = new Resources(org, 'serviceaccount');
    await account.create({ name: 'writer' });
    const { body } = await org.api.post<{ key: string }>(`${account.at('writer')}/-addKey`, { description: '' });
    const writer = new Org(service.url, 'acme', body.key);
    const bindings = [{ permissions: ['writeAudit'], principalLinks: ['/org/acme/serviceaccount/writer'] }];
    await policies.create({ name: 'writers', targetKind: 'auditctx', target: 'all', bindings });
    const { status, body: published } = await writer.publish({ resource: { name: 'x' } }, { context: 'new' });
    expect(status).toBe(201);
    const reads = [
      await writer.list(),
      await writer.event(published.id),
      await writer.api.get(`${writer.audit}/-export`),
    ];
    expect(reads.map((read) => read.status)).toEqual([403, 403, 403]);
    expect((await writer.publish({ resource: { name: 'x' } }, { context: 'svc' })).status).toBe(403);
  });

  test.each(['SVC', 'Svc', 'sVc'])('makes no context %s, which reads like the one of the service', async (name) => {
    const put = await org.api.send('PUT', `${org.audit}/auditctx/${name}`, '{"retentionDays":7}', {
      'content-type': 'application/json',
    });
    const sent = [
      await org.publish<Refusal>({ resource: { name: 'x' } }, { context: name }),
      await org.bulk<Refusal>([{ resource: { name: 'x' } }], { context: name }),
      put,
    ];
    for (const { status, text } of sent) {
      expect([status, text]).toEqual([403, expect.stringContaining(`${name} reads like svc`)]);
    }
    expect((await org.api.get(`${org.audit}/auditctx/${name}`)).status).toBe(404);
  });

  test('reads a context from before that reads like the one of the service, and sets its retention', async () => {
    expect((await older.list({ contextName: 'SVC' })).body.items).toHaveLength(1);
    const put = await older.api.send('PUT', `${older.audit}/auditctx/SVC`, '{"retentionDays":null}', {
      'content-type': 'application/json',
    });
    expect(put.status).toBe(200);
    expect((await older.publish({ resource: { name: 'x' } }, { context: 'SVC' })).status).toBe(403);
  });

  test('sets its retention only with manage', async () => {
    const set = (of: Org, name: string) =>
      of.api.send('PUT', `${of.audit}/auditctx/${name}`, '{"retentionDays":null}', {
        'content-type': 'application/json',
      });
    expect([(await set(clerk, 'shop')).status, (await set(org, 'shop')).status]).toEqual([403, 200]);
  });
});

describe('a cursor', () => {
  test('shows a caller of narrower rights no more than that caller may read', async () => {
    for (const order of ['newest', 'received']) {
      const first = await org.list({ order, pageSize: '5' });
      const events: Event[] = [];
      for (let at = linkOf(first.body, 'next'); at !== undefined; ) {
        const { status, body } = await clerk.api.get<EventPage>(at);
        expect(status).toBe(200);
        events.push(...body.items);
        at = linkOf(body, 'next');
      }
      expect(events.length).toBeGreaterThan(10);
      expect(contextsOf(events)).toEqual(['hr', 'shop']);
    }
    const { cursor } = await exported(org, '?contextName=shop&toEvent=2001-01-01T00:00:00Z');
    expect((await exported(clerk, `?contextName=shop&toEvent=2001-01-01T00:00:00Z&cursor=${cursor}`)).events).toEqual(
      [],
    );
  });

  test('goes on when rights change: with what may be read by then', async () => {
    const resume = async (at: string) => {
      const { status, body } = await clerk.api.get<EventPage>(at);
      expect(status).toBe(200);
      return { names: body.items.map(({ context: { name } }) => name), at: linkOf(body, 'resume') ?? '' };
    };
    const start = await resume(`${clerk.audit}?order=received&last=0`);
    const publish = async () => {
      for (const name of ['shop', 'secret', 'hr'])
        await org.publish({ resource: { name: 'later' } }, { context: name });
    };
    await publish();
    const before = await resume(start.at);
    expect(before.names).toEqual(['shop', 'hr']);
    await policies.create({
      name: 'secret',
      targetKind: 'auditctx',
      targetLinks: [context('secret')],
      bindings: [{ permissions: ['readAudit'], principalLinks: [CLERK] }],
    });
    await publish();
    const wider = await resume(before.at);
    expect(wider.names).toEqual(['shop', 'secret', 'hr']);
    await policies.delete('secret');
    await policies.patch('hr', { bindings: [] });
    await publish();
    expect((await resume(wider.at)).names).toEqual(['shop']);
    await policies.patch('hr', { bindings: [{ permissions: ['readAudit'], principalLinks: [CLERK] }] });
  });
});

test('with thousands of contexts to read, a list is as right as with few', async () => {
  const account = new Resources(org, 'serviceaccount');
  await account.create({ name: 'broad' });
  const { body } = await org.api.post<{ key: string }>(`${account.at('broad')}/-addKey`, { description: '' });
  const bindings = [{ permissions: ['readAudit'], principalLinks: ['/org/acme/serviceaccount/broad'] }];
  for (let n = 0; n < 10; n += 1) {
    const targetLinks = Array.from({ length: 199 }, (_, m) => context(`ctx-${n}-${m}`));
    await policies.create({
      name: `broad-${n}`,
      targetKind: 'auditctx',
      targetLinks: [...targetLinks, context('hr')],
      bindings,
    });
  }
  const broad = new Api(service.url, body.key);
  const { items } = (await broad.get<EventPage>(`${org.audit}?pageSize=1000`)).body;
  expect(contextsOf(items)).toEqual(['hr']);
  expect(items.length).toBeGreaterThan(10);
});
