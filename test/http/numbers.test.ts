import { Api, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
});

afterAll(() => service.remove());

/** How `n` comes back by id and by list; both as text, since parsing would lose what is to be seen. */
async function kept(number: string): Promise<string | undefined> {
  const { status, body, text } = await org.publish(`{"resource":{"name":"n","data":{"n":${number},"after":1}}}`);
  if (status !== 201) throw new Error(text);
  const pick = (from: string) => /"n":([^,]*),"after":1/.exec(from)?.[1];
  const byId = pick((await org.event(body.id)).text);
  expect(pick((await org.named('n', { pageSize: '1' })).text)).toBe(byId);
  return byId;
}

describe('a number that a double cannot hold comes back digit for digit', () => {
  test.each([
    '9007199254740993',
    '-9007199254740993',
    '18446744073709551615',
    '123456789012345678901234567890123456789012345678901234567890',
    '1e400',
    '-1E400',
    '1e-400',
    '1.7976931348623159e308',
    '4.9e-325',
    '0.1000000000000000000000000000001',
    '3.14159265358979323846264338327950288',
    '0.30000000000000004440892098500626',
    '100000000000000000000000000000000000001',
    '1.00000000000000000000000000000000000000000000000001E+5',
  ])('%s', async (number) => {
    expect(await kept(number)).toBe(number);
  });
});

describe('a number that a double writes as it is comes back so', () => {
  test.each(['0', '1', '-1', '0.1', '-2.5', '9007199254740991', '1.7976931348623157e+308', '5e-324', '1e+21'])(
    '%s',
    async (number) => {
      expect(await kept(number)).toBe(number);
    },
  );
});

describe('a number that a double writes otherwise comes back as it was sent', () => {
  test.each([
    '1.0',
    '1.10',
    '1e2',
    '1E5',
    '100E-2',
    '-0',
    '-0.0',
    '0.0000001',
    '0e999999999999999999999',
    '1.0000000000000000000000',
    '9007199254740992.0',
  ])('%s', async (number) => {
    expect(await kept(number)).toBe(number);
  });
});

test('numbers, and members in their order, come back as they were sent by every way in and out', async () => {
  const data = '{"10":1.10,"2":-0,"b":1E5,"1":{"3":1e400,"2":0.0},"a":[1.0,100E-2]}';
  const spaced = data.replaceAll(/[:,]/g, '$& ');
  const event = (name: string, text: string) => `{"resource":{"name":"${name}","data":${text}}}`;
  await org.publish(event('order', data));
  await org.publish(event('order', spaced), { idempotencyKey: 'order' });
  const items = [
    event('order', data),
    event('order', spaced),
    `{"idempotencyKey":"o","event":${event('order', spaced)}}`,
  ];
  const { body } = await org.bulk(`[${items.join(' , ')}]`);
  expect(body.succeeded).toBe(3);
  const list = await org.named('order');
  expect(list.text.split(data)).toHaveLength(6);
  for (const { id } of list.body.items) expect((await org.event(id)).text).toContain(data);
  const exported = await org.api.get(`${org.audit}/-export?resourceName=order`);
  expect(exported.text.split(data)).toHaveLength(6);
});

test('a retry is the same event however its numbers are spelled, if a double holds them', async () => {
  const keyed = (n: string, idempotencyKey: string) =>
    org.publish<Refusal & { id: string }>(`{"resource":{"name":"retry","data":{"n":${n}}}}`, { idempotencyKey });
  const first = await keyed('1.10', 'held');
  expect((await keyed('1.1', 'held')).body.id).toBe(first.body.id);
  expect((await keyed('11e-1', 'held')).body.id).toBe(first.body.id);
  const negative = await keyed('-0', 'zero');
  expect((await keyed('0', 'zero')).body.id).toBe(negative.body.id);
  expect((await org.event(negative.body.id)).text).toContain('{"n":-0}');
  expect((await keyed('1.2', 'held')).body.code).toBe('idempotency_conflict');
  await keyed('1e400', 'huge');
  expect((await keyed('1e400', 'huge')).status).toBe(201);
  expect((await keyed('10e399', 'huge')).body.code).toBe('idempotency_conflict');
  expect((await keyed('2e400', 'huge')).body.code).toBe('idempotency_conflict');
});

describe('everywhere in free-form data', () => {
  test('exact numbers are kept, in arrays and deep in objects', async () => {
    const big = '12345678901234567890';
    const free = `{"list":[${big},[${big}]],"o":{"p":${big}}}`;
    const event = `{"resource":{"name":"f","data":${free}},"context":{"data":${free}},"subject":{"claims":${free},"data":${free}},"action":{"data":${free}}}`;
    const { body } = await org.publish(event);
    const { text } = await org.event(body.id);
    expect(text.split(free)).toHaveLength(6);
  });
});

describe('outside free-form data a number that cannot be kept', () => {
  test.each([
    ['/requestId', '{"resource":{"name":"x"},"requestId":1e400}'],
    ['/result/status', '{"resource":{"name":"x"},"result":{"status":12345678901234567890}}'],
    ['/resource/data', '{"resource":{"name":"x","data":1e400}}'],
    ['/extra', '{"resource":{"name":"x"},"extra":1e400}'],
  ])('is refused with its place %s', async (pointer, event) => {
    const answer = await org.publish<Refusal>(event);
    expect(answer.status).toBe(400);
    expect(new Set(pointers(answer))).toEqual(new Set([pointer]));
  });

  test('is refused in place of an object, naming only places that are in the body', async () => {
    const answer = await org.publish<Refusal>('{"resource":1e400,"subject":1e400}');
    expect(answer.status).toBe(400);
    expect(new Set(pointers(answer))).toEqual(new Set(['/resource', '/subject']));
  });

  test('is refused in a text of POST /org too', async () => {
    const answer = await new Api(service.url, service.rootKey).post<Refusal>(
      '/org',
      '{"name":"num","tags":{"a":1e400}}',
    );
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toContain('/tags/a');
  });
});

test('a number as long as the body holds up nobody', async () => {
  const number = `1${'0'.repeat(100_000)}1`;
  const started = performance.now();
  expect(await kept(number)).toBe(number);
  expect(performance.now() - started).toBeLessThan(2_000 * PATIENCE);
});
