import { request } from 'node:http';
import {
  type Answer,
  Api,
  at,
  EVENTS_OF_A_NEW_ORG,
  type Event,
  linkOf,
  newOrg,
  type Org,
  pointers,
  type Refusal,
  withQuery,
} from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

interface End {
  readonly kind: string;
  readonly count: number;
  readonly cursor: string;
}

const named = (name: string, more: object = {}) => ({ resource: { name }, ...more });
const names = (events: readonly Event[]) => events.map(({ resource }) => resource.name);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

const fetchExport = <Body = unknown>(query: Record<string, string> = {}, of = org): Promise<Answer<Body>> =>
  of.api.get<Body>(withQuery(`${of.audit}/-export`, query));

async function exported(
  query: Record<string, string> = {},
  of = org,
): Promise<{ texts: string[]; events: Event[]; end: End }> {
  const { status, headers, text } = await fetchExport(query, of);
  expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  expect(text.endsWith('\n')).toBe(true);
  const texts = text.slice(0, -1).split('\n');
  const end = JSON.parse(texts.pop() ?? '') as End;
  return { texts, events: texts.map((line) => JSON.parse(line) as Event), end };
}

const app = { contextName: 'app' };

test('is every event in the order received, and a last line with their number', async () => {
  await org.bulk(
    numbered(250).map((name, index) => named(name, { eventTime: `20${10 + (index % 7)}-01-01T00:00:00Z` })),
  );
  const { events, end } = await exported();
  expect(names(events).slice(EVENTS_OF_A_NEW_ORG)).toEqual(numbered(250));
  expect(end).toEqual({ kind: 'exportend', count: 250 + EVENTS_OF_A_NEW_ORG, cursor: expect.any(String) });
});

test('gives each event digit for digit as the list does', async () => {
  const data = '{"big":12345678901234567890123,"exact":0.10,"e":1E400,"text":"line\\nline\\u2028é"}';
  await org.publish(`{"resource":{"name":"numbers","data":${data}}}`);
  const { texts } = await exported(app);
  const list = await org.list({ ...app, order: 'received' });
  expect(texts).toHaveLength(1);
  expect(list.text).toContain(`"items":[${texts[0]}]`);
  expect(texts[0]).toContain('12345678901234567890123');
});

test('of an empty log is only the last line, and its cursor continues with the first event', async () => {
  const none = await exported(app);
  expect([none.texts, none.end.count]).toEqual([[], 0]);
  await org.publish(named('first'));
  expect(names((await exported({ ...app, cursor: none.end.cursor })).events)).toEqual(['first']);
});

test('goes on from its cursor, or from that of the list in the order received, and the other way round', async () => {
  await org.bulk(numbered(120).map((name) => named(name)));
  const first = await exported(app);
  await org.publish(named('later', { eventTime: '1999-01-01T00:00:00Z' }));

  expect(names((await exported({ ...app, cursor: first.end.cursor })).events)).toEqual(['later']);
  const list = await org.list({ ...app, order: 'received', cursor: first.end.cursor });
  expect(names(list.body.items)).toEqual(['later']);
  const page = await org.list({ ...app, order: 'received', pageSize: '119' });
  const cursor = new URL(linkOf(page.body, 'next') ?? '', service.url).searchParams.get('cursor') ?? '';
  expect(names((await exported({ ...app, cursor })).events)).toEqual(['n119', 'later']);
});

test('takes the filters of the list', async () => {
  const event = {
    resource: { id: 'i', name: 'web', type: 't' },
    eventTime: '2026-02-01T00:00:00Z',
    context: { location: 'l', gvcAlias: 'g', podId: 'p' },
    subject: { email: 'ann@example.com' },
    action: { type: 'a' },
    result: { status: 'NO' },
    requestId: 'r',
  };
  await org.publish(event);
  await org.publish({ ...event, resource: { name: 'other' } }, { context: 'elsewhere' });
  const queries: Record<string, string>[] = [
    { contextName: 'app', actionType: 'a' },
    { resourceId: 'i' },
    { resourceName: 'web', location: 'l', gvcAlias: 'g', podId: 'p' },
    { resourceType: 't', subjectEmail: 'ann@example.com', requestId: 'r', resultStatus: 'NO' },
    { resourceName: 'web', fromEvent: '2026-02-01T00:00:00Z', toEvent: '2026-02-01T00:00:00.001Z' },
  ];
  for (const query of queries) expect(names((await exported(query)).events)).toEqual(['web']);
  expect((await exported({ resourceName: 'web', toEvent: '2026-02-01T00:00:00Z' })).end.count).toBe(0);
});

test('contains nothing of another organization, and its cursors are invalid there', async () => {
  const other = await newOrg(service);
  await other.publish(named('theirs'));
  await org.publish(named('mine'));
  const { events, end } = await exported(app);
  expect(names(events)).toEqual(['mine']);
  const { status, body } = await fetchExport<Refusal>({ ...app, cursor: end.cursor }, other);
  expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  expect((await other.api.get(`${org.audit}/-export`)).status).toBe(403);
});

test('HEAD of what is streamed has the type of GET, and no length', async () => {
  const root = new Api(service.url, service.rootKey);
  const heads = [await org.api.send('HEAD', `${org.audit}/-export`), await root.send('HEAD', '/-backup')];
  expect(heads.map(({ status, text, headers }) => [status, text, headers.get('content-length')])).toEqual([
    [200, '', null],
    [200, '', null],
  ]);
  expect(heads.map(({ headers }) => headers.get('content-type'))).toEqual([
    'application/x-ndjson',
    'application/octet-stream',
  ]);
});

test('refuses before the first byte with an Error body', async () => {
  const unknown = await fetchExport<Refusal>({ page: '1', fromEvent: 'yesterday' });
  expect([unknown.status, unknown.body.code]).toEqual([400, 'validation_failed']);
  expect(pointers(unknown)).toEqual(['?fromEvent', '?page']);
  expect((await fetchExport<Refusal>({ cursor: 'x' })).body.code).toBe('invalid_cursor');
  const { end } = await exported(app);
  expect((await fetchExport<Refusal>({ cursor: end.cursor })).body.code).toBe('invalid_cursor');
  expect((await org.api.send('HEAD', `${org.audit}/-export`)).text).toBe('');
});

test('is complete and without repetition while publishers are at work', async () => {
  let publishing = true;
  const writers = [0, 1].map(async (writer) => {
    for (let index = 0; publishing; index += 1)
      await org.bulk(numbered(20).map((n) => named(`${writer}-${index}-${n}`)));
  });
  const seen: string[] = [];
  let query: Record<string, string> = app;
  for (let round = 0; round < 5; round += 1) {
    const { events, end } = await exported(query);
    seen.push(...events.map(({ id }) => id));
    query = { ...app, cursor: end.cursor };
  }
  publishing = false;
  await Promise.all(writers);
  seen.push(...(await exported(query)).events.map(({ id }) => id));
  const all = await org.walk(withQuery(org.audit, { ...app, order: 'received', pageSize: '1000' }));
  expect(seen).toEqual(all.map(({ id }) => id));
});

describe('a large export', () => {
  const fill = async () => {
    const data = { fill: 'x'.repeat(12_000) };
    const bodies = Array.from({ length: 10 }, (_, round) =>
      numbered(100).map((name) => ({ resource: { name: `${round}-${name}`, data } })),
    );
    for (const body of bodies) await org.bulk(body);
  };

  /** Begins to read and stops after the first bytes. */
  const begin = (of: Org) =>
    new Promise<{ ended: Promise<{ whole: boolean; text: string }>; goOn: () => void; leave: () => void }>(
      (resolve) => {
        const { hostname, port } = new URL(service.url);
        const headers = { authorization: `Bearer ${of.key}` };
        const sent = request({ hostname, port, path: `${of.audit}/-export`, headers, agent: false }, (response) => {
          const chunks: Buffer[] = [];
          const ended = new Promise<{ whole: boolean; text: string }>((done) => {
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', () => undefined);
            response.on('close', () => done({ whole: response.complete, text: Buffer.concat(chunks).toString() }));
          });
          response.pause();
          resolve({ ended, goOn: () => response.resume(), leave: () => sent.destroy() });
        });
        sent.on('error', () => undefined);
        sent.end();
      },
    );

  /** The record that it began is searchable before the end of an export of several pages. */
  const OF_THIS_EXPORT = 1;

  test('waits for a slow client, serves others meanwhile, and then goes on to the end', async () => {
    await fill();
    const slow = await begin(org);
    const other = await newOrg(service);
    expect((await other.publish(named('meanwhile'))).status).toBe(201);
    slow.goOn();
    const { whole, text } = await slow.ended;
    expect([whole, text.trimEnd().split('\n').length]).toEqual([true, 1000 + EVENTS_OF_A_NEW_ORG + OF_THIS_EXPORT + 1]);
  });

  test('ends with a client that goes away', async () => {
    await fill();
    const gone = await begin(org);
    gone.leave();
    await gone.ended;
    expect((await exported(app, org)).end.count).toBe(1000);
  });

  test('is cut, not ended, when the process stops', async () => {
    await fill();
    const slow = await begin(org);
    const begun = performance.now();
    await service.stop();
    expect(performance.now() - begun).toBeLessThan(7_000 * PATIENCE);
    slow.goOn();
    const { whole, text } = await slow.ended;
    expect(whole).toBe(false);
    expect(text).not.toContain('exportend');
    service = await startService({ dataDir: service.dataDir });
    expect((await exported(app, at(service, org))).end.count).toBe(1000);
  });
});
