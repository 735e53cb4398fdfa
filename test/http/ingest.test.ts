import { randomBytes } from 'node:crypto';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Event, newOrg, type Org, type Refusal } from '../support/api.js';
import { type IngestResult, ingest as ingestInto, rawOf } from '../support/ingest.js';
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

type Sending = Parameters<typeof ingestInto>[2];

const ingest = (body: string | Uint8Array, sending: Sending = {}) => ingestInto(org, body, sending);

const named = (name: string) => JSON.stringify({ resource: { name } });

async function recorded(): Promise<readonly Event[]> {
  return (await org.list({ contextName: 'app', pageSize: '1000', order: 'received' })).body.items;
}

async function recordedNames(): Promise<unknown[]> {
  return (await recorded()).map(({ resource }) => resource.name);
}

function expectResult(sent: { status: number; body: IngestResult & Refusal }, expected: Partial<IngestResult>): void {
  expect([sent.status, sent.body]).toEqual([200, expect.objectContaining({ kind: 'ingestresult', ...expected })]);
}

describe('what is sent', () => {
  test('is one event a line, in order, without blank lines', async () => {
    const sent = await ingest(`${named('a')}\n\n \t\r\n${named('b')}\r\n${named('ü')}`);
    expectResult(sent, { lines: 3, recorded: 3, repeated: 0, unmapped: 0, firstUnmapped: [] });
    expect(await recordedNames()).toEqual(['a', 'b', 'ü']);
  });

  test.each([
    ['the items of a JSON array', ` [ ${named('a')},\n${named('b')} ]\n`, ['a', 'b']],
    ['nothing, if the array is empty', '[]', []],
    ['nothing, if the body is', '', []],
    ['one object over several lines', JSON.stringify({ resource: { name: 'a' } }, null, 2), ['a']],
    ['objects, a line each', `${named('a')}\n${named('b')}`, ['a', 'b']],
    ['wrapped events', `{"event":${named('a')}}\n${named('b')}`, ['a', 'b']],
    ['lines that look like an array of words', '[error] one\n[error]', ['app', 'app']],
    ['an array that is cut off, as it came', `[${named('a')},${named('b')}`, ['app']],
  ])('may be %s', async (_what, body, names) => {
    expectResult(await ingest(body), { lines: names.length, recorded: names.length });
    expect(await recordedNames()).toEqual(names);
  });

  test.each([undefined, 'application/json', 'application/x-ndjson', 'text/plain; charset=latin1', 'no type'])(
    'may be of the type %s',
    async (type) => {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      expectResult(await ingest(Buffer.from(named('a')), { headers }), { recorded: 1 });
    },
  );

  test('is not waited for with async=true, and repetitions are not known then', async () => {
    const { status, body } = await ingest(named('a'), { query: '?async=True' });
    const result = { kind: 'ingestresult', lines: 1, recorded: 1, unmapped: 0, firstUnmapped: [] };
    expect([status, body]).toEqual([200, result]);
    const keyed = { query: '?async=true', headers: { 'idempotency-key': 'batch-1' } };
    expect([(await ingest('x', keyed)).body.recorded, (await ingest('x', keyed)).body.recorded]).toEqual([1, 1]);
  });

  test('keeps the white space that a line begins and ends with, whatever blank lines are around', async () => {
    await ingest('\n \r\n\t a \n\n\n b\r\r\n \n');
    const raws = (await recorded()).map((event) => rawOf([event]).toString());
    expect(raws).toEqual(['\t a ', ' b\r']);
  });

  test('may be 20,000 lines, and is refused as a whole with one more', async () => {
    const lines = Array.from({ length: 20_001 }, (_, n) => `{"resource":{"name":"n${n}"}}`);
    const refused = await ingest(lines.join('\n'));
    expect([refused.status, refused.body.code]).toEqual([413, 'payload_too_large']);
    expect(await recorded()).toEqual([]);
    expectResult(await ingest(lines.slice(1).join('\n')), { lines: 20_000, recorded: 20_000, unmapped: 0 });
  });

  test('is refused with 413 if it is over 20 MiB, packed or not', async () => {
    const large = Buffer.alloc(20 * 1024 * 1024 + 1, 'x');
    const plain = await ingest(large);
    const packed = await ingest(gzipSync(large), { headers: { 'content-encoding': 'gzip' } });
    expect([plain, packed].map(({ status, body }) => [status, body.code])).toEqual([
      [413, 'payload_too_large'],
      [413, 'payload_too_large'],
    ]);
    expect(await recorded()).toEqual([]);
  });
});

describe('what is no event', () => {
  test('is recorded as it came, with the reason, beside what is one', async () => {
    const lines = [named('a'), '{"level":"info"}', '  at com.example.Foo(Foo.java)', 'null', '{"resource":{"name":7}}'];
    const sent = await ingest(lines.join('\n'));
    expectResult(sent, { lines: 5, recorded: 5, unmapped: 4 });
    expect(sent.body.firstUnmapped.map(({ line }) => line)).toEqual([2, 3, 4, 5]);
    const [, ...others] = await recorded();
    expect(others.map(({ resource }) => [resource.type, resource.name])).toEqual(Array(4).fill(['unmapped', 'app']));
    expect(others.map((event) => rawOf([event]).toString())).toEqual(lines.slice(1));
    const reasons = others.map(({ resource }) => (resource.data as { reason: string }).reason);
    expect(reasons).toEqual(sent.body.firstUnmapped.map(({ reason }) => reason));
    expect(reasons[3]).toMatch(/\/resource\/name/);
  });

  test('keeps bytes that are no UTF-8', async () => {
    const raw = Buffer.from([0x66, 0xff, 0x00, 0xfe]);
    expectResult(await ingest(raw), { recorded: 1, unmapped: 1 });
    expect((await recorded())[0]?.resource.data).toMatchObject({ rawBase64: raw.toString('base64') });
  });

  test('keeps control characters as base64 where JSON would be much longer', async () => {
    const raw = Buffer.from('\0'.repeat(300_000));
    expectResult(await ingest(Buffer.concat([raw, Buffer.from('\n\u001b[31m"red"')])), { lines: 2, unmapped: 2 });
    const events = await recorded();
    expect(events.map(({ resource }) => Object.keys(resource.data as object)[0])).toEqual([
      'rawBase64',
      'rawBase64',
      'raw',
    ]);
    expect(rawOf(events.slice(0, 2)).equals(raw)).toBe(true);
  });

  test.each([
    ['text', Buffer.from('ä"\\\u0001'.repeat(200_000))],
    ['bytes', Buffer.from(randomBytes(600_000).map((byte) => (byte === 10 || byte === 13 ? 11 : byte)))],
    [
      'an event over 256 KiB',
      Buffer.from(JSON.stringify({ resource: { name: 'x', data: { x: 'x'.repeat(300_000) } } })),
    ],
  ])('becomes several events of one line if it is long: %s', async (_what, raw) => {
    expectResult(await ingest(raw), { lines: 1, recorded: 1, unmapped: 1 });
    const events = await recorded();
    const parts = events.map(({ resource }) => resource.data as { part: number; parts: number });
    expect(parts.map(({ part, parts }) => [part, parts])).toEqual(parts.map((_, at) => [at + 1, events.length]));
    expect(events.length).toBeGreaterThan(1);
    expect(rawOf(events).equals(raw)).toBe(true);
  });

  test('names the first ten in the response', async () => {
    const { body } = await ingest('x\n'.repeat(2_500));
    expect([body.lines, body.unmapped, body.firstUnmapped.map(({ line }) => line)]).toEqual([
      2_500,
      2_500,
      Array.from({ length: 10 }, (_, at) => at + 1),
    ]);
  });
});

describe('what is as long as an event may be', () => {
  const MOST = 256 * 1024;
  const WRAPPER = 4 * 1024;
  /** An event of so many bytes. */
  const sized = (bytes: number, name: string) => {
    const begin = `{"resource":{"name":"${name}","data":{"x":"`;
    return `${begin}${'x'.repeat(bytes - begin.length - 4)}"}}}`;
  };
  const wrapped = (event: string, bytes: number, key: string) => {
    const end = `,"idempotencyKey":"${key}"}`;
    return `{"event":${event}${' '.repeat(bytes - event.length - 9 - end.length)}${end}`;
  };
  test.each([
    ['an event of 256 KiB', sized(MOST, 'a'), 0],
    ['one byte more', sized(MOST + 1, 'a'), 1],
    ['an event of 256 KiB in a wrapper of 4 KiB', wrapped(sized(MOST, 'a'), MOST + WRAPPER, 'k'), 0],
    ['an event of one byte more in a wrapper', wrapped(sized(MOST + 1, 'a'), MOST + WRAPPER, 'k'), 1],
    ['a wrapper of one byte more', wrapped(sized(1_000, 'a'), MOST + WRAPPER + 1, 'k'), 1],
  ])('is recorded, once if it has a key: %s', async (_what, line, unmapped) => {
    const times = line.includes('idempotencyKey') ? { recorded: 0, repeated: 1 } : { recorded: 1, repeated: 0 };
    expectResult(await ingest(line), { lines: 1, recorded: 1, unmapped });
    expectResult(await ingest(line), { lines: 1, ...times });
    const [event] = await recorded();
    if (unmapped === 0) expect(event?.resource.name).toBe('a');
    else expect(rawOf((await recorded()).filter((one) => one.resource.type === 'unmapped')).toString()).toContain(line);
  });
});

describe('what is sent again', () => {
  const headers = { 'idempotency-key': 'batch-1' };

  test('with the key of the batch is not recorded again, mapped or not', async () => {
    const body = `${named('a')}\nplain\n${'long '.repeat(100_000)}`;
    expectResult(await ingest(body, { headers }), { lines: 3, recorded: 3, repeated: 0, unmapped: 2 });
    const before = await recorded();
    expectResult(await ingest(body, { headers }), { lines: 3, recorded: 0, repeated: 3, unmapped: 0 });
    expect(await recorded()).toEqual(before);
  });

  test('with the key of the batch and more lines records the others', async () => {
    await ingest(`${named('a')}\n`, { headers });
    expectResult(await ingest(`${named('a')}\n${named('b')}`, { headers }), { recorded: 1, repeated: 1 });
  });

  test('with a key and another text is another event, never a conflict', async () => {
    await ingest(named('a'), { headers });
    expectResult(await ingest(named('b'), { headers }), { recorded: 1, repeated: 0 });
    expect(await recordedNames()).toEqual(['a', 'b']);
  });

  test('with a key of its own is known in any batch, and in the same', async () => {
    const wrapped = `{"idempotencyKey":"k","event":${named('a')}}`;
    expectResult(await ingest(`${wrapped}\n${named('b')}\n${wrapped}`), { lines: 3, recorded: 2, repeated: 1 });
    expectResult(await ingest(wrapped, { headers }), { recorded: 0, repeated: 1 });
  });

  test('with a key of its own around a faulty event is known in any batch', async () => {
    const wrapped = '{"idempotencyKey":"k","event":{"resource":{"name":7}}}';
    expectResult(await ingest(`${named('b')}\n${wrapped}`, { headers }), { lines: 2, recorded: 2, unmapped: 1 });
    expectResult(await ingest(wrapped, { headers: { 'idempotency-key': 'batch-2' } }), { recorded: 0, repeated: 1 });
    const faulty = wrapped.replace('"k"', '7');
    await ingest(faulty, { headers });
    expectResult(await ingest(faulty, { headers: { 'idempotency-key': 'batch-2' } }), { recorded: 1, repeated: 0 });
  });

  test('without a key is recorded again: equal lines are events of their own', async () => {
    expectResult(await ingest(`${named('a')}\n${named('a')}`), { recorded: 2, repeated: 0 });
  });

  test('in another context, or by another publisher, is another event', async () => {
    await ingest(named('a'), { headers });
    expectResult(await ingestInto(org, named('a'), { headers, context: 'other' }), { recorded: 1, repeated: 0 });
  });
});

describe('what is packed', () => {
  const body = Array.from({ length: 300 }, (_, n) => named(`n${n}`)).join('\n');
  const half = body.indexOf('\n', body.length / 2) + 1;
  const halves = [body.slice(0, half), body.slice(half)];
  const packers = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, zstd: zstdCompressSync };

  describe.each(Object.entries(packers))('as %s', (encoding, pack) => {
    const headers = { 'content-encoding': encoding };

    test('is unpacked', async () => {
      expectResult(await ingest(pack(body), { headers }), { lines: 300, recorded: 300, unmapped: 0 });
    });

    test('may have several frames, one behind the other', async () => {
      const frames = Buffer.concat(halves.map((part) => pack(part)));
      expectResult(await ingest(frames, { headers }), { lines: 300, recorded: 300, unmapped: 0 });
    });

    test.each([
      ['cut off', (packed: Buffer) => packed.subarray(0, -3)],
      ['not packed at all', () => Buffer.from(body)],
      ['followed by something else', (packed: Buffer) => Buffer.concat([packed, Buffer.from('more')])],
      ['followed by a frame that is cut off', (packed: Buffer) => Buffer.concat([packed, packed.subarray(0, -3)])],
    ])('is refused with 400 if it is %s', async (_what, spoil) => {
      const { status, body: refusal } = await ingest(spoil(pack(body)), { headers });
      expect([status, refusal.code]).toEqual([400, 'malformed_encoding']);
      expect(await recorded()).toEqual([]);
    });
  });

  test.each(['gzip, identity', 'identity, GZIP', ' gzip ,'])('is unpacked as %j', async (encoding) => {
    const headers = { 'content-encoding': encoding };
    expectResult(await ingest(gzipSync(body), { headers }), { lines: 300, recorded: 300, unmapped: 0 });
  });

  test.each(['', 'identity', 'identity, identity'])('may be not packed, with Content-Encoding %j', async (encoding) => {
    expectResult(await ingest(body, { headers: { 'content-encoding': encoding } }), { lines: 300, recorded: 300 });
  });

  test('is refused with 415 if it is packed twice', async () => {
    const { status } = await ingest(gzipSync(gzipSync(body)), { headers: { 'content-encoding': 'gzip, gzip' } });
    expect(status).toBe(415);
  });

  test('is refused with 415 in an encoding that is not known', async () => {
    const { status, body: refusal } = await ingest(body, { headers: { 'content-encoding': 'br' } });
    expect([status, refusal.code]).toEqual([415, 'unsupported_media_type']);
    expect(refusal.message).toMatch(/gzip, zstd or deflate/);
  });
});

describe('a key in Authorization: Basic', () => {
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
  const get = (authorization: string) =>
    fetch(`${service.url}/audit/org/${org.name}`, { headers: { authorization } }).then(({ status }) => status);

  test('is taken as the password of any user, on every route', async () => {
    const authorization = basic(`fluent-bit:${org.key}`);
    expectResult(await ingest(named('a'), { headers: { authorization } }), { recorded: 1 });
    const users = [basic(`:${org.key}`), basic(`x:${org.key}`), `bAsIc ${basic(`x:${org.key}`).slice(6)}`];
    expect(await Promise.all(users.map(get))).toEqual([200, 200, 200]);
  });

  test.each([
    ['a wrong password', () => basic('x:wrong')],
    ['the key as the user', () => basic(`${org.key}:`)],
    ['no password', () => basic(org.key)],
    ['no base64', () => 'Basic ???'],
    ['base64, then what is no base64', () => `${basic(`x:${org.key}`)}!!!!`],
    ['base64, then a second scheme', () => `${basic(`x:${org.key}`)}, Bearer x`],
    ['a blank within base64', () => basic(`x:${org.key}`).replace(/.{10}$/, ' $&')],
    [
      'base64, then more after its padding',
      () => `${basic(`${org.key.length % 3 === 0 ? 'x' : 'xyz'}:${org.key}`)}=AAA`,
    ],
    ['base64 of the URL alphabet', () => basic(`\u00ff\u00bf\u00ff\u00bf:${org.key}`).replaceAll('/', '_')],
    ['nothing', () => 'Basic '],
  ])('is refused with 401: %s', async (_what, authorization) => {
    expect(await get(authorization())).toBe(401);
  });
});

test('a request that may not write is refused before its body is read', async () => {
  const other = await newOrg(service);
  const { status } = await ingestInto(org, named('a'), { headers: { authorization: `Bearer ${other.key}` } });
  expect(status).toBe(403);
  expect(await recorded()).toEqual([]);
});
