import {
  type Acknowledgement,
  type Event,
  fromNow,
  MINUTE,
  newOrg,
  type Org,
  pointers,
  type Refusal,
} from '../support/api.js';
import { onCluster, startService, type TestService } from '../support/service.js';

/** Every field of the specification. */
const FULL = {
  resource: { id: 'r-1', name: 'web', type: 'workload', data: { replicas: 3 } },
  id: 'mine',
  eventTime: '2026-01-02T03:04:05.678Z',
  postedTime: '2020-01-01T00:00:00.000Z',
  receivedTime: '2020-01-01T00:00:00.000Z',
  requestId: 'request-7',
  context: {
    org: 'elsewhere',
    name: 'elsewhere',
    remoteIp: 'host.example',
    eventSource: 'console',
    location: 'aws-us-east-1',
    gvcAlias: 'gvc-1',
    podId: 'pod-1',
    data: { zone: 'b' },
  },
  subject: { email: 'ann@example.com', name: 'Ann', claims: { role: ['admin'] }, data: { mfa: true } },
  action: { type: 'edit', data: { from: 2 } },
  result: { status: 'OK', message: 'done' },
};

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
});

afterAll(() => service.remove());

describe('an acknowledged event', () => {
  test('is found by its id and by a list as soon as a sync publish has answered 201', async () => {
    const { status, body } = await org.publish({ resource: { name: 'sync' } });
    expect(status).toBe(201);
    const [byId, byList] = await Promise.all([org.event(body.id), org.named('sync')]);
    expect(byId.body.item.id).toBe(body.id);
    expect(byList.body.items).toEqual([byId.body.item]);
  });

  test('is acknowledged with 202 and found soon when it was published with async=true', async () => {
    const { status, body } = await org.publish({ resource: { name: 'async' } }, { async: true });
    expect(status).toBe(202);
    // A sync publish waits for everything that the log took before it.
    await org.publish({ resource: { name: 'later' } });
    expect((await org.named('async')).body.items.map(({ id }) => id)).toEqual([body.id]);
  });

  test('is found at once by each of 50 that publish at the same time', async () => {
    const found = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const { body } = await org.publish({ resource: { name: `crowd ${index}` } });
        return [body.id, (await org.named(`crowd ${index}`)).body.items.map(({ id }) => id)];
      }),
    );
    for (const [id, ids] of found) expect(ids).toEqual([id]);
  });

  test('waits by default, and with async=false', async () => {
    const { status } = await org.publish({ resource: { name: 'waits' } }, { async: false });
    expect(status).toBe(201);
  });

  test('is acknowledged with its id and a message only', async () => {
    const { body } = await org.publish<Acknowledgement>({ resource: { name: 'ack' } });
    expect(body).toEqual({ id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/), message: expect.any(String) });
  });

  test('has a Location that answers it, in both modes', async () => {
    for (const async of [false, true]) {
      const { headers, body } = await org.publish({ resource: { name: 'located' } }, { async });
      await org.publish({ resource: { name: 'barrier' } });
      const found = await org.api.get<{ item: Event }>(headers.get('location') ?? '');
      expect(found.body.item.id).toBe(body.id);
    }
  });

  test.each(['True', 'TRUE', 'true'])('does not wait with async=%s', async (flag) => {
    const answer = await org.api.post(`${org.audit}/auditctx/app?async=${flag}`, { resource: { name: 'x' } });
    expect([answer.status, answer.body.message]).toEqual([202, 'the event is recorded']);
  });

  test('refuses an async that is neither true nor false', async () => {
    const answer = await org.api.post<Refusal>(`${org.audit}/auditctx/app?async=yes`, { resource: { name: 'x' } });
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(['?async']);
  });
});

/** As the service names the publisher of all that the tests publish. */
const admin = () => ({
  link: `/org/${org.name}/serviceaccount/admin`,
  keyId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  remoteIp: '127.0.0.1',
});

describe('what is recorded', () => {
  test('is every field of the specification as it was sent, but for what the service assigns', async () => {
    const { id: _id, postedTime: _posted, receivedTime: _received, ...sent } = FULL;
    expect(await org.published(FULL)).toEqual({
      ...sent,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      postedTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      receivedTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      context: { ...sent.context, org: org.name, name: 'app', publisher: admin() },
    });
  });

  test('gets its times from the service: posted, then received, both now', async () => {
    const sent = Date.now();
    const { postedTime, receivedTime } = await org.published(FULL);
    // Kafka's time is measured with records: a process may be off by the time that one takes.
    const off = onCluster ? 1_000 : 0;
    const [posted, received] = [Date.parse(postedTime), Date.parse(receivedTime)];
    expect(posted).toBeGreaterThanOrEqual(sent - off);
    expect(received).toBeGreaterThanOrEqual(posted - off);
    expect(Date.now()).toBeGreaterThanOrEqual(received - off);
  });

  test('carries its postedTime in its id', async () => {
    const { id, postedTime } = await org.published(FULL);
    expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(Date.parse(postedTime));
  });

  test('takes the organization and the context from the path', async () => {
    const { context } = await org.published(FULL, { context: 'Billing.v2_x-1' });
    expect(context).toMatchObject({ org: org.name, name: 'Billing.v2_x-1' });
  });

  test('defaults to the time, address, subject and id of its request, and nothing else is invented', async () => {
    const headers = { 'x-request-id': 'caller-1' };
    const event = await org.published({ resource: { name: 'bare' } }, { headers });
    expect(event).toEqual({
      id: event.id,
      resource: { name: 'bare' },
      eventTime: event.postedTime,
      postedTime: event.postedTime,
      receivedTime: event.receivedTime,
      requestId: 'caller-1',
      context: { org: org.name, name: 'app', remoteIp: '127.0.0.1', publisher: admin() },
      subject: { name: 'admin', data: { link: `/org/${org.name}/serviceaccount/admin` } },
    });
  });

  test('keeps a subject as it was sent, without mixing the caller in', async () => {
    expect((await org.published({ resource: { name: 'x' }, subject: {} })).subject).toEqual({});
  });

  test('believes no X-Forwarded-For of a proxy that is not trusted', async () => {
    const event = await org.published({ resource: { name: 'x' } }, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    expect(event.context['remoteIp']).toBe('127.0.0.1');
  });

  test('keeps member names, empty values and the order of arrays in free-form data', async () => {
    const data = {
      constructor: 1,
      toString: null,
      '': '',
      'a/b~c': [3, 1, [2]],
      nothing: {},
      rawJSON: '1',
      é: '😀\u0000',
    };
    const { resource } = await org.published({ resource: { id: 'free', data } });
    expect(resource.data).toEqual(data);
  });
});

describe('the address behind a trusted proxy', () => {
  test('is the one that the proxy reports', async () => {
    const proxied = await startService({ env: { CONTROL_TRUSTED_PROXIES: '127.0.0.1' } });
    try {
      const event = await (await newOrg(proxied)).published(
        { resource: { name: 'x' } },
        { headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' } },
      );
      expect(event.context['remoteIp']).toBe('203.0.113.9');
    } finally {
      await proxied.remove();
    }
  });
});

describe('the context of the path', () => {
  test('may not be the service’s own', async () => {
    const { status, body } = await org.publish<Refusal>({ resource: { name: 'forged' } }, { context: 'svc' });
    expect([status, body.code]).toEqual([403, 'forbidden']);
  });

  test.each(['.hidden', '-dash', '_under', 'a%20b', 'a%2Fb', 'caf%C3%A9', 'a'.repeat(129)])(
    'is refused as %s',
    async (context) => {
      const answer = await org.publish<Refusal>({ resource: { name: 'x' } }, { context });
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
      expect(pointers(answer)).toEqual(['path:contextName']);
    },
  );

  test.each(['0', 'SVCS', 'a'.repeat(128)])('may be %s', async (context) => {
    expect((await org.publish({ resource: { name: 'x' } }, { context })).status).toBe(201);
  });
});

describe('a member of an event that is null', () => {
  const NULLS = {
    resource: { id: null, name: 'nulls', type: null, data: { kept: null } },
    ...{ id: null, eventTime: null, requestId: null, subject: null, result: null },
    context: { location: null, publisher: null, data: null },
    action: { type: null, data: null },
  };

  const caller = () => ({ name: 'admin', data: { link: `/org/${org.name}/serviceaccount/admin` } });

  test('counts as absent, but in free-form data', async () => {
    const { id, eventTime, postedTime, receivedTime, requestId, ...event } = await org.published(NULLS);
    expect([eventTime, id, requestId, receivedTime]).toEqual([postedTime, ...Array(3).fill(expect.any(String))]);
    expect(event).toEqual({
      resource: { name: 'nulls', data: { kept: null } },
      context: { org: org.name, name: 'app', remoteIp: '127.0.0.1', publisher: expect.any(Object) },
      subject: caller(),
      action: {},
    });
  });

  test('makes no other event of a retry', async () => {
    const without = { resource: { name: 'nulls', data: { kept: null } }, context: {}, action: {} };
    const first = await org.publish(NULLS, { idempotencyKey: 'nulls' });
    const again = await org.publish(without, { idempotencyKey: 'nulls' });
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
  });

  test('is taken in a bulk too, wrapped or not, and beside the event', async () => {
    const { body } = await org.bulk([NULLS, { idempotencyKey: null, event: NULLS }]);
    expect(body.items.map(({ status }) => status)).toEqual([201, 201]);
    for (const { id = '' } of body.items) expect((await org.event(id)).body.item.subject).toEqual(caller());
  });

  test('is refused if no event has such a member, or it is required', async () => {
    const answer = await org.publish<Refusal>({ resource: { id: null, name: null }, extra: null });
    expect(pointers(answer)).toEqual(['/extra', '/resource']);
  });
});

const FINE = '2026-01-31T14:00:00.123456789+02:00';

describe('the time of an event', () => {
  const at = (eventTime: string) => org.publish<Acknowledgement & Refusal>({ resource: { name: 'timed' }, eventTime });

  test('may be 4 minutes in the future', async () => {
    expect((await at(fromNow(4 * MINUTE))).status).toBe(201);
  });

  test('may not be more than 5 minutes in the future', async () => {
    const answer = await at(fromNow(5 * MINUTE + 5_000));
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(['/eventTime']);
  });

  test('may be the first millisecond of the year 0001', async () => {
    const eventTime = '0001-01-01T00:00:00.000Z';
    expect((await org.published({ resource: { name: 'old' }, eventTime })).eventTime).toBe(eventTime);
  });

  test('is refused in the year 9999 because it is in the future, not because it is no instant', async () => {
    const answer = await at('9999-12-31T23:59:59.999Z');
    expect(answer.body.details.fields).toEqual([
      { pointer: '/eventTime', reason: expect.stringContaining('5 minutes in the future') },
    ]);
  });

  test.each([
    ['2026-01-31T12:00:00+05:30', '2026-01-31T06:30:00.000Z'],
    ['2026-01-31T23:59:59.999-23:59', '2026-02-01T23:58:59.999Z'],
    ['2026-01-31T12:00:00.1Z', '2026-01-31T12:00:00.100Z'],
    ['2026-01-31T12:00:00.123000Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T12:00:00.0010000000000Z', '2026-01-31T12:00:00.001Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2026-01-31 12:00:00.123Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31t12:00:00.123z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31t12:00:00.123Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T12:00:00.123z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31 12:00:00+05:30', '2026-01-31T06:30:00.000Z'],
  ])('%s is kept as %s', async (sent, kept) => {
    expect((await org.published({ resource: { name: 'timed' }, eventTime: sent })).eventTime).toBe(kept);
  });

  test.each([
    ['2026-01-31T12:00:00.1234Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T12:00:00.123456+00:00', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T14:00:00.999999999+02:00', '2026-01-31T12:00:00.999Z'],
    ['2026-01-31 14:00:00.9999991+02:00', '2026-01-31T12:00:00.999Z'],
    ['2026-01-31t12:00:00.9999992z', '2026-01-31T12:00:00.999Z'],
    ['0001-01-01T00:00:00.0000001Z', '0001-01-01T00:00:00.000Z'],
  ])('%s is kept as %s, and as it was sent', async (sent, kept) => {
    const event = await org.published({ resource: { name: 'finer' }, eventTime: sent });
    expect([event.eventTime, event.eventTimeSent]).toEqual([kept, sent]);
    expect((await org.list({ resourceName: 'finer', fromEvent: sent, toEvent: sent })).body.items).toEqual([]);
    expect((await org.list({ resourceName: 'finer', fromEvent: sent })).body.items).toContainEqual(event);
  });

  test('keeps finer digits when an event that was read is published again, and no others', async () => {
    const { id: _id, ...event } = await org.published({ resource: { name: 'again' }, eventTime: FINE });
    expect(await org.published(event)).toMatchObject({ eventTime: event.eventTime, eventTimeSent: FINE });
    const other = await org.published({ ...event, eventTime: '2026-01-31T12:00:00.124Z' });
    expect(other).not.toHaveProperty('eventTimeSent');
    expect(await org.published({ resource: { name: 'again' }, eventTimeSent: FINE })).not.toHaveProperty(
      'eventTimeSent',
    );
  });

  test.each([
    '2026-01-31T12:00:00',
    '2026-01-31',
    '2026-01-31 12:00:00',
    '2026-01-31  12:00:00Z',
    '2026-01-31_12:00:00Z',
    '2026-01-31T12:00:00zz',
    '2026-02-29T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:00:60Z',
    '2026-01-31T12:00:00+24:00',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '10000-01-01T00:00:00Z',
    '1767225600000',
    '',
  ])('is refused as %p', async (eventTime) => {
    const answer = await at(eventTime);
    expect(answer.status).toBe(400);
    expect(answer.body.details.fields).toEqual([
      { pointer: '/eventTime', reason: expect.stringContaining('if it has no offset, add one, such as Z for UTC') },
    ]);
  });
});
