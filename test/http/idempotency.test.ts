import { at, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
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

/** The events of the one context that the tests publish into. */
async function recorded(of: Org = org) {
  return (await of.list({ contextName: 'app' })).body.items;
}

const event = { resource: { name: 'web' }, action: { type: 'edit', data: { a: 1, b: [1, 2] } } };

describe('the same key with the same body', () => {
  test('is one event and one response', async () => {
    const first = await org.publish(event, { idempotencyKey: 'k' });
    const second = await org.publish(event, { idempotencyKey: 'k' });
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect((await recorded()).map(({ id }) => id)).toEqual([first.body.id]);
  });

  test('is one event over sync and async', async () => {
    const ids = [];
    for (const async of [true, false, true]) {
      const { status, body } = await org.publish(event, { idempotencyKey: 'k', async });
      expect(status).toBe(async ? 202 : 201);
      ids.push(body.id);
    }
    expect(new Set(ids).size).toBe(1);
    expect(await recorded()).toHaveLength(1);
  });

  test('keeps the event of the first, times and request included', async () => {
    const first = await org.published(event, { idempotencyKey: 'k', headers: { 'x-request-id': 'first' } });
    const second = await org.published(event, { idempotencyKey: 'k', headers: { 'x-request-id': 'second' } });
    expect(second).toEqual(first);
    expect(first.requestId).toBe('first');
  });

  test('is the same body whatever the order of its members and its white space', async () => {
    const texts = [
      '{"resource":{"name":"w","type":"t"},"action":{"data":{"a":1,"b":{"c":"é","d":1.50}}}}',
      ' { "action" : {"data":{"b":{"d":1.5,"c":"\\u00e9"},"a":1}},\n"resource":{"type":"t","name":"w"} } ',
    ];
    const answers = [];
    for (const text of texts) answers.push(await org.publish(text, { idempotencyKey: 'k' }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(await recorded()).toHaveLength(1);
  });

  test('is one event when 50 are published at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => org.publish(event, { idempotencyKey: 'k', async: index % 2 === 1 })),
    );
    expect(answers.filter(({ status }) => status !== 201 && status !== 202)).toEqual([]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await recorded()).toHaveLength(1);
  });

  test('is one event after a restart too', async () => {
    const first = await startService();
    try {
      const before = await newOrg(first);
      const { body } = await before.publish(event, { idempotencyKey: 'k' });
      await first.stop();
      const second = await startService({ dataDir: first.dataDir });
      const after = at(second, before);
      const again = await after.publish(event, { idempotencyKey: 'k' });
      const other = await after.publish({ resource: { name: 'other' } }, { idempotencyKey: 'k' });
      expect([again.status, again.body.id]).toEqual([201, body.id]);
      expect(other.status).toBe(409);
      expect((await recorded(after)).map(({ id }) => id)).toEqual([body.id]);
      await second.stop();
    } finally {
      await first.remove();
    }
  });
});

describe('the same key with another body', () => {
  test.each<[string, object]>([
    ['another value', { ...event, action: { type: 'delete', data: { a: 1, b: [1, 2] } } }],
    ['another order of an array', { ...event, action: { type: 'edit', data: { a: 1, b: [2, 1] } } }],
    ['another type', { ...event, action: { type: 'edit', data: { a: '1', b: [1, 2] } } }],
    ['one member more', { ...event, requestId: 'r' }],
  ])('is refused with 409 for %s, and the first stays', async (_what, other) => {
    const first = await org.publish(event, { idempotencyKey: 'k' });
    const { status, body } = await org.publish<Refusal>({ ...other }, { idempotencyKey: 'k' });
    expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
    expect((await recorded()).map(({ id, action }) => [id, action])).toEqual([[first.body.id, event.action]]);
  });

  test('is acknowledged when async, and the first wins', async () => {
    const first = await org.publish({ resource: { name: 'first' } }, { idempotencyKey: 'k', async: true });
    const second = await org.publish({ resource: { name: 'second' } }, { idempotencyKey: 'k', async: true });
    expect([first.status, second.status, second.body.id]).toEqual([202, 202, first.body.id]);
    await org.publish({ resource: { name: 'barrier' } }, { context: 'barrier' });
    expect((await recorded()).map(({ resource }) => resource.name)).toEqual(['first']);
  });

  test('leaves exactly one event when 50 bodies race for one key, and only its own are acknowledged', async () => {
    const bodies = Array.from({ length: 50 }, (_, index) => ({ resource: { name: `racer ${index % 10}` } }));
    const answers = await Promise.all(bodies.map((body) => org.publish(body, { idempotencyKey: 'k' })));
    const [winner, ...others] = await recorded();
    expect(others).toEqual([]);
    const statuses = bodies.map(({ resource }) => (resource.name === winner?.resource.name ? 201 : 409));
    expect(answers.map(({ status }) => status)).toEqual(statuses);
  });

  test('distinguishes numbers that a double cannot', async () => {
    const text = (number: string) => `{"resource":{"name":"n","data":{"n":${number}}}}`;
    const first = await org.publish(text('9007199254740993'), { idempotencyKey: 'k' });
    const second = await org.publish(text('9007199254740992'), { idempotencyKey: 'k' });
    const third = await org.publish(text('9007199254740993'), { idempotencyKey: 'k' });
    expect([first.status, second.status, third.status]).toEqual([201, 409, 201]);
  });
});

describe('a key', () => {
  test('identifies another event in another context or organization', async () => {
    const other = await newOrg(service);
    const answers = [
      await org.publish(event, { idempotencyKey: 'k', context: 'one' }),
      await org.publish(event, { idempotencyKey: 'k', context: 'two' }),
      await other.publish(event, { idempotencyKey: 'k', context: 'one' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
  });

  test('does not mix up where the context ends and the key begins', async () => {
    const one = await org.publish(event, { context: 'a', idempotencyKey: 'b1:c' });
    const two = await org.publish(event, { context: 'ab', idempotencyKey: '1:c' });
    expect(one.body.id).not.toBe(two.body.id);
  });

  test('gives a UUIDv8, which is the event’s id', async () => {
    const { body } = await org.publish(event, { idempotencyKey: 'k' });
    expect(body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('may have 255 characters of any kind', async () => {
    expect((await org.publish(event, { idempotencyKey: '/: "~'.repeat(51) })).status).toBe(201);
  });

  test('is the same text in UTF-8 in the header and in a bulk, and is counted in characters', async () => {
    const idempotencyKey = 'ключ😀'.repeat(51);
    const header = Buffer.from(idempotencyKey).toString('latin1');
    const single = await org.publish(event, { idempotencyKey: header });
    const bulk = await org.bulk([{ idempotencyKey, event }]);
    expect([single.status, bulk.body.items[0]?.id]).toEqual([201, single.body.id]);
    expect(await recorded()).toHaveLength(1);
  });

  test.each([256, 1000])('may not have %d characters', async (length) => {
    const answer = await org.publish<Refusal>(event, { idempotencyKey: 'k'.repeat(length) });
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(['header:Idempotency-Key']);
  });

  test('must not be empty', async () => {
    const answer = await org.publish<Refusal>(event, { idempotencyKey: '' });
    expect(pointers(answer)).toEqual(['header:Idempotency-Key']);
  });

  test('of a refused event is still free', async () => {
    expect((await org.publish({ resource: {} }, { idempotencyKey: 'k' })).status).toBe(400);
    expect((await org.publish(event, { idempotencyKey: 'k' })).status).toBe(201);
  });
});
