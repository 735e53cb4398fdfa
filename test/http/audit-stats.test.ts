import { Org, type Refusal } from '../support/api.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

interface Stats {
  readonly kind: string;
  readonly count: number;
  readonly without: number;
  readonly values: readonly { readonly value: string; readonly count: number }[];
  readonly error: number;
  readonly others: { readonly count: number; readonly values?: number };
  readonly buckets: readonly { readonly fromEvent: string; readonly count: number }[];
  readonly query: Readonly<Record<string, string>>;
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

let service: TestService;
let org: Org;
/** Reads the context `shop` alone. */
let clerk: Org;
/** Reads nothing. */
let nobody: Org;
let other: Org;

const DAY = '2026-03-01';

beforeAll(async () => {
  const seed = new Seed();
  const key = seed.org('acme');
  const otherKey = seed.org('other');
  const link = seed.account('acme', 'clerk');
  const clerkKey = seed.key(link);
  seed.policy('acme', 'shop-readers', {
    targetKind: 'auditctx',
    targetLinks: ['/org/acme/auditctx/shop'],
    bindings: [{ permissions: ['readAudit'], principalLinks: [link] }],
  });
  const nobodyKey = seed.key(seed.account('acme', 'nobody'));
  service = await startService({ seed });
  org = new Org(service.url, 'acme', key);
  clerk = new Org(service.url, 'acme', clerkKey);
  nobody = new Org(service.url, 'acme', nobodyKey);
  other = new Org(service.url, 'other', otherKey);
  for (const [to, context, at, type] of [
    [org, 'shop', '08:00', 'edit'],
    [org, 'shop', '09:00', 'edit'],
    [org, 'shop', '09:30', 'view'],
    [org, 'secret', '10:00', 'steal'],
    [other, 'shop', '08:00', 'foreign'],
  ] as const) {
    await to.published(
      { resource: { name: 'cart' }, action: { type }, eventTime: `${DAY}T${at}:00.000Z` },
      { context },
    );
  }
  await org.published({ resource: { name: 'book' }, eventTime: '2026-03-02T00:00:00.000Z' }, { context: 'shop' });
});

afterAll(() => service.remove());

const day = { fromEvent: `${DAY}T00:00:00Z`, toEvent: '2026-03-02T00:00:00Z' };

async function stats(of: Org, query: Readonly<Record<string, string>>): Promise<Stats> {
  const { status, body, text } = await of.api.get<Stats>(`${of.audit}/-stats?${new URLSearchParams(query)}`);
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return body;
}

const valuesOf = ({ values }: Stats) => values.map(({ value, count }) => `${value} ${count}`);

test('counts by the values of a field and over time', async () => {
  const found = await stats(org, { by: 'actionType', ...day, buckets: '24' });

  expect(found).toMatchObject({ kind: 'auditstats', count: 4, without: 0, error: 0, others: { count: 0, values: 0 } });
  expect(valuesOf(found)).toEqual(['edit 2', 'steal 1', 'view 1']);
  expect(found.buckets).toHaveLength(24);
  expect(found.buckets.filter(({ count }) => count > 0)).toEqual([
    { fromEvent: `${DAY}T08:00:00.000Z`, count: 1 },
    { fromEvent: `${DAY}T09:00:00.000Z`, count: 2 },
    { fromEvent: `${DAY}T10:00:00.000Z`, count: 1 },
  ]);
});

test('counts with the filters of the lists, and says what is without the field', async () => {
  const found = await stats(org, { by: 'actionType', contextName: 'shop' });
  expect(found).toMatchObject({ count: 4, without: 1, query: { by: 'actionType', top: '10', buckets: '0' } });
  expect(valuesOf(await stats(org, { by: 'resourceName', actionType: 'edit' }))).toEqual(['cart 2']);
  expect((await stats(org, { by: 'resourceName', actionType: 'none' })).count).toBe(0);
});

test('names the most frequent, and counts the others', async () => {
  const found = await stats(org, { by: 'actionType', ...day, top: '1' });
  expect(valuesOf(found)).toEqual(['edit 2']);
  expect(found.others).toEqual({ count: 2, values: 2 });
});

test('counts only what the caller may read', async () => {
  const whole = await stats(clerk, { by: 'contextName' });
  expect(valuesOf(whole)).toEqual(['shop 4']);
  const bySecret = await stats(clerk, { by: 'actionType', contextName: 'secret', ...day, buckets: '1' });
  expect(bySecret).toMatchObject({ count: 0, values: [], others: { count: 0, values: 0 } });
  expect(bySecret.buckets.map(({ count }) => count)).toEqual([0]);
  expect(valuesOf(await stats(clerk, { by: 'actionType' }))).toEqual(['edit 2', 'view 1']);
});

test('refuses who may read no context, and who is of another organization', async () => {
  for (const reader of [nobody, new Org(service.url, 'acme', other.key)]) {
    const { status, body } = await reader.api.get<Refusal>(`${reader.audit}/-stats?by=actionType`);
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'forbidden' });
  }
  expect(valuesOf(await stats(other, { by: 'actionType' }))).toContain('foreign 1');
});

test.each([
  ['', '?by'],
  ['by=requestId', '?by'],
  ['by=actionType&top=0', '?top'],
  ['by=actionType&top=1001', '?top'],
  ['by=actionType&buckets=5', '?buckets'],
  ['by=actionType&buckets=5&fromEvent=2026-01-01T00:00:00Z', '?buckets'],
  ['by=actionType&buckets=5&fromEvent=2026-01-02T00:00:00Z&toEvent=2026-01-01T00:00:00Z', '?toEvent'],
  ['by=actionType&cursor=x', '?cursor'],
  ['by=actionType&fromEvent=yesterday', '?fromEvent'],
])('refuses ?%s', async (query, pointer) => {
  const { status, body } = await org.api.get<Refusal>(`${org.audit}/-stats?${query}`);
  expect(status).toBe(400);
  expect(body.details?.fields?.map((field) => field.pointer)).toContain(pointer);
});
