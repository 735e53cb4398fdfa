import { type Event, type EventPage, type Json, linkOf, Org, withQuery } from '../support/api.js';
import { invite, type Mailbox, openMailbox } from '../support/mail.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

const CI = '/org/acme/serviceaccount/ci';
const ANN = '/org/acme/user/ann@example.com';
const ADMIN = '/org/acme/serviceaccount/admin';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let mailbox: Mailbox;
let service: TestService;
let admin: Org;
let ci: Org;
let ciOtherKey: Org;
let ann: Org;
let made = 0;

/** A context of its own for what a test publishes. */
const context = () => {
  made += 1;
  return `c${made}`;
};

beforeAll(async () => {
  mailbox = await openMailbox();
  const seed = new Seed();
  const adminKey = seed.org('acme');
  seed.account('acme', 'ci');
  seed.user('acme', 'ann@example.com', { name: 'Ann' });
  const writers = [{ permissions: ['manage'], principalLinks: [CI, ANN] }] as const;
  seed.policy('acme', 'writers', { targetKind: 'auditctx', target: 'all', bindings: [...writers] });
  const keys = [seed.key(CI), seed.key(CI), seed.key(ANN)];
  service = await startService({
    seed,
    env: { ...mailbox.env, CONTROL_TRUSTED_PROXIES: '127.0.0.1' },
  });
  [admin, ci, ciOtherKey, ann] = [adminKey, ...keys].map((key) => new Org(service.url, 'acme', key)) as [
    Org,
    Org,
    Org,
    Org,
  ];
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const publisherIn = ({ context }: Event) => context['publisher'] as Json | undefined;

describe('the publisher of an event', () => {
  test('is the principal, the key and the address of the caller', async () => {
    const [one, other, ofUser] = await Promise.all(
      [ci, ciOtherKey, ann].map((org) => org.published({ resource: { name: 'web' } }, { context: context() })),
    );
    const expected = { link: CI, keyId: expect.stringMatching(UUID), remoteIp: '127.0.0.1' };
    expect([one, other].map((event) => event && publisherIn(event))).toEqual([expected, expected]);
    expect(one && publisherIn(one)?.['keyId']).not.toBe(other && publisherIn(other)?.['keyId']);
    expect(ofUser && publisherIn(ofUser)).toEqual({ ...expected, link: ANN });
  });

  test('replaces what the client sends, member by member', async () => {
    const claims: Json[] = [
      { link: ANN, keyId: 'k', remoteIp: '203.0.113.7' },
      { link: ANN },
      { remoteIp: '203.0.113.7' },
      {},
      { link: 'x'.repeat(5_000), keyId: '', remoteIp: '\u0000"\\' },
    ];
    for (const publisher of claims) {
      const event = { resource: { name: 'web' }, context: { publisher } };
      expect(publisherIn(await ci.published(event))).toEqual({
        link: CI,
        keyId: expect.stringMatching(UUID),
        remoteIp: '127.0.0.1',
      });
    }
  });

  test('takes an event back in as it was read', async () => {
    const { receivedTime: _received, ...event } = await ci.published({ resource: { name: 'web' } });
    const again = await ann.published(event);
    expect([again.subject, publisherIn(again)?.['link']]).toEqual([event.subject, ANN]);
  });

  test('has the real address, and context.remoteIp keeps the client’s claim', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.4' };
    const event = { resource: { name: 'web' }, context: { remoteIp: 'build-host' } };
    const { context } = await ci.published(event, { headers });
    expect([context['remoteIp'], (context['publisher'] as Json)['remoteIp']]).toEqual(['build-host', '198.51.100.4']);
  });

  test('is on async and bulk publishes too, keyed or not', async () => {
    const at = context();
    await ci.publish({ resource: { name: 'a' } }, { context: at, async: true });
    await ci.publish({ resource: { name: 'b' } }, { context: at, idempotencyKey: 'b' });
    const items = [{ resource: { name: 'c' } }, { idempotencyKey: 'd', event: { resource: { name: 'd' } } }];
    await ci.bulk(items, { context: at });
    const events = await listed({ contextName: at, order: 'received' }, 4);
    expect(events.map((event) => publisherIn(event)?.['link'])).toEqual([CI, CI, CI, CI]);
  });

  test('leaves the subject to the client, and gives the caller’s where there is none', async () => {
    const subject = { email: 'bob@example.com' };
    expect((await ci.published({ resource: { name: 'web' }, subject })).subject).toEqual(subject);
    expect((await ci.published({ resource: { name: 'web' } })).subject).toEqual({ name: 'ci', data: { link: CI } });
  });
});

/** Waits for so many events: those of async publishes come when they come. */
async function listed(query: Record<string, string>, count: number): Promise<readonly Event[]> {
  for (;;) {
    const { items } = (await admin.list(query)).body;
    if (items.length >= count) return items;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('the filter publisher', () => {
  const names = (events: readonly Event[]) => events.map(({ resource }) => resource.name);
  let at: string;

  beforeAll(async () => {
    at = context();
    const subject = { email: 'ann@example.com' };
    for (const [org, name] of [
      [ci, 'one'],
      [ann, 'two'],
      [ciOtherKey, 'three'],
    ] as const) {
      await org.publish({ resource: { name, id: 'r' }, subject }, { context: at });
    }
  });

  test('picks what a principal published with any of its keys, whatever the subject says', async () => {
    const found = (await admin.list({ contextName: at, publisher: CI })).body.items;
    expect(names(found)).toEqual(['three', 'one']);
    expect(names((await admin.list({ contextName: at, publisher: ANN })).body.items)).toEqual(['two']);
  });

  test('works on every list and on exports, in both orders, page by page', async () => {
    const query = { publisher: CI, contextName: at };
    const paths = [admin.audit, `${admin.audit}/resource/id/r`, `${admin.audit}/resource/name/one`];
    const pages = await Promise.all(
      paths.map(async (path) => names(await admin.walk(withQuery(path, { ...query, pageSize: '1' })))),
    );
    expect(pages).toEqual([['three', 'one'], ['three', 'one'], ['one']]);
    const received = (await admin.list({ ...query, order: 'received' })).body.items;
    const last = (await admin.list({ ...query, order: 'received', last: '1' })).body.items;
    expect([names(received), names(last)]).toEqual([['one', 'three'], ['three']]);
    const lines = (await admin.api.get(withQuery(`${admin.audit}/-export`, query))).text.trimEnd().split('\n');
    expect(lines.slice(0, -1).map((line) => JSON.parse(line).resource.name)).toEqual(['one', 'three']);
  });

  test('is exact', async () => {
    for (const near of [CI.slice(0, -1), `${CI}/`, `/${CI}`, 'ci', 'serviceaccount/ci', '', '%']) {
      expect((await admin.list({ contextName: at, publisher: near })).body.items).toEqual([]);
    }
  });

  test('is kept by next and resume links', async () => {
    const { body } = await admin.list({ contextName: at, publisher: CI, order: 'received', pageSize: '1' });
    const next = await admin.api.get<EventPage>(linkOf(body, 'next') ?? '');
    expect(names(next.body.items)).toEqual(['three']);
  });
});

describe('the publisher of what the service records', () => {
  const eventsOf = async (query: Record<string, string>) =>
    (await admin.list({ contextName: 'svc', ...query })).body.items;

  test('is the caller of the change', async () => {
    const headers = { 'x-request-id': 'group-made', 'x-forwarded-for': '198.51.100.5' };
    await admin.api.post('/org/acme/group', { name: 'devs' }, headers);
    const [event] = await eventsOf({ requestId: 'group-made' });
    expect(event && publisherIn(event)).toEqual({
      link: ADMIN,
      keyId: expect.stringMatching(UUID),
      remoteIp: '198.51.100.5',
    });
    expect(await eventsOf({ publisher: ADMIN, requestId: 'group-made' })).toEqual([event]);
  });

  test('is the root key, which has no link', async () => {
    const root = { authorization: `Bearer ${service.rootKey}`, 'x-request-id': 'recovered' };
    const { status } = await fetchPost(`${service.url}/org/acme/-recover`, root);
    expect(status).toBe(201);
    const events = await eventsOf({ requestId: 'recovered' });
    expect(events.length).toBeGreaterThan(0);
    for (const event of events) expect(publisherIn(event)).toEqual({ keyId: 'root', remoteIp: '127.0.0.1' });
  });

  test('is who accepts an invitation, with the invitation in place of a key', async () => {
    const link = await invite(admin, 'new@example.com');
    const body = JSON.stringify({ code: mailbox.code('new@example.com'), name: 'New' });
    await fetchPost(`${service.url}${link}/-accept`, { 'x-request-id': 'accepted' }, body);
    const [event] = await eventsOf({ requestId: 'accepted', resourceType: 'user' });
    expect(event && publisherIn(event)).toEqual({
      link: '/org/acme/user/new@example.com',
      keyId: link.split('/').at(-1),
      remoteIp: '127.0.0.1',
    });
  });

  test('is absent where the change was recorded before keys were', async () => {
    const events = await eventsOf({ requestId: 'seed', pageSize: '1000' });
    expect(events.length).toBeGreaterThan(5);
    for (const { context } of events) {
      expect(context).toEqual({ org: 'acme', name: 'svc', remoteIp: '192.0.2.1', eventSource: 'control' });
    }
  });
});

function fetchPost(url: string, headers: Record<string, string>, body = '{}'): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}
