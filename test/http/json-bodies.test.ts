import { nested, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
});

afterAll(() => service.remove());

const withData = (data: string) => `{"resource":{"name":"x","data":${data}}}`;

async function malformed(body: string | Uint8Array): Promise<Refusal['details']> {
  const answer = await org.publish<Refusal>(body);
  expect([answer.status, answer.body.code]).toEqual([400, 'malformed_json']);
  return answer.body.details;
}

describe('a body that is not JSON', () => {
  test.each([
    '',
    ' ',
    '{',
    '{"resource":{"name":"x"}',
    '{"resource":{"name":"x"}}}',
    '{"resource":{"name":"x"}} x',
    "{'resource':{'name':'x'}}",
    '{"resource":{"name":"x"},}',
    '{"resource":{"name":"a\nb"}}',
    '{"resource":{"name":"\\x41"}}',
    withData('{"n":01}'),
    withData('{"n":.5}'),
    withData('{"n":+1}'),
    withData('{"n":NaN}'),
    withData('{"n":1e}'),
    '\ufeff{"resource":{"name":"x"}}',
    '// comment\n{"resource":{"name":"x"}}',
    'undefined',
  ])('is refused: %j', async (body) => {
    await malformed(body);
  });

  test.each([
    ['{"resource":{"name":x}}', 20],
    ['{"resource":{"name":"é",},"a":1}', 24],
    ['[1,2', 4],
    ['{"a":tru}', 5],
    ['{"a":[1,]}', 8],
    ['{"a":1]', 6],
    ['{"a":1} 2', 8],
    ['}', 0],
    ['', 0],
  ])('is refused with the place: %s at %d', async (body, at) => {
    expect(await malformed(body)).toEqual({ at });
  });

  test('is refused with the place and without its text', async () => {
    const answer = await org.publish<Refusal>('{"resource":{"name":"secret-text" oops}}');
    expect(answer.body.details).toEqual({ at: 34 });
    expect(answer.text).not.toContain('secret');
  });
});

describe('a body that is not UTF-8', () => {
  const around = (...bytes: number[]) =>
    Buffer.concat([Buffer.from('{"resource":{"name":"'), Buffer.from(bytes), Buffer.from('"}}')]);

  test.each([
    ['Latin-1', around(0xe9)],
    ['cut off', around(0xf0, 0x9f, 0x98)],
    ['overlong', around(0xc0, 0xaf)],
    ['a surrogate', around(0xed, 0xa0, 0x80)],
    ['beyond Unicode', around(0xf4, 0x90, 0x80, 0x80)],
    ['UTF-16', Buffer.from('{"resource":{"name":"x"}}', 'utf16le')],
  ])('is refused: %s', async (_what, body) => {
    await malformed(body);
  });
});

describe('a duplicate member', () => {
  test.each([
    ['at the top', '{"resource":{"name":"x"},"resource":{"name":"y"}}', '/resource'],
    ['with the same value', '{"resource":{"name":"x","name":"x"}}', '/resource/name'],
    ['deep in free-form data', withData('{"a":[0,{"b":{}},{"b":{"c":1,"d":2,"c":3}}]}'), '/resource/data/a/2/b/c'],
    ['once with an escape', withData('{"key":1,"k\\u0065y":2}'), '/resource/data/key'],
    ['with a slash and a tilde', withData('{"a/b~c":1,"a/b~c":2}'), '/resource/data/a~1b~0c'],
    ['that is empty', withData('{"":1,"":2}'), '/resource/data/'],
    ['that is a number', withData('{"1":1,"2":2,"1":3}'), '/resource/data/1'],
    ['beside text that looks like members', withData('{"a":"\\"b\\":1,{\\"b\\":2","b":1,"b":2}'), '/resource/data/b'],
    ['in the second of two alike', withData('{"x":[{"a":1},{"a":1,"a":1}]}'), '/resource/data/x/1/a'],
  ])('%s is refused with its place', async (_what, body, pointer) => {
    expect(await malformed(body)).toEqual({ pointer });
  });

  test('but in different objects is taken', async () => {
    const data = { a: { a: [{ a: 1 }, { a: 2 }] }, b: { a: 3 }, c: '"a":1,"a":2' };
    expect((await org.published({ resource: { name: 'x', data } })).resource.data).toEqual(data);
  });
});

describe('member names and texts that no other program could handle', () => {
  test.each([
    ['__proto__', '{"__proto__":{},"resource":{"name":"x"}}', ['/__proto__']],
    ['__proto__ in free-form data', withData('{"a":{"__proto__":1}}'), ['/resource/data/a/__proto__']],
    ['__proto__ with an escape', withData('{"\\u005f_proto__":1}'), ['/resource/data/__proto__']],
    ['half a surrogate pair', '{"resource":{"name":"\\ud83d"}}', ['/resource/name']],
    ['the other half', withData('{"a":["ok","\\uDE00"]}'), ['/resource/data/a/1']],
    ['the halves in the wrong order', withData('{"a":"\\ude00\\ud83d"}'), ['/resource/data/a']],
    ['half a pair in a name', withData('{"\\ud83d":1}'), ['/resource/data/\ufffd']],
  ])('are refused with their place: %s', async (_what, body, places) => {
    const answer = await org.publish<Refusal>(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect(pointers(answer)).toEqual(places);
  });

  test('are taken where they are only texts: __proto__ as a value, a whole pair with escapes', async () => {
    const { resource } = await org.published(withData('{"a":"__proto__","b":"\\ud83d\\ude00","c":"\\\\ud83d"}'));
    expect(resource.data).toEqual({ a: '__proto__', b: '😀', c: '\\ud83d' });
  });
});

describe('nesting', () => {
  test('may be 32 deep', async () => {
    expect((await org.publish(withData(`{"x":${nested(29)}}`))).status).toBe(201);
  });

  test.each([33, 2_000, 100_000])('may not be %d deep', async (depth) => {
    await malformed(withData(`{"x":${nested(depth - 3)}}`));
  });

  test('does not count brackets in texts', async () => {
    expect((await org.published({ resource: { name: '['.repeat(100) } })).resource.name).toBe('['.repeat(100));
  });
});
