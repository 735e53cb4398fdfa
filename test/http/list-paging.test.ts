import { Buffer } from 'node:buffer';
import { type EventPage, linkOf, newOrg, type Org, pointers, type Refusal, withQuery } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

const TIE = '2026-03-01T12:00:00.000Z';

let service: TestService;
let org: Org;
/** 120 events of one millisecond, then one before and one after it. */
const path = () => `${org.audit}/resource/name/tie`;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  const at = (eventTime: string) => ({ resource: { name: 'tie' }, eventTime });
  const keyed = Array.from({ length: 60 }, (_, index) => ({ idempotencyKey: `k${index}`, event: at(TIE) }));
  await org.bulk([at('2026-03-01T12:00:00.001Z'), ...keyed, ...Array.from({ length: 60 }, () => at(TIE))]);
  await org.publish(at('2026-03-01T11:59:59.999Z'));
});

afterAll(() => service.remove());

describe('the order of a list', () => {
  test('is newest first by time, then by id, ties of one millisecond included', async () => {
    const events = await org.walk(withQuery(path(), { pageSize: '1000' }));
    const places = events.map(({ eventTime, id }) => `${eventTime} ${id}`);
    expect(places).toHaveLength(122);
    expect(places).toEqual([...places].sort().reverse());
  });

  test.each([1, 7, 50, 61, 121])('is the same in pages of %d, by next link and by number', async (pageSize) => {
    const whole = await org.walk(withQuery(path(), { pageSize: '1000' }));
    const query = { pageSize: String(pageSize) };
    expect(await org.walk(withQuery(path(), query))).toEqual(whole);
    const pages = Array.from({ length: Math.ceil(122 / pageSize) }, (_, index) =>
      org.api.get<EventPage>(withQuery(path(), { ...query, page: String(index + 1) })),
    );
    expect((await Promise.all(pages)).flatMap(({ body }) => body.items)).toEqual(whole);
  });
});

describe('a page', () => {
  test('has 50 events by default', async () => {
    expect((await org.api.get(path())).body.items).toHaveLength(50);
  });

  test('may have 1,000 events', async () => {
    expect((await org.api.get(`${path()}?pageSize=1000`)).body.items).toHaveLength(122);
  });

  test.each([
    ['pageSize', '0'],
    ['pageSize', '1001'],
    ['pageSize', '-1'],
    ['pageSize', '1.5'],
    ['pageSize', '05'],
    ['pageSize', ''],
    ['pageSize', '１０'],
    ['page', '0'],
    ['page', '-1'],
    ['page', 'two'],
    ['page', '1e3'],
    ['order', 'oldest'],
    ['cursor', ''],
  ])('refuses %s=%s', async (name, value) => {
    const answer = await org.list<Refusal>({ [name]: value });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect(pointers(answer)).toEqual([`?${name}`]);
  });

  test.each([
    ['10', '1000'],
    ['200', '50'],
    ['10000', '1'],
  ])('may be the last that ends at 10,000 events: %s of %s', async (page, pageSize) => {
    const { status, body } = await org.list({ page, pageSize });
    expect([status, body.items]).toEqual([200, []]);
  });

  test.each([
    ['11', '1000'],
    ['201', '50'],
    ['10001', '1'],
    ['999999999', '1000'],
  ])('may not reach past 10,000 events: %s of %s', async (page, pageSize) => {
    const { status, body } = await org.list<Refusal>({ page, pageSize });
    expect([status, body.code]).toEqual([400, 'page_too_deep']);
  });

  test('past the end is empty, without next', async () => {
    const { body } = await org.api.get(`${path()}?page=9`);
    expect(body.items).toEqual([]);
    expect(linkOf(body, 'next')).toBeUndefined();
  });

  test('that is the last has no next, also when it is full', async () => {
    const full = await org.api.get(`${path()}?pageSize=61&page=2`);
    expect(full.body.items).toHaveLength(61);
    expect(linkOf(full.body, 'next')).toBeUndefined();
    const { body } = await org.api.get(`${path()}?pageSize=121`);
    expect((await org.api.get(linkOf(body, 'next') ?? '')).body.items).toHaveLength(1);
  });
});

test('the next links show each event once while new events arrive', async () => {
  const fresh = await newOrg(service);
  const event = { resource: { name: 'moving' }, eventTime: TIE };
  await fresh.bulk(Array.from({ length: 40 }, () => event));
  const before = (await fresh.list({ contextName: 'app' })).body.items.map(({ id }) => id);
  const seen = await fresh.walk(`${fresh.audit}?contextName=app&pageSize=7`, () =>
    Promise.all([fresh.publish(event), fresh.publish({ resource: { name: 'moving' } })]),
  );
  expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  expect(seen.map(({ id }) => id).filter((id) => before.includes(id))).toEqual(before);
});

describe('a cursor', () => {
  const cursorOf = (page: EventPage) =>
    new URL(linkOf(page, 'next') ?? '', service.url).searchParams.get('cursor') ?? '';
  let cursor: string;

  beforeAll(async () => {
    cursor = cursorOf((await org.list({ resourceName: 'tie', contextName: 'app', pageSize: '5' })).body);
  });

  test('goes on with the same filters, another page size and another order of the parameters', async () => {
    const whole = await org.walk(`${org.audit}?resourceName=tie&contextName=app&pageSize=1000`);
    const { status, body } = await org.list({ contextName: 'app', cursor, resourceName: 'tie', pageSize: '2' });
    expect(status).toBe(200);
    expect(body.items).toEqual(whole.slice(5, 7));
  });

  test('is answered without a page in the echoed query', async () => {
    const { body } = await org.list({ resourceName: 'tie', contextName: 'app', cursor });
    expect(body.query).toEqual({ resourceName: 'tie', contextName: 'app', cursor, pageSize: '50', order: 'newest' });
  });

  test.each<[string, Record<string, string>]>([
    ['other filters', { resourceName: 'tie', contextName: 'other' }],
    ['fewer filters', { resourceName: 'tie' }],
    ['more filters', { resourceName: 'tie', contextName: 'app', location: 'eu' }],
    ['a time range', { resourceName: 'tie', contextName: 'app', fromEvent: TIE }],
    ['the other order', { resourceName: 'tie', contextName: 'app', order: 'received' }],
  ])('is void with %s', async (_what, query) => {
    const { status, body } = await org.list<Refusal>({ ...query, cursor });
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });

  test('is void in another organization', async () => {
    const other = await newOrg(service);
    const { status, body } = await other.list<Refusal>({ resourceName: 'tie', contextName: 'app', cursor });
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });

  test('is void in the list of another resource', async () => {
    const { body } = await org.api.get(`${path()}?pageSize=5`);
    const answer = await org.named<Refusal>('other', { cursor: cursorOf(body) });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_cursor']);
  });

  test.each([
    ['text', 'made-up'],
    ['JSON', Buffer.from('null').toString('base64url')],
    ['a list', Buffer.from('[]').toString('base64url')],
    ['another scope', Buffer.from('["x",{"after":[0,"x"]}]').toString('base64url')],
    ['characters that no cursor has', '\u0000\u2028%😀'],
    ['much', 'A'.repeat(16_000)],
  ])('is void when it is made up of %s', async (_what, text) => {
    const { status, body } = await org.list<Refusal>({ cursor: text });
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });

  test('is void when any byte of it is altered, cut off or added', async () => {
    const bytes = Buffer.from(cursor, 'base64url');
    const altered = [...bytes.keys()].map((at) => {
      const copy = Buffer.from(bytes);
      copy.writeUInt8((copy[at] ?? 0) ^ 1, at);
      return copy;
    });
    const texts = [...altered, bytes.subarray(1), bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.alloc(1)])];
    for (const text of [...texts.map((one) => one.toString('base64url')), `${cursor}=`, ` ${cursor}`]) {
      const { status, body } = await org.list<Refusal>({ resourceName: 'tie', contextName: 'app', cursor: text });
      expect([text, status, body.code]).toEqual([text, 400, 'invalid_cursor']);
    }
  });

  test('reveals no position in the log', async () => {
    const seen = new Set<string>();
    for (const order of ['received', 'newest']) {
      for (const pageSize of ['1', '2', '3']) {
        const { body } = await org.list({ contextName: 'app', order, pageSize });
        const next = new URL(body.links.find(({ rel }) => rel === 'next')?.href ?? '', service.url);
        const text = next.searchParams.get('cursor') ?? '';
        const bytes = Buffer.from(text, 'base64url').toString('latin1');
        expect(bytes).not.toMatch(/seen|after|audit|\d{4}/);
        seen.add(`${order} ${text.length}`);
      }
    }
    // How many digits a place has does not show either.
    expect(seen.size).toBe(2);
  });

  test('may not stand beside a page', async () => {
    const answer = await org.list<Refusal>({ resourceName: 'tie', contextName: 'app', cursor, page: '1' });
    expect(pointers(answer)).toEqual(['?page']);
  });
});
