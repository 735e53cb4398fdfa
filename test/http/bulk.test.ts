import { type BulkResult, nested, newOrg, type Org, pointers, type Refusal, type Sent } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

const NDJSON = { 'content-type': 'application/x-ndjson' };

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

async function recorded() {
  return (await org.list({ contextName: 'app', pageSize: '1000', order: 'received' })).body.items;
}

function ndjson(lines: readonly (string | Sent)[]): Promise<{ status: number; body: BulkResult & Refusal }> {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  return org.bulk<BulkResult & Refusal>(text, { headers: NDJSON });
}

const statuses = ({ items }: BulkResult) => items.map(({ status }) => status);

describe('a bulk of sound items', () => {
  test('returns one acknowledgement an item, in order, and all are found', async () => {
    const { status, body } = await org.bulk(Array.from({ length: 25 }, (_, index) => named(`n${index}`)));
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'bulkresult', succeeded: 25, failed: 0 });
    expect(body.items.map(({ index, status }) => [index, status])).toEqual(body.items.map((_, at) => [at, 201]));
    const names = (await recorded()).map(({ id, resource }) => [id, resource.name]);
    expect(names).toEqual(body.items.map(({ id, index }) => [id, `n${index}`]));
  });

  test('returns 202 an item with async=true, and all are found soon', async () => {
    const { status, body } = await org.bulk([named('a'), named('b')], { async: true });
    expect([status, statuses(body)]).toEqual([200, [202, 202]]);
    await org.publish(named('barrier'), { context: 'barrier' });
    expect((await recorded()).map(({ resource }) => resource.name)).toEqual(['a', 'b']);
  });

  test('may be NDJSON, with blank lines, CRLF and no newline at the end', async () => {
    const { status, body } = await ndjson([named('a'), '', '  \t\r', `${JSON.stringify(named('b'))}\r`, named('ü')]);
    expect([status, statuses(body)]).toEqual([200, [201, 201, 201]]);
    expect((await recorded()).map(({ resource }) => resource.name)).toEqual(['a', 'b', 'ü']);
  });

  test('may mix plain and wrapped items', async () => {
    const { body } = await org.bulk([named('a'), { event: named('b') }, { idempotencyKey: 'k', event: named('c') }]);
    expect(statuses(body)).toEqual([201, 201, 201]);
    expect((await recorded()).map(({ resource }) => resource.name)).toEqual(['a', 'b', 'c']);
  });

  test('gives every item the defaults of its request', async () => {
    await org.bulk([named('a'), named('b')], { headers: { 'x-request-id': 'bulk-1' } });
    expect((await recorded()).map(({ requestId }) => requestId)).toEqual(['bulk-1', 'bulk-1']);
  });

  test('keeps numbers digit for digit', async () => {
    const number = '123456789012345678901234567890.5';
    await ndjson([`{"resource":{"name":"n","data":{"n":${number}}}}`]);
    expect((await org.named('n')).text).toContain(`"n":${number}`);
  });

  test('may have 1,000 items', async () => {
    const { status, body } = await org.bulk(Array.from({ length: 1_000 }, () => named('many')));
    expect([status, body.succeeded]).toEqual([200, 1_000]);
  });
});

describe('an item with a fault', () => {
  test('is named in its place while the others are recorded', async () => {
    const { status, body } = await org.bulk([named('a'), { resource: {} }, named('b'), { ...named('c'), extra: 1 }]);
    expect([status, statuses(body)]).toEqual([200, [201, 400, 201, 400]]);
    expect(body).toMatchObject({ succeeded: 2, failed: 2 });
    expect((await recorded()).map(({ resource }) => resource.name)).toEqual(['a', 'b']);
  });

  test('has the Error body with the id of the request', async () => {
    const { headers, body } = await org.bulk([{ ...named('x'), extra: 1 }]);
    expect(body.items[0]?.error).toEqual({
      status: 400,
      code: 'validation_failed',
      message: expect.stringContaining('/extra'),
      details: { fields: [{ pointer: '/extra', reason: expect.any(String) }] },
      id: headers.get('x-request-id'),
    });
  });

  test.each<[string, Sent, string[]]>([
    ['null', null, ['']],
    ['an array', [named('x')], ['']],
    ['a number', 7, ['']],
    ['a wrapped event with a fault', { event: { resource: { name: 1 } } }, ['/event/resource/name']],
    ['a wrapped null', { event: null }, ['/event']],
    ['an unknown member beside the event', { event: named('x'), key: 'k' }, ['/key']],
    ['an unknown member beside the event, with signs of a pointer', { event: named('x'), 'a/b~c': 1 }, ['/a~1b~0c']],
    ['a key that is no text', { event: named('x'), idempotencyKey: 7 }, ['/idempotencyKey']],
    ['an empty key', { event: named('x'), idempotencyKey: '' }, ['/idempotencyKey']],
    ['a key of 256 characters', { event: named('x'), idempotencyKey: 'k'.repeat(256) }, ['/idempotencyKey']],
    ['a key beside the members of a plain event', { ...named('x'), idempotencyKey: 'k' }, ['/idempotencyKey']],
  ])('names the place: %s', async (_what, item, places) => {
    const { body } = await org.bulk([item, named('sound')]);
    expect(statuses(body)).toEqual([400, 201]);
    expect((body.items[0]?.error?.details.fields ?? []).map(({ pointer }) => pointer)).toEqual(places);
  });

  test('is refused with 413 alone when it is over 256 KiB', async () => {
    const { body } = await org.bulk([named('a'), { resource: { name: 'big', data: { x: 'x'.repeat(256 * 1024) } } }]);
    expect(statuses(body)).toEqual([201, 413]);
    expect(body.items[1]?.error?.code).toBe('payload_too_large');
  });

  test('may be as large and as deep wrapped as alone, and no larger and deeper', async () => {
    const sized = (bytes: number) => {
      const event = { resource: { name: 'large', data: { x: '' } } };
      event.resource.data.x = 'x'.repeat(bytes - JSON.stringify(event).length);
      return event;
    };
    const deep = (levels: number) => JSON.parse(`{"resource":{"name":"d","data":{"x":${nested(levels - 3)}}}}`);
    const items = [sized(256 * 1024), sized(256 * 1024 + 1), deep(32), deep(33)];
    const wrapped = items.map((event, n) => ({ idempotencyKey: `limit-${n}`, event }));
    for (const sent of [items, wrapped]) {
      const { body } = await org.bulk(sent);
      expect(statuses(body)).toEqual([201, 413, 201, 400]);
      expect(body.items[3]?.error?.message).toContain('nested 33 levels deep; the limit is 32');
    }
  });

  test('refuses nothing but itself when it is a line that is not JSON, not UTF-8 or too deep', async () => {
    const lines = [JSON.stringify(named('a')), '{"resource":', `{"resource":{"name":"x","data":{"x":${nested(40)}}}}`];
    const text = Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Buffer.from([0x22, 0xff, 0x22, 0x0a])]);
    const { body } = await org.bulk(text, { headers: NDJSON });
    expect(body.items.map(({ status, error }) => [status, error?.code])).toEqual([
      [201, undefined],
      [400, 'malformed_json'],
      [400, 'malformed_json'],
      [400, 'malformed_json'],
    ]);
  });

  test('returns 200 with every item refused when no item is sound', async () => {
    const { status, body } = await org.bulk([{}, null]);
    expect([status, body.succeeded, body.failed]).toEqual([200, 0, 2]);
  });
});

describe('keys in a bulk', () => {
  const keyed = (name: string, idempotencyKey = 'k') => ({ idempotencyKey, event: named(name) });

  test('make one event of items that are the same', async () => {
    const { body } = await org.bulk([keyed('a'), named('plain'), keyed('a')]);
    expect(statuses(body)).toEqual([201, 201, 201]);
    expect(body.items[0]?.id).toBe(body.items[2]?.id);
    expect((await recorded()).map(({ resource }) => resource.name)).toEqual(['a', 'plain']);
  });

  test('refuse an item whose key belongs to another event, in the same bulk and in a later one', async () => {
    const first = await org.bulk([keyed('a'), keyed('b')]);
    const second = await org.bulk([keyed('a'), keyed('c')]);
    expect([statuses(first.body), statuses(second.body)]).toEqual([
      [201, 409],
      [201, 409],
    ]);
    expect(second.body.items[1]?.error?.code).toBe('idempotency_conflict');
    expect(await recorded()).toHaveLength(1);
  });

  test('let the first win when async', async () => {
    const { body } = await org.bulk([keyed('a'), keyed('b')], { async: true });
    expect(statuses(body)).toEqual([202, 202]);
    await org.publish(named('barrier'), { context: 'barrier' });
    expect((await recorded()).map(({ resource }) => resource.name)).toEqual(['a']);
  });

  test('are the same keys as those in the header of a single publish', async () => {
    const single = await org.publish(named('a'), { idempotencyKey: 'k' });
    const { body } = await org.bulk([keyed('a')]);
    expect(body.items[0]?.id).toBe(single.body.id);
    expect(await recorded()).toHaveLength(1);
  });

  test('stand for the event alone: wrapped with another key it is another event', async () => {
    const { body } = await org.bulk([keyed('a', 'one'), keyed('a', 'two')]);
    expect(body.items[0]?.id).not.toBe(body.items[1]?.id);
    expect(await recorded()).toHaveLength(2);
  });

  test('may have 255 characters, however many bytes each has', async () => {
    const { body } = await org.bulk([keyed('a', '😀'.repeat(255)), keyed('b', 'é'.repeat(255))]);
    expect(statuses(body)).toEqual([201, 201]);
  });
});

describe('a whole bulk is refused', () => {
  test.each<[string, Sent, number, string]>([
    ['when it is an empty array', [], 400, 'validation_failed'],
    ['when it is an object', named('x'), 400, 'validation_failed'],
    ['when it is no JSON', '[{]', 400, 'malformed_json'],
    ['when it is empty', '', 400, 'malformed_json'],
    ['with 1,001 items', Array.from({ length: 1_001 }, () => named('x')), 413, 'payload_too_large'],
  ])('%s', async (_what, items, status, code) => {
    const answer = await org.bulk<Refusal>(items);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await recorded()).toEqual([]);
  });

  test.each([
    ['when it is NDJSON without a line', ' \n\n', 400],
    ['with 1,001 lines', `${JSON.stringify(named('x'))}\n`.repeat(1_001), 413],
  ])('%s', async (_what, text, status) => {
    expect((await org.bulk<Refusal>(text, { headers: NDJSON })).status).toBe(status);
    expect(await recorded()).toEqual([]);
  });

  test('when it is over 8 MiB, while 8 MiB are taken', async () => {
    const [item] = [JSON.stringify(named('x'))];
    const most = 8 * 1024 * 1024;
    const taken = await org.bulk(`[${item}${' '.repeat(most - item.length - 2)}]`);
    const refused = await org.bulk<Refusal>(`[${item}${' '.repeat(most - item.length - 1)}]`);
    expect([taken.status, refused.status, refused.body.code]).toEqual([200, 413, 'payload_too_large']);
  });

  test('in the service’s own context', async () => {
    expect((await org.bulk<Refusal>([named('x')], { context: 'svc' })).status).toBe(403);
  });

  test('as another media type', async () => {
    const answer = await org.bulk<Refusal>(JSON.stringify([named('x')]), { headers: { 'content-type': 'text/csv' } });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  test('with an unknown query parameter', async () => {
    const answer = await org.api.post<Refusal>(`${org.audit}/auditctx/app/-bulk?sync=true`, [named('x')]);
    expect(pointers(answer)).toEqual(['?sync']);
  });
});
