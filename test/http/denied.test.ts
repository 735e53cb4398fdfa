import { connect } from 'node:net';
import { pino } from 'pino';
import { type DeniedAttempt, DeniedAttempts, deniedEvent } from '../../src/commands/denied-attempts.js';
import { type DeniedSummary, DeniedTally } from '../../src/commands/denied-tally.js';
import { ControlError } from '../../src/contract/errors.js';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import type { AuditEvent } from '../../src/model/audit-event.js';
import { systemIds } from '../../src/platform/ids.js';
import { Metrics } from '../../src/platform/metrics.js';
import { Api, type Event, newOrg, Org } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;
let robot: Api;
let ann: Api;

beforeAll(async () => {
  const seed = new Seed();
  const key = seed.org('acme');
  seed.org('globex');
  const robotKey = seed.key(seed.account('acme', 'robot'));
  const annKey = seed.key(seed.user('acme', 'ann@example.com', { name: 'Ann' }));
  service = await startService({ seed });
  org = new Org(service.url, 'acme', key);
  robot = new Api(service.url, robotKey);
  ann = new Api(service.url, annKey);
});

afterAll(() => service.remove());

/** Nobody waits for a denied attempt to be recorded. */
async function eventually<Found>(find: () => Promise<Found | undefined>): Promise<Found> {
  for (const deadline = Date.now() + 20_000 * PATIENCE; ; ) {
    const found = await find();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error('it did not come');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A service account that may do nothing. */
async function newAccount(of: Org, name: string): Promise<Api> {
  const accounts = `/org/${of.name}/serviceaccount`;
  await of.api.post(accounts, { name });
  const { body } = await of.api.post<{ readonly key: string }>(`${accounts}/${name}/-addKey`, {
    description: 'a test',
  });
  return new Api(service.url, body.key);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const deniedOf = (of: Org, requestId: string): Promise<Event> =>
  eventually(async () => (await of.list({ requestId })).body.items[0]);

describe('a denied attempt', () => {
  test('is an audit event of the caller’s organization: who wanted what, and where', async () => {
    const headers = { 'x-request-id': 'denied-1', 'content-type': 'application/json' };
    const { status } = await robot.send('PATCH', '/org/acme/group/viewers?secret=x', '{}', headers);
    expect(status).toBe(403);
    const event = await deniedOf(org, 'denied-1');
    expect(event).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/),
      resource: { type: 'group', name: '/org/acme/group/viewers' },
      action: { type: 'edit', data: { method: 'PATCH' } },
      result: { status: 'DENIED', message: expect.any(String) },
      eventTime: event.postedTime,
      postedTime: expect.any(String),
      receivedTime: expect.any(String),
      requestId: 'denied-1',
      context: {
        ...{ org: 'acme', name: 'svc', remoteIp: '127.0.0.1', eventSource: 'control' },
        publisher: {
          link: '/org/acme/serviceaccount/robot',
          keyId: expect.stringMatching(UUID),
          remoteIp: '127.0.0.1',
        },
      },
      subject: { name: 'robot', data: { link: '/org/acme/serviceaccount/robot' } },
    });
  });

  test('is found by the path, the kind, the permission, the result and the caller', async () => {
    await ann.get('/org/acme/policy/superusers', { 'x-request-id': 'denied-2' });
    const { id } = await deniedOf(org, 'denied-2');
    const found = async (query: Record<string, string>) => (await org.list(query)).body.items.map((event) => event.id);
    expect(await found({ resultStatus: 'DENIED', subjectEmail: 'ann@example.com' })).toEqual([id]);
    expect(await found({ resultStatus: 'DENIED', resourceType: 'policy', actionType: 'view' })).toEqual([id]);
    const named = (await org.named('/org/acme/policy/superusers')).body.items;
    expect(named.map((event) => event.id)).toEqual([id]);
  });

  test.each<[string, string, string, string[]]>([
    ['every resource', 'POST', '/org/acme/user/-invite', ['user', 'invite']],
    ['some resources', 'GET', '/org/acme/domain', ['domain', 'view']],
    ['an audit context', 'POST', '/audit/org/acme/auditctx/app', ['auditctx', 'writeAudit']],
    ['the root key', 'POST', '/org', ['org', 'root']],
  ])('names the permission on %s', async (what, method, path, expected) => {
    const requestId = `denied-${what.replaceAll(' ', '-')}`;
    await robot.raw(method, path, { headers: { 'x-request-id': requestId } });
    const { resource, action } = await deniedOf(org, requestId);
    expect([resource.type, action?.type, resource.name]).toEqual([...expected, path]);
  });

  test('is one, too, where the route is open to the caller and the request is not: the context of the service', async () => {
    const requestId = 'denied-svc';
    const answer = await org.publish(
      { resource: { name: 'x' } },
      { context: 'svc', headers: { 'x-request-id': requestId } },
    );
    expect(answer.status).toBe(403);
    const { resource, action, subject } = await deniedOf(org, requestId);
    expect([resource.type, resource.name, action?.type, subject.name]).toEqual([
      'auditctx',
      '/audit/org/acme/auditctx/svc',
      'writeAudit',
      'admin',
    ]);
  });

  test('on another organization is recorded at home alone', async () => {
    const other = await newOrg(service);
    const before = (await other.list()).body.items.length;
    const requestId = 'denied-elsewhere';
    const paths = [`/org/${other.name}`, `/org/${other.name}/user`, '/org/no-such-org', `/audit/org/${other.name}`];
    for (const path of paths) expect((await robot.get(path, { 'x-request-id': requestId })).status).toBe(403);
    const names = await eventually(async () => {
      const { items } = (await org.list({ requestId, order: 'received' })).body;
      return items.length === paths.length ? items.map(({ resource }) => resource.name) : undefined;
    });
    expect(names).toEqual(paths);
    expect((await other.list()).body.items).toHaveLength(before);
  });

  test('is recorded even if the client does not wait for the response', async () => {
    const { port } = new URL(service.url);
    const head = ['GET /org/acme/user HTTP/1.1', 'host: x', `authorization: Bearer ${robot.key}`, 'x-request-id: gone'];
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`${head.join('\r\n')}\r\n\r\n`, () => socket.destroy());
    const { resource, context } = await deniedOf(org, 'gone');
    expect([resource.name, context.remoteIp]).toEqual(['/org/acme/user', '127.0.0.1']);
  });

  test('keeps a path as it was sent, of 200 bytes at most, without its query, and says that it was cut', async () => {
    const long = `/org/acme/group/${'%C3%A4'.repeat(400)}?token=secret`;
    await robot.raw('GET', long, { headers: { 'x-request-id': 'denied-long' } });
    const { resource, action } = await deniedOf(org, 'denied-long');
    expect(resource.name).toBe(long.slice(0, 200));
    expect(action?.data).toEqual({ method: 'GET', cut: ['resource.name'] });
  });

  test('is recorded though 300 harmless refusals come at the same time', async () => {
    const attacked = await newOrg(service);
    const mallory = await newAccount(attacked, 'mallory');
    const path = `/org/${attacked.name}/serviceaccount/admin/-addKey`;
    const statuses = await Promise.all(
      Array.from({ length: 301 }, async (_, n) => {
        if (n !== 200) return (await mallory.get(`/org/${attacked.name}/user`)).status;
        return (await mallory.post(path, { description: 'x' }, { 'x-request-id': 'takeover' })).status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([403]));
    const { resource, action, subject } = await deniedOf(attacked, 'takeover');
    expect([resource.name, action?.type, subject.name]).toEqual([path, 'addKey', 'mallory']);
  });

  test('is none without a principal: no key, a key that is none, the root key', async () => {
    const requestId = 'denied-nobody';
    const headers = { 'x-request-id': requestId };
    const nobodies = [new Api(service.url), new Api(service.url, 'svc_none'), new Api(service.url, service.rootKey)];
    const statuses = [];
    for (const nobody of nobodies) statuses.push((await nobody.get('/org/acme/user', headers)).status);
    expect(statuses).toEqual([401, 401, 403]);
    await robot.get('/org/acme/user', { 'x-request-id': 'denied-marker' });
    await deniedOf(org, 'denied-marker');
    expect((await org.list({ requestId })).body.items).toEqual([]);
  });

  test('in great number is recorded in part and counted completely, so refusals cannot fill the log', async () => {
    const flooded = await newOrg(service);
    const many = 300;
    const unrecordedSoFar = async () => {
      const metrics = (await new Api(service.url).get('/metrics')).text;
      return Number(/^control_denied_attempts_unrecorded_total (\d+)$/m.exec(metrics)?.[1]);
    };
    const before = await unrecordedSoFar();
    await Promise.all(
      Array.from({ length: many }, () => flooded.api.get('/org/acme/user', { 'x-request-id': 'denied-flood' })),
    );
    const unrecorded = (await unrecordedSoFar()) - before;
    const { items } = await eventually(async () => {
      const { body } = await flooded.list({ requestId: 'denied-flood', pageSize: '1000' });
      return body.items.length + unrecorded >= many ? body : undefined;
    });
    expect(items.length).toBeGreaterThanOrEqual(50);
    expect(items.length).toBeLessThan(150);
    expect(items.length + unrecorded).toBe(many);
  });
});

describe('denied attempts that are not recorded one by one', () => {
  const robotOf = (org: string, name = 'robot') => {
    return { org, link: `/org/${org}/serviceaccount/${name}`, name, keyId: 'k', keyHash: 'h' };
  };
  const attempt = (org: string, other: Partial<DeniedAttempt> = {}): DeniedAttempt => ({
    principal: robotOf(org),
    kind: 'group',
    permission: 'edit',
    gravity: 'privilege',
    method: 'PATCH',
    path: '/org/x',
    requestId: 'r',
    remoteIp: '192.0.2.1',
    ...other,
  });
  /** What a summary says of attempts that are all alike. */
  const alike = (org: string, attempts: number) => ({
    unrecorded: attempts,
    by: [
      {
        principal: `/org/${org}/serviceaccount/robot`,
        kind: 'group',
        permission: 'edit',
        address: '192.0.2.1',
        gravity: 'privilege',
        attempts,
      },
    ],
    others: 0,
  });

  function setUp(append: (entries: readonly LogEntry[]) => Promise<never[]>) {
    let now = 1_000_000;
    const events: AuditEvent[] = [];
    const log = {
      append: async (entries: readonly LogEntry[]) => {
        await append(entries);
        events.push(...entries.map(({ value }) => JSON.parse(Buffer.from(value).toString())));
        return [];
      },
    } as unknown as EventLog;
    const clock = { now: () => now };
    const metrics = new Metrics();
    const denied = new DeniedAttempts(log, clock, systemIds(clock), metrics, pino({ level: 'silent' }));
    const unrecorded = async () =>
      Number(/^control_denied_attempts_unrecorded_total (\d+)$/m.exec(await metrics.exposition())?.[1] ?? 0);
    const passes = (ms: number) => {
      now += ms;
    };
    return { denied, events, unrecorded, passes };
  }

  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const summaries = (events: readonly AuditEvent[]) =>
    events
      .filter(({ action }) => action?.type === 'denied-attempts')
      .map(({ action, context }) => [context.org, action?.data]);

  test('are summed up for each organization, at the end at the latest', async () => {
    const { denied, events, unrecorded } = setUp(async () => []);
    for (let count = 0; count < 70; count += 1) denied.note(attempt('acme'));
    for (let count = 0; count < 51; count += 1) denied.note(attempt('globex'));
    denied.note(attempt('quiet'));
    await turn();
    expect([events.length, await unrecorded()]).toEqual([50 + 50 + 1, 20 + 1]);
    await denied.close();
    expect(summaries(events)).toEqual([
      ['acme', alike('acme', 20)],
      ['globex', alike('globex', 1)],
    ]);
    expect(events.at(-1)).toMatchObject({
      resource: { type: 'org', name: 'globex' },
      context: { org: 'globex', name: 'svc', publisher: { keyId: 'service' } },
      subject: { name: 'service' },
      result: { status: 'DENIED' },
    });
    await denied.close();
    expect(summaries(events)).toHaveLength(2);
  });

  test('are so few as time goes on: so many a second are recorded', async () => {
    const { denied, events, passes } = setUp(async () => []);
    for (let count = 0; count < 60; count += 1) denied.note(attempt('acme'));
    passes(500);
    for (let count = 0; count < 60; count += 1) denied.note(attempt('acme'));
    passes(3_600_000);
    for (let count = 0; count < 60; count += 1) denied.note(attempt('acme'));
    passes(-60_000);
    denied.note(attempt('acme'));
    await turn();
    expect(events).toHaveLength(50 + 5 + 50);
    await denied.close();
    expect(summaries(events)).toEqual([['acme', alike('acme', 10 + 55 + 10 + 1)]]);
  });

  test('for want of room in the log are counted, and recorded as a number when there is room again', async () => {
    let isFull = true;
    const { denied, events, unrecorded } = setUp(async () => {
      if (isFull) throw new ControlError('log_unavailable', 'the queue of the log is full');
      return [];
    });
    for (let count = 0; count < 3; count += 1) denied.note(attempt('acme'));
    await turn();
    expect([events, await unrecorded()]).toEqual([[], 3]);
    await denied.close();
    expect([events, await unrecorded()]).toEqual([[], 3]);
    isFull = false;
    await denied.close();
    expect(summaries(events)).toEqual([['acme', alike('acme', 3)]]);
  });

  test('leave the budgets of other principals alone', async () => {
    const { denied, events } = setUp(async () => []);
    for (let count = 0; count < 120; count += 1) denied.note(attempt('acme'));
    for (let count = 0; count < 30; count += 1) denied.note(attempt('acme', { principal: robotOf('acme', 'other') }));
    await turn();
    const of = (name: string) => events.filter(({ subject }) => subject?.name === name).length;
    expect([of('robot'), of('other')]).toEqual([50, 30]);
  });

  test('leave the budgets of graver attempts alone', async () => {
    const { denied, events } = setUp(async () => []);
    for (let count = 0; count < 1_000; count += 1) {
      denied.note(
        attempt('acme', { principal: robotOf('acme', `robot${count}`), permission: 'view', gravity: 'plain' }),
      );
    }
    for (const gravity of ['privilege', 'superuser'] as const) {
      for (let count = 0; count < 50; count += 1) denied.note(attempt('acme', { gravity, permission: 'manage' }));
    }
    await turn();
    expect(events.filter(({ action }) => action?.type === 'manage')).toHaveLength(100);
  });

  test.each<[string, Partial<DeniedAttempt>]>([
    ['another permission', { permission: 'delete' }],
    ['another kind', { kind: 'policy' }],
    ['another address', { remoteIp: '192.0.2.2' }],
    ['another network of IPv6', { remoteIp: '2001:db8:0:1::1' }],
    ['another resource that exists', { target: '/org/acme/group/ops' }],
  ])('are not the first of their kind: one for want of %s is recorded once a minute', async (_what, other) => {
    const { denied, events, passes } = setUp(async () => []);
    const rounds = [];
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 700; count += 1) denied.note(attempt('acme'));
      const before = events.length;
      for (let count = 0; count < 5; count += 1) denied.note(attempt('acme', { requestId: 'other', ...other }));
      await turn();
      rounds.push(events.slice(before).filter(({ requestId }) => requestId === 'other').length);
      passes(round === 0 ? 1_000 : 60_000);
    }
    expect(rounds).toEqual([1, 0, 1]);
  });

  test('are as many as come when a caller makes up names: those of no resource are all alike', async () => {
    const { denied, events } = setUp(async () => []);
    for (let count = 0; count < 500; count += 1) denied.note(attempt('acme', { path: `/org/acme/group/g${count}` }));
    await turn();
    expect(events).toHaveLength(50);
  });

  test('are listed by principal, permission and address, the gravest first, the rest as a number', async () => {
    const { denied, events } = setUp(async (entries) => {
      if (!String(Buffer.from(entries[0]?.value ?? [])).includes('denied-attempts')) {
        throw new ControlError('log_unavailable', 'the queue of the log is full');
      }
      return [];
    });
    for (let n = 0; n < 30; n += 1) {
      for (let count = 0; count <= n; count += 1) {
        denied.note(attempt('acme', { remoteIp: `192.0.2.${n}`, permission: 'view', gravity: 'plain' }));
      }
    }
    denied.note(attempt('acme', { kind: 'serviceaccount', permission: 'addKey', gravity: 'superuser' }));
    await turn();
    await denied.close();
    const [[, data] = []] = summaries(events);
    const { unrecorded, by, others } = data as unknown as DeniedSummary;
    expect(unrecorded).toBe(466);
    expect(by.map(({ permission, address, attempts }) => [permission, address, attempts])).toEqual([
      ['addKey', '192.0.2.1', 1],
      ...Array.from({ length: 9 }, (_, n) => ['view', `192.0.2.${29 - n}`, 30 - n]),
    ]);
    expect(others).toBe(466 - by.reduce((sum, { attempts }) => sum + attempts, 0));
  });

  test('take no more memory the more kinds of them there are', async () => {
    const tally = new DeniedTally();
    const group = { gravity: 'plain', principal: 'p', kind: 'user', permission: 'view' } as const;
    for (let n = 0; n < 10_000; n += 1) tally.add({ ...group, address: `address-${n}` });
    for (let n = 0; n < 5; n += 1) tally.add({ ...group, gravity: 'superuser', address: 'rare' });
    const { unrecorded, by, others } = tally.summary();
    expect([unrecorded, by.length, by[0], others]).toEqual([
      10_005,
      10,
      { ...group, gravity: 'superuser', address: 'rare', attempts: 5 },
      10_005 - 5 - 9,
    ]);
  });

  test.each<[string, Partial<DeniedAttempt>]>([
    ['a path of quotes', { path: '"'.repeat(60_000) }],
    ['a path of four-byte characters', { path: '👩'.repeat(30_000) }],
    [
      'the longest names',
      {
        path: 'x'.repeat(60_000),
        requestId: 'x'.repeat(128),
        remoteIp: 'x'.repeat(64),
        principal: {
          ...robotOf('o'.repeat(63), '日'.repeat(250)),
          link: `/org/${'o'.repeat(63)}/user/${'e'.repeat(254)}`,
          email: 'e'.repeat(254),
          keyId: 'x'.repeat(36),
        },
      },
    ],
  ])('or are, have at most 2,048 bytes each: %s', async (_what, other) => {
    const event = deniedEvent(attempt('acme', other), systemIds({ now: () => Date.now() }).next());
    const text = JSON.stringify(event);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_048);
    expect(text.isWellFormed()).toBe(true);
    expect(event.action?.data?.cut).toEqual(expect.arrayContaining(['resource.name']));
  });

  test('delay neither requests nor the end of the process', async () => {
    const { denied } = setUp(() => new Promise(() => undefined));
    const start = performance.now();
    for (let count = 0; count < 60; count += 1) denied.note(attempt('acme'));
    expect(performance.now() - start).toBeLessThan(1_000 * PATIENCE);
    await denied.close();
    expect(performance.now() - start).toBeLessThan(3_000 * PATIENCE);
  });
});
