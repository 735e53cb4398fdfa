import { type EventPage, linkOf, newOrg, type Org } from '../support/api.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

const EVENTS = 24;
const MIB = 1024 * 1024;
/** A page ends with the event that brings it to 4 MiB. */
const LONGEST = 4 * MIB + 300_000;

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  const fill = 'ü'.repeat(120_000);
  for (let n = 0; n < EVENTS; n += 1) {
    const { status, text } = await org.publish({ resource: { name: `r${n}`, data: { fill } } });
    if (status !== 201) throw new Error(text);
  }
});

afterAll(() => service.remove());

const numbers = ({ items }: EventPage) =>
  items.map(({ resource }) => resource.name).filter((name) => /^r\d/.test(name ?? ''));

describe.each([
  ['newest first', {}],
  ['in the order received', { order: 'received' }],
] as const)('a page of large events, %s', (_name, query) => {
  test('ends early, and its next links lead through all of them', async () => {
    const pages: string[][] = [];
    for (
      let at: string | undefined =
        `${org.audit}?${new URLSearchParams({ ...query, pageSize: '1000', contextName: 'app' })}`;
      at;
    ) {
      const answer = await org.api.get<EventPage>(at);
      expect(answer.status).toBe(200);
      expect(Buffer.byteLength(answer.text)).toBeLessThan(LONGEST);
      pages.push(numbers(answer.body) as string[]);
      at = linkOf(answer.body, 'next');
    }
    expect(pages.map(({ length }) => length)).toEqual([18, 6]);
    const all = Array.from({ length: EVENTS }, (_, n) => `r${n}`);
    expect(pages.flat()).toEqual('order' in query ? all : all.toReversed());
  });
});

test('a page by number counts whole pages, and its next link goes on behind what it gave', async () => {
  const list = (page: string) => org.list({ contextName: 'app', pageSize: '20', page });
  const [first, second] = [await list('1'), await list('2')];
  expect(numbers(first.body)).toHaveLength(18);
  expect(numbers(second.body)).toEqual(['r3', 'r2', 'r1', 'r0']);
  const next = await org.api.get<EventPage>(linkOf(first.body, 'next') ?? '');
  expect(numbers(next.body)).toEqual(['r5', 'r4', 'r3', 'r2', 'r1', 'r0']);
});

test('the last events are those nearest to the end, and the resume link goes on behind them', async () => {
  const { body } = await org.list({ contextName: 'app', order: 'received', last: '24' });
  expect(numbers(body)).toEqual(Array.from({ length: 18 }, (_, n) => `r${n + 6}`));
  expect(numbers((await org.api.get<EventPage>(linkOf(body, 'resume') ?? '')).body)).toEqual([]);
});

test('an answer of a megabyte and more is streamed, a smaller one has its length', async () => {
  const list = (size: number) => org.api.get(`${org.audit}?pageSize=${size}`, { 'accept-encoding': 'identity' });
  const [small, large] = [await list(2), await list(10)];
  expect(Number(small.headers.get('content-length'))).toBe(Buffer.byteLength(small.text));
  expect(large.headers.get('content-length')).toBeNull();
  expect(large.body.items).toHaveLength(10);
});

test('an export gives all of them whole', async () => {
  const { text } = await org.api.get<never>(`${org.audit}/-export?contextName=app`);
  const lines = text.trimEnd().split('\n');
  expect(lines).toHaveLength(EVENTS + 1);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ kind: 'exportend', count: EVENTS });
});

test('lists, queries and sorted queries of resources end early as well', async () => {
  const groups = new Resources(org, 'group');
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`t${n}`, 'ü'.repeat(1_000)]));
  const names = Array.from({ length: 50 }, (_, n) => `big-${String(n).padStart(2, '0')}`);
  for (const name of names) {
    const { status, text } = await groups.create({ name, tags });
    if (status !== 201) throw new Error(text);
  }
  const spec = { match: 'all', terms: [{ property: 'name', op: '~', value: 'big-' }] };
  const sorted = { ...spec, sort: { by: 'name', order: 'desc' } };
  const page = await groups.query({ spec }, '?limit=1000');
  expect(page.body.items).toHaveLength(42);
  expect(Buffer.byteLength(page.text)).toBeLessThan(LONGEST);
  const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);
  expect(namesOf(await groups.queryAll({ spec }, '?limit=1000'))).toEqual(names);
  expect(namesOf(await groups.queryAll({ spec: sorted }, '?limit=1000'))).toEqual(names.toReversed());
  const list = await groups.list('?limit=1000');
  expect(Buffer.byteLength(list.text)).toBeLessThan(LONGEST);
  expect(linkOf(list.body, 'next')).toBeDefined();
});
