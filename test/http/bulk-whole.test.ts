import { join } from 'node:path';
import { at, type BulkResult, newOrg, type Org, pointers, type Refusal, type Sent } from '../support/api.js';
import { failDisk, repairDisk } from '../support/disk-faults.js';
import { onCluster, startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

const named = (name: string) => ({ resource: { name } });
const keyed = (name: string, idempotencyKey = name) => ({ idempotencyKey, event: named(name) });

function whole(items: Sent, { key, query = '' }: { key?: string; query?: string } = {}) {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  return org.api.post<BulkResult & Refusal>(`${org.audit}/auditctx/app/-bulk?partial=False${query}`, items, headers);
}

async function recorded(): Promise<(string | undefined)[]> {
  const events = await org.walk(`${org.audit}?contextName=app&pageSize=1000&order=received`);
  return events.map(({ resource }) => resource.name).sort();
}

test('records all items of a bulk without a fault', async () => {
  const { status, body } = await whole([named('a'), keyed('b'), named('c')]);
  expect([status, body.succeeded, body.failed]).toEqual([200, 3, 0]);
  expect(await recorded()).toEqual(['a', 'b', 'c']);
});

test('records nothing if items have faults, and names each of them', async () => {
  const big = { resource: { name: 'big', data: { x: 'x'.repeat(256 * 1024) } } };
  const items = [named('a'), { resource: {} }, named('b'), { event: { ...named('c'), extra: 1 } }, null, big];
  const answer = await whole(items);
  expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
  expect(pointers(answer)).toEqual(['/1/resource', '/3/event/extra', '/4', '/5']);
  expect(answer.body.message).toContain('4 of 6 items');
  expect(await recorded()).toEqual([]);
});

test('names a line that is not JSON', async () => {
  const lines = [JSON.stringify(named('a')), '', '{"resource":', '{"resource":{"name":"b"},"resource":1}'].join('\n');
  const path = `${org.audit}/auditctx/app/-bulk?partial=false`;
  const answer = await org.api.post<Refusal>(path, lines, { 'content-type': 'application/x-ndjson' });
  expect([answer.status, pointers(answer)]).toEqual([400, ['/1', '/2']]);
  expect(await recorded()).toEqual([]);
});

test('names every one of 1,000 faulty items', async () => {
  const answer = await whole(Array.from({ length: 1_000 }, () => ({ resource: { id: 1, name: 2 } })));
  expect(answer.status).toBe(400);
  expect(new Set((answer.body.details.fields ?? []).map(({ pointer }) => pointer.split('/')[1])).size).toBe(1_000);
});

test('records a bulk of several megabytes, which is appended as one', async () => {
  const data = { x: 'x'.repeat(7_000) };
  const { status, body } = await whole(
    Array.from({ length: 1_000 }, (_, n) => ({ resource: { name: `n${n}`, data } })),
  );
  expect([status, body.succeeded]).toEqual([200, 1_000]);
  expect(await recorded()).toHaveLength(1_000);
});

describe('an Idempotency-Key of the whole bulk', () => {
  test('makes a retry the same events, with the same identifiers', async () => {
    const items = [named('a'), named('a'), keyed('b')];
    const first = await whole(items, { key: 'batch' });
    const again = await whole(items, { key: 'batch' });
    const repeated = first.body.items.map((item: object) => ({ ...item, repeated: true }));
    expect([again.status, again.body.items]).toEqual([200, repeated]);
    expect(await recorded()).toEqual(['a', 'a', 'b']);
  });

  test('completes what was recorded in part', async () => {
    const items = Array.from({ length: 10 }, (_, n) => named(`n${n}`));
    await whole(items.slice(0, 4), { key: 'batch' });
    const { body } = await whole(items, { key: 'batch' });
    expect(body.succeeded).toBe(10);
    expect(await recorded()).toHaveLength(10);
  });

  test('is no key of a single event', async () => {
    await whole([named('a')], { key: 'batch' });
    await org.publish(named('a'), { idempotencyKey: 'batch' });
    expect(await recorded()).toEqual(['a', 'a']);
  });

  test('is refused without partial=false', async () => {
    const answer = await org.bulk<Refusal>([named('a')], { idempotencyKey: 'batch' });
    expect([answer.status, pointers(answer)]).toEqual([400, ['header:Idempotency-Key']]);
  });
});

describe('records nothing if a key stands for another event', () => {
  test('of an earlier request', async () => {
    await org.bulk([keyed('a', 'k')]);
    const answer = await whole([named('x'), keyed('b', 'k'), keyed('c')]);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([409, 'idempotency_conflict', ['/1']]);
    expect(await recorded()).toEqual(['a']);
  });

  test('of the same bulk', async () => {
    const answer = await whole([keyed('a', 'k'), keyed('a', 'k'), keyed('b', 'k')]);
    expect([answer.status, pointers(answer)]).toEqual([409, ['/2']]);
    expect(await recorded()).toEqual([]);
  });

  test('of the same place in an earlier bulk', async () => {
    await whole([named('a'), named('b')], { key: 'batch' });
    const answer = await whole([named('a'), named('c'), named('d')], { key: 'batch', query: '&async=true' });
    expect([answer.status, pointers(answer)]).toEqual([409, ['/1']]);
    expect(await recorded()).toEqual(['a', 'b']);
  });
});

test('refuses a partial that is neither true nor false, and one on a single publish', async () => {
  const post = (path: string) => org.api.post<Refusal>(`${org.audit}/auditctx/app${path}`, [named('a')]);
  expect(pointers(await post('/-bulk?partial=no'))).toEqual(['?partial']);
  expect(pointers(await org.api.post<Refusal>(`${org.audit}/auditctx/app?partial=false`, named('a')))).toEqual([
    '?partial',
  ]);
});

(onCluster ? test.skip : test)(
  'records nothing if the disk takes only the first half, also after a restart',
  async () => {
    const alone = await startService();
    org = await newOrg(alone);
    const file = join(alone.dataDir, 'log.records');
    failDisk(file, 3 * 1024 * 1024);
    const data = { x: 'x'.repeat(7_000) };
    const items = Array.from({ length: 1_000 }, (_, n) => ({ resource: { name: `n${n}`, data } }));
    const refused = await whole(items, { key: 'batch' });
    expect([refused.status, refused.body.code]).toEqual([503, 'log_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await recorded()).toEqual([]);
    repairDisk(file);
    await alone.stop();

    const again = await startService({ dataDir: alone.dataDir });
    org = at(again, org);
    expect(await recorded()).toEqual([]);
    expect((await whole(items, { key: 'batch' })).body.succeeded).toBe(1_000);
    expect(await recorded()).toHaveLength(1_000);
    await again.remove();
  },
);
