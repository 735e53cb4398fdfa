import { setTimeout as delay } from 'node:timers/promises';
import { Api, at, type Event, linkOf, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { onCluster, startService, type TestService } from '../support/service.js';

interface Context {
  readonly kind: string;
  readonly name: string;
  readonly retentionDays: number | null;
  readonly deniedRetentionDays?: number | null;
  readonly count: number;
  readonly version?: number;
}

const DAY = 86_400_000;
let ahead = 0;
let stopped: number | undefined;
const clock = { now: () => stopped ?? Date.now() + ahead };
let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService({ clock });
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

function put<Body = Context & Refusal>(body: unknown, options: { context?: string; ifMatch?: string; api?: Api } = {}) {
  const { context = 'app', ifMatch, api = org.api } = options;
  return api.send<Body>('PUT', `${org.audit}/auditctx/${context}`, JSON.stringify(body), {
    'content-type': 'application/json',
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  });
}

const context = (name = 'app') => org.api.get<Context & Refusal>(`${org.audit}/auditctx/${name}`);
describe('the settings of an audit context', () => {
  test('are set, read back and listed; a context is there without them too', async () => {
    await org.publish({ resource: { name: 'db-1' } }, { context: 'plain' });
    const { status, headers, body } = await put({ retentionDays: 30 });
    expect([status, headers.get('etag')]).toEqual([200, '"1-0"']);
    expect(body).toMatchObject({ kind: 'auditctx', name: 'app', retentionDays: 30, count: 0, version: 1 });
    expect((await context()).body).toEqual(body);

    const plain = { kind: 'auditctx', name: 'plain', retentionDays: null, count: 1 };
    expect((await context('plain')).body).toMatchObject(plain);
    const { body: list } = await org.api.get<{ items: Context[] }>(`${org.audit}/auditctx`);
    expect(list.items).toEqual([body, expect.objectContaining(plain), expect.objectContaining({ name: 'svc' })]);
  });

  test('can be sent back as they were read', async () => {
    const { body } = await put({ retentionDays: 30 });
    expect((await put({ ...body, retentionDays: 60 })).body).toMatchObject({ retentionDays: 60, version: 2 });
    const stale = await put({ ...body, retentionDays: 90 });
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
  });

  test('are changed only at the version that If-Match names', async () => {
    await put({ retentionDays: 30 });
    expect((await put({ retentionDays: 40 }, { ifMatch: '"7"' })).status).toBe(412);
    expect((await put({ retentionDays: 40 }, { ifMatch: '"1"' })).status).toBe(200);
    expect((await put({ retentionDays: 50 }, { ifMatch: '*' })).status).toBe(200);
    expect(pointers(await put<Refusal>({ retentionDays: 50 }, { ifMatch: 'W/"x"' }))).toEqual(['header:If-Match']);
  });

  test('have an ETag of version and count: 304 while both are the same', async () => {
    await put({ retentionDays: 30 });
    const tag = (await context()).headers.get('etag') ?? '';
    const known = (given: string) => org.api.get<Context>(`${org.audit}/auditctx/app`, { 'if-none-match': given });
    for (const given of [tag, `W/${tag}`, `"7", ${tag}`, '*']) {
      const { status, headers, text } = await known(given);
      expect([given, status, headers.get('etag'), text]).toEqual([given, 304, '"1-0"', '']);
    }
    expect((await known('"1"')).status).toBe(200);
    await org.published({ resource: { name: 'one more' } });
    const counted = await known(tag);
    expect([counted.status, counted.headers.get('etag'), counted.body.count]).toEqual([200, '"1-1"', 1]);
    expect((await known('"1-1"')).status).toBe(304);
    const changed = await put({ retentionDays: 40 }, { ifMatch: tag });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2-1"']);
    expect((await known('"1-1"')).status).toBe(200);
    expect((await put({ retentionDays: 50 }, { ifMatch: '"1-1"' })).status).toBe(412);
  });

  test('are recorded as audit events with what changed', async () => {
    await put({ retentionDays: 30 });
    await put({ retentionDays: 30 });
    await put({ retentionDays: null });
    const { body } = await org.list({ contextName: 'svc', resourceType: 'auditctx' });
    expect(body.items.map(({ action }) => [action?.type, action?.data])).toEqual([
      [
        'edit',
        {
          before: expect.objectContaining({ retentionDays: 30, version: 1 }),
          after: expect.objectContaining({ retentionDays: null, version: 2 }),
        },
      ],
      ['edit', { before: null, after: expect.objectContaining({ retentionDays: 30 }) }],
    ]);
  });

  test.each([
    [{}, ['/retentionDays']],
    [{ retentionDays: 0 }, ['/retentionDays']],
    [{ retentionDays: 1.5 }, ['/retentionDays']],
    [{ retentionDays: '30' }, ['/retentionDays']],
    [{ retentionDays: 36_501 }, ['/retentionDays']],
    [{ retentionDays: 30, name: 'other' }, ['/name']],
    [{ retentionDays: 30, id: 'other' }, ['/id']],
    [{ retentionDays: 30, days: 1, keep: true }, ['/days', '/keep']],
  ])('are refused as %j, naming the place', async (body, places) => {
    const answer = await put<Refusal>(body);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', places]);
  });

  test('are refused for the context that the service keeps for ever, and for a name that cannot be', async () => {
    const svc = await put<Refusal>({ retentionDays: 1 }, { context: 'svc' });
    expect([svc.status, pointers(svc)]).toEqual([400, ['/deniedRetentionDays', '/retentionDays']]);
    expect((await put({ retentionDays: 1 }, { context: '-no' })).status).toBe(400);
    expect((await context('none')).status).toBe(404);
  });
});

describe('the retention of denied attempts', () => {
  test('is 30 days, is set in the context of the service, and is recorded', async () => {
    const { body } = await context('svc');
    expect(body).toMatchObject({ retentionDays: null, deniedRetentionDays: 30 });
    const { status, body: changed } = await put({ ...body, deniedRetentionDays: 90 }, { context: 'svc' });
    expect([status, changed]).toEqual([
      200,
      expect.objectContaining({ retentionDays: null, deniedRetentionDays: 90, version: 1 }),
    ]);
    expect((await context('svc')).body).toMatchObject({ deniedRetentionDays: 90 });
    const { items } = (await org.list({ contextName: 'svc', resourceType: 'auditctx' })).body;
    expect(items.map(({ action }) => action?.data)).toEqual([
      { before: null, after: expect.objectContaining({ deniedRetentionDays: 90 }) },
    ]);
  });

  test.each([
    [{ deniedRetentionDays: 6 }, ['/deniedRetentionDays']],
    [{ deniedRetentionDays: 36_501 }, ['/deniedRetentionDays']],
    [{ retentionDays: 30, deniedRetentionDays: 30 }, ['/retentionDays']],
    [{ retentionDays: null }, ['/deniedRetentionDays']],
  ])('is refused as %j, naming the place', async (body, places) => {
    expect(pointers(await put<Refusal>(body, { context: 'svc' }))).toEqual(places);
  });

  test('cannot be set in another context', async () => {
    const answer = await put<Refusal>({ retentionDays: 30, deniedRetentionDays: 30 });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/deniedRetentionDays']]);
  });

  test('hides denied attempts after 30 days, from a rebuilt read model too, and no other event of the service', async () => {
    const path = `/org/${org.name}/serviceaccount`;
    await org.api.post(path, { name: 'robot' });
    const { body } = await org.api.post<{ key: string }>(`${path}/robot/-addKey`, { description: 'a test' });
    const requestId = `denied-${org.name}`;
    await new Api(service.url, body.key).get(path, { 'x-request-id': requestId });
    const denied = async () => (await org.list({ contextName: 'svc', resultStatus: 'DENIED' })).body.items;
    while ((await denied()).length === 0) await delay(20);
    const [event] = await denied();
    const all = (await context('svc')).body.count;

    stopped = Date.parse(event?.receivedTime ?? '') + 30 * DAY - 1;
    expect(await denied()).toHaveLength(1);
    stopped += 60_001;
    const check = async () => {
      expect(await denied()).toEqual([]);
      expect((await org.event(event?.id ?? '')).status).toBe(404);
      expect((await org.list({ contextName: 'svc' })).body.items).toHaveLength(all - 1);
      expect((await context('svc')).body.count).toBe(all - 1);
    };
    await check();
    const { dataDir } = service;
    await service.loseReadModel();
    service = await startService({ clock, dataDir });
    org = at(service, org);
    await check();
    ahead = clock.now() - Date.now();
    stopped = undefined;
  });
});

describe('events older than the retention of their context', () => {
  /** Longer from test to test: the clock, and with it the time of the embedded log, never goes backward. */
  let retentionDays = 0;
  beforeEach(() => {
    retentionDays += 7;
  });
  afterEach(() => {
    ahead = clock.now() - Date.now();
    stopped = undefined;
  });

  /** The clock stands where the retention reaches to this event, or so many milliseconds past it. */
  const reachTo = ({ receivedTime }: Event, ms = 0) => {
    stopped = Date.parse(receivedTime) + ms + retentionDays * DAY;
  };

  /** The log takes each event at a time of its own. */
  async function published(name: string, context = 'app'): Promise<Event> {
    await delay(5);
    return org.published({ resource: { id: 'r-1', name } }, { context });
  }

  async function aged() {
    const [old, fresh] = [await published('db-1'), await published('db-1')];
    const kept = await org.published({ resource: { id: 'r-1', name: 'db-1' } }, { context: 'kept' });
    reachTo(fresh);
    return { old, fresh, kept };
  }
  const ids = (events: readonly { id: string }[]) => events.map(({ id }) => id);

  test('are not served any more, by id, in any list, in counts or in the export', async () => {
    const { old, kept, fresh } = await aged();
    await put({ retentionDays });
    expect((await org.event<Refusal>(old.id)).body.code).toBe('not_found');
    expect((await org.event(kept.id)).status).toBe(200);
    const served = [kept.id, fresh.id];
    expect(ids((await org.named('db-1')).body.items)).toEqual(served);
    expect(ids((await org.list({ resourceId: 'r-1' })).body.items)).toEqual(served);
    expect(ids((await org.list({ resourceId: 'r-1', order: 'received' })).body.items)).toEqual(served.toReversed());
    expect(ids((await org.list({ contextName: 'app', order: 'received', last: '5' })).body.items)).toEqual([fresh.id]);
    expect([(await context()).body.count, (await context('kept')).body.count]).toEqual([1, 1]);
    const { text } = await org.api.get(`${org.audit}/-export?resourceId=r-1`);
    expect(text).not.toContain(old.id);
    expect(text).toContain(fresh.id);
  });

  test('stay hidden when the retention is made longer, and after a rebuild', async () => {
    const { old, fresh } = await aged();
    await put({ retentionDays });
    await put({ retentionDays: null });
    // A clock that is days ahead of Kafka's hides nothing for good; the embedded log goes by the same clock.
    const [served, status] = onCluster ? [[fresh.id, old.id], 200] : [[fresh.id], 404];
    expect(ids((await org.list({ contextName: 'app' })).body.items)).toEqual(served);
    const { dataDir } = service;
    await service.loseReadModel();
    service = await startService({ clock, dataDir });
    org = at(service, org);
    expect(ids((await org.list({ contextName: 'app' })).body.items)).toEqual(served);
    expect((await org.event(old.id)).status).toBe(status);
  });

  test('move out of sight as time goes on, also behind a link of a list that was begun before', async () => {
    await put({ retentionDays });
    await published('db-1');
    const second = await published('db-1');
    const first = (await org.list({ contextName: 'app', order: 'received', pageSize: '1' })).body;
    expect(first.items).toHaveLength(1);
    reachTo(second);
    const next = linkOf(first, 'next') ?? '';
    expect(ids((await org.api.get(next)).body.items)).toEqual([second.id]);
    expect(ids((await org.list({ contextName: 'app' })).body.items)).toEqual([second.id]);
  });

  test('free their Idempotency-Key', async () => {
    await put({ retentionDays });
    const publish = (name: string) =>
      org.publish<Refusal & { id: string }>({ resource: { name } }, { idempotencyKey: 'k' });
    const first = await publish('one');
    expect((await publish('two')).body.code).toBe('idempotency_conflict');
    reachTo((await org.event(first.body.id)).body.item, 1);
    await delay(5);
    const again = await publish('two');
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect((await org.event(first.body.id)).body.item.resource.name).toBe('two');
  });
});
