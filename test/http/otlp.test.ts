import { gzipSync, zstdCompressSync } from 'node:zlib';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type Event, fromNow, newOrg, type Org, withQuery } from '../support/api.js';
import { attributes, type ExportRequest, encodeRequest, FORMATS, type LogRecord, requestOf } from '../support/otlp.js';
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

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';

interface Sending {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly context?: string;
  readonly org?: string;
}

async function send(
  body: Uint8Array<ArrayBuffer> | string,
  { type = PROTOBUF, headers, context, ...of }: Sending = {},
) {
  const url = `${service.url}/otlp/org/${of.org ?? org.name}/auditctx/${context ?? 'app'}/v1/logs`;
  const sent = { authorization: `Bearer ${org.key}`, 'content-type': type, ...headers };
  const response = await fetch(url, { method: 'POST', body, headers: sent });
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    headers: response.headers,
    type: response.headers.get('content-type')?.split(';')[0],
    bytes,
  };
}

/** In the order of their arrival. */
function recorded(): Promise<Event[]> {
  return org.walk(withQuery(org.audit, { contextName: 'app', order: 'received' }));
}

/** The one event of a request. */
async function eventOf(record: LogRecord, resource?: Readonly<Record<string, string | number>>): Promise<Event> {
  expect(await send(encodeRequest(requestOf([record], resource)))).toMatchObject({ status: 200 });
  const [event, ...others] = await recorded();
  expect(others).toEqual([]);
  return event as Event;
}

const SIGNED_IN: LogRecord = {
  timeUnixNano: '1760000000123456789',
  observedTimeUnixNano: '1760000001000000000',
  severityNumber: 9,
  severityText: 'INFO',
  eventName: 'user.signed_in',
  body: { stringValue: 'Ann signed in' },
  attributes: attributes({
    'user.email': 'ann@example.com',
    'user.name': 'ann',
    'client.address': '203.0.113.7',
    'http.response.status_code': 200,
  }),
  droppedAttributesCount: 1,
  flags: 1,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
};

const DATA = {
  timeUnixNano: '1760000000123456789',
  observedTimeUnixNano: '1760000001000000000',
  severityNumber: 9,
  severityText: 'INFO',
  eventName: 'user.signed_in',
  body: 'Ann signed in',
  attributes: {
    'user.email': 'ann@example.com',
    'user.name': 'ann',
    'client.address': '203.0.113.7',
    'http.response.status_code': 200,
  },
  droppedAttributesCount: 1,
  flags: 1,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  resource: { attributes: { 'service.name': 'shop', 'service.instance.id': 'shop-1', 'k8s.pod.name': 'shop-7d9' } },
  scope: { name: 'orders', version: '1.2.3' },
};

describe.each(FORMATS)('a log record in $type', ({ type, encode }) => {
  const shop = { 'service.name': 'shop', 'service.instance.id': 'shop-1', 'k8s.pod.name': 'shop-7d9' };

  test('becomes an event by the semantic conventions, with all that was sent', async () => {
    const { status, type: answered, bytes } = await send(encode(requestOf([SIGNED_IN], shop)), { type });
    expect([status, answered]).toEqual([200, type]);
    expect(bytes.toString()).toBe(type === PROTOBUF ? '' : '{}');
    const [event] = await recorded();
    expect(event).toMatchObject({
      eventTime: '2025-10-09T08:53:20.123Z',
      eventTimeSent: '2025-10-09T08:53:20.123456789Z',
      requestId: SIGNED_IN.traceId,
      resource: { type: 'service', name: 'shop', id: 'shop-1' },
      context: { name: 'app', remoteIp: '203.0.113.7', podId: 'shop-7d9', eventSource: 'shop' },
      subject: { email: 'ann@example.com', name: 'ann' },
      action: { type: 'user.signed_in' },
      result: { status: 'success', message: 'Ann signed in' },
    });
    expect(event?.resource.data).toEqual(DATA);
  });

  test('keeps values of every type', async () => {
    const values = {
      arrayValue: {
        values: [
          { stringValue: '' },
          { boolValue: false },
          { intValue: '0' },
          { doubleValue: 0.5 },
          { bytesValue: 'AP8=' },
          {},
          { arrayValue: { values: [] } },
          { kvlistValue: { values: [{ key: 'a', value: { kvlistValue: { values: [] } } }] } },
        ],
      },
    };
    await send(encode(requestOf([{ body: values }])), { type });
    const [event] = await recorded();
    expect(event?.resource.data?.body).toEqual(['', false, 0, 0.5, 'AP8=', null, [], { a: {} }]);
  });

  test('keeps integers of 64 bits digit for digit', async () => {
    const attributes = [{ key: 'n', value: { intValue: '9223372036854775807' } }];
    await send(encode(requestOf([{ attributes }])), { type });
    const [event] = await recorded();
    expect((await org.event(event?.id ?? '')).text).toContain('"n":9223372036854775807');
  });

  test('keeps attributes with the same name, and ones that no object may have', async () => {
    const pair = (key: string, value: string) => ({ key, value: { stringValue: value } });
    const twice = [pair('a', '1'), pair('a', '2')];
    const proto = [pair('__proto__', '1')];
    await send(encode(requestOf([{ attributes: twice }, { attributes: proto }])), { type });
    const found = (await recorded()).map((event) => event.resource.data?.attributes);
    expect(found).toEqual([
      [
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
      ],
      [{ key: '__proto__', value: '1' }],
    ]);
  });

  test('is recorded once with log.record.uid, or its place in a file', async () => {
    const uid = { attributes: attributes({ 'log.record.uid': '01' }) };
    const place = { attributes: attributes({ 'log.file.path': '/var/log/a', 'log.file.record_offset': 17 }) };
    const other = { attributes: attributes({ 'log.file.path': '/var/log/a', 'log.file.record_offset': 42 }) };
    const body = encode(requestOf([uid, place, other, {}]));
    for (let time = 0; time < 3; time += 1) await send(body, { type });
    const found = await recorded();
    expect(found).toHaveLength(3 + 3);
  });

  test('is the same when it is read again from its place in a file, and another one with another text', async () => {
    const place = attributes({ 'log.file.path': '/var/log/a', 'log.file.record_offset': 17 });
    const line = (text: string, observedTimeUnixNano: string) => {
      // A Collector sends attributes in any order.
      place.reverse();
      return send(encode(requestOf([{ body: { stringValue: text }, observedTimeUnixNano, attributes: place }])), {
        type,
      });
    };
    await line('first', '1760000001000000000');
    await line('first', '1760000002000000000');
    await line('second', '1760000002000000000');
    const found = await recorded();
    expect(found.map(({ resource }) => resource.data)).toMatchObject([
      { body: 'first', observedTimeUnixNano: '1760000001000000000' },
      { body: 'second', observedTimeUnixNano: '1760000002000000000' },
    ]);
  });

  test('is recorded in the order of the request, a thousand of them, packed or not', async () => {
    const records = Array.from({ length: 1_000 }, (_, at) => ({ body: { stringValue: `line ${at}` } }));
    const body = encode(requestOf(records));
    expect(await send(body, { type })).toMatchObject({ status: 200 });
    const messages = (await recorded()).map(({ result }) => result?.message);
    expect(messages).toEqual(records.map((record) => record.body.stringValue));
    const gzip = { 'content-encoding': 'gzip' };
    expect(await send(gzipSync(body), { type, headers: gzip })).toMatchObject({ status: 200 });
    expect(await send(zstdCompressSync(body), { type, headers: { 'content-encoding': 'zstd' } })).toMatchObject({
      status: 200,
    });
    expect(await recorded()).toHaveLength(3_000);
  });
});

describe('the semantic conventions', () => {
  test.each<[Record<string, string>, object]>([
    [
      { 'service.name': 'shop', 'host.name': 'h1' },
      { type: 'service', name: 'shop' },
    ],
    [
      { 'service.name': 'unknown_service:node', 'k8s.pod.name': 'p', 'k8s.pod.uid': 'u', 'k8s.deployment.name': 'd' },
      { type: 'k8s.pod', name: 'p', id: 'u' },
    ],
    [{ 'container.id': 'c0ffee' }, { type: 'container', name: 'c0ffee', id: 'c0ffee' }],
    [
      { 'host.name': 'h1', 'host.id': 'i-1' },
      { type: 'host', name: 'h1', id: 'i-1' },
    ],
    [{ 'log.file.path': '/var/log/a' }, { type: 'file', name: '/var/log/a' }],
    [{ 'service.name': 'unknown_service' }, { type: 'service', name: 'unknown_service' }],
    [{}, { type: 'service', name: 'orders' }],
  ])('name the resource of %j', async (resource, named) => {
    const { data: _data, ...found } = (await eventOf({}, resource)).resource;
    expect(found).toEqual(named);
  });

  test.each<[LogRecord, string | undefined]>([
    [{ severityNumber: 9 }, undefined],
    [{ severityNumber: 17 }, 'failure'],
    [{ severityNumber: 9, attributes: attributes({ 'error.type': 'timeout' }) }, 'failure'],
    [{ severityNumber: 17, attributes: attributes({ 'http.response.status_code': 204 }) }, 'success'],
    [{ attributes: attributes({ 'http.response.status_code': 404 }) }, 'failure'],
    [{ severityNumber: 17, attributes: attributes({ 'event.outcome': 'unknown' }) }, 'unknown'],
  ])('tell the result of %j', async (record, status) => {
    expect((await eventOf(record)).result?.status).toBe(status);
  });

  test.each<[Record<string, string>, object]>([
    [{ 'enduser.id': 'ann@example.com' }, { email: 'ann@example.com', name: 'ann@example.com' }],
    [{ 'user.id': '42' }, { name: '42' }],
    [{ 'user.id': '42', 'user.name': 'ann' }, { name: 'ann' }],
  ])('tell the subject of %j', async (names, subject) => {
    expect((await eventOf({ attributes: attributes(names) })).subject).toEqual(subject);
  });

  test('go by the observed time of a log record that has none, and by its arrival if it is ahead', async () => {
    const later = `${Date.parse(fromNow(3_600_000))}000000`;
    await send(encodeRequest(requestOf([{ observedTimeUnixNano: '1760000001000000000' }, { timeUnixNano: later }])));
    const [observed, ahead] = await recorded();
    expect(observed).toMatchObject({ eventTime: '2025-10-09T08:53:21.000Z' });
    expect(ahead?.eventTime).toBe(ahead?.postedTime);
    expect(ahead?.resource.data).toMatchObject({ timeUnixNano: later });
  });

  test('give long texts and control characters a place that they fit in, and keep them whole', async () => {
    const name = `a\u0000b${'x'.repeat(5_000)}`;
    const { resource } = await eventOf({ body: { stringValue: name } }, { 'service.name': name });
    expect(resource.name).toBe(`a b${'x'.repeat(1_021)}`);
    expect(resource.data).toMatchObject({ body: name, resource: { attributes: { 'service.name': name } } });
  });
});

describe('ingest settings of the context', () => {
  const set = async (ingest: object) => {
    const { status } = await org.api.send('PUT', `${org.audit}/auditctx/app`, JSON.stringify({ ingest }), {
      'content-type': 'application/json',
    });
    expect(status).toBe(200);
  };

  test.each(FORMATS)('point into the log record and go before the semantic conventions, in $type', async (format) => {
    await set({
      preset: 'vector',
      resource: { type: { value: 'order' }, name: '/attributes/order.id' },
      subject: { name: '/resource/attributes/tenant' },
      action: '/body/verb',
      time: '/attributes/at',
    });
    const record: LogRecord = {
      ...SIGNED_IN,
      body: { kvlistValue: { values: attributes({ verb: 'cancel' }) } },
      attributes: [...attributes({ 'order.id': 17, at: '2026-01-31T12:00:00Z' }), ...(SIGNED_IN.attributes ?? [])],
    };
    await send(format.encode(requestOf([record, SIGNED_IN], { 'service.name': 'shop', tenant: 'blue' })), format);
    const [mapped, unchanged] = await recorded();
    expect(mapped).toMatchObject({
      eventTime: '2026-01-31T12:00:00.000Z',
      resource: { type: 'order', name: '17' },
      subject: { name: 'blue', email: 'ann@example.com' },
      action: { type: 'cancel' },
      result: { status: 'success' },
    });
    expect(unchanged).toMatchObject({
      eventTime: '2025-10-09T08:53:20.123Z',
      resource: { type: 'order', name: 'shop' },
      subject: { name: 'blue' },
      action: { type: 'user.signed_in' },
      result: { status: 'success', message: 'Ann signed in' },
    });
  });

  test('say what is recorded once', async () => {
    await set({ resource: { name: '/attributes/order.id' }, key: '/attributes/order.id' });
    const order = (id: number) => ({ attributes: attributes({ 'order.id': id }) });
    for (let time = 0; time < 2; time += 1) await send(encodeRequest(requestOf([order(1), order(2), {}])));
    expect(await recorded()).toHaveLength(2 + 2);
  });
});

describe('fields of a later version of OTLP', () => {
  const known = { body: { stringValue: 'known' }, attributes: attributes({ 'event.name': 'login' }) };
  const later = { laterName: 'x', later_list: [{ a: 1 }] };

  test('are ignored in JSON, and stay in the data of a log record, a resource and a scope', async () => {
    const scopeLogs = [{ ...later, scope: { ...later, name: 'orders' }, logRecords: [{ ...known, ...later }] }];
    const resource = { attributes: attributes({ 'service.name': 'shop' }), ...later };
    const body = JSON.stringify({ ...later, resourceLogs: [{ ...later, resource, scopeLogs }] });
    expect(await send(body, { type: JSON_TYPE })).toMatchObject({ status: 200 });
    const kept = { laterName: 'x', laterList: [{ a: 1 }] };
    expect(await recorded()).toMatchObject([
      {
        resource: { name: 'shop', data: { ...kept, resource: kept, scope: kept } },
        action: { type: 'login' },
        result: { message: 'known' },
      },
    ]);
  });

  test('are ignored in protobuf beside a list, and stay in the bytes of a log record', async () => {
    const field = Buffer.from(new BinaryWriter().tag(99, WireType.LengthDelimited).string('later').finish());
    const records = new BinaryWriter();
    // A log record with a body, and the field; so has all that it is in.
    records.tag(2, WireType.LengthDelimited).fork().tag(5, WireType.LengthDelimited).fork();
    records.tag(1, WireType.LengthDelimited).string('known').join().raw(field).join().raw(field);
    const scopeLogs = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(records.finish()).raw(field).finish();
    const body = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(scopeLogs).raw(field).finish();
    expect(await send(Buffer.from(body))).toMatchObject({ status: 200 });
    const [event, ...others] = await recorded();
    expect(others).toEqual([]);
    expect(event).toMatchObject({ resource: { type: 'service', name: 'app' }, result: { message: 'known' } });
    expect(Buffer.from(String(event?.resource.data?.rawBase64), 'base64').includes(field)).toBe(true);
  });
});

describe('what cannot be read', () => {
  /** A request with such a log record between two that can be read. */
  function withRecord(broken: Buffer): Buffer<ArrayBuffer> {
    const sound = requestOf([{ body: { stringValue: 'sound' } }]);
    const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).fork();
    writer.tag(2, WireType.LengthDelimited).fork().tag(2, WireType.LengthDelimited).bytes(broken).join().join();
    return Buffer.concat([encodeRequest(sound), writer.finish(), encodeRequest(sound)]);
  }

  test.each([
    ['a text that is no UTF-8', Buffer.from([0x1a, 2, 0xc3, 0x28])],
    ['a field that has no end', Buffer.from([0x1a, 9, 0x41])],
    ['a log record of over 256 KiB', Buffer.concat([Buffer.from([0x1a, 0x80, 0x80, 0x20]), Buffer.alloc(524_288, 65)])],
  ])('is recorded as it came: %s', async (_what, broken) => {
    expect(await send(withRecord(broken))).toMatchObject({ status: 200 });
    const events = await recorded();
    expect(events.filter(({ result }) => result?.message === 'sound')).toHaveLength(2);
    const kept = events.filter(({ resource }) => resource.type === 'unmapped').map(({ resource }) => resource.data);
    const raw = Buffer.concat(
      kept.map((data) => Buffer.from(textOf(data), data?.raw === undefined ? 'base64' : 'utf8')),
    );
    expect(raw.subarray(-broken.length).equals(broken)).toBe(true);
  });

  test('is recorded as it came: items of a list in JSON that are no log records', async () => {
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [5, 'text', null, { body: 7 }] }] }] });
    expect(await send(body, { type: JSON_TYPE })).toMatchObject({ status: 200 });
    const found = (await recorded()).map(({ resource }) => resource.data?.raw ?? resource.data);
    const alone = (item: string) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${item}]}]}]}`;
    expect(found).toEqual([alone('5'), alone('"text"'), alone('null'), { body: 7 }]);
  });

  test.each([
    ['JSON', JSON_TYPE, Buffer.from('{"events":[{"resource":{"name":"r"}}]}'), 'raw'],
    ['protobuf', PROTOBUF, Buffer.from([0x3a, 3, 0x61, 0x62, 0x63]), 'rawBase64'],
  ] as const)(
    'is recorded as it came: a request in %s without anything that is known',
    async (_what, type, body, member) => {
      expect(await send(body, { type })).toMatchObject({ status: 200 });
      const raw = body.toString(member === 'raw' ? 'utf8' : 'base64');
      expect((await recorded()).map(({ resource }) => [resource.type, resource.data])).toEqual([
        ['unmapped', { [member]: raw, reason: expect.stringMatching(/members that are not known/) }],
      ]);
    },
  );

  const textOf = (data: Event['resource']['data']) => String(data?.raw ?? data?.rawBase64);
});

describe('a refusal', () => {
  const BODY = requestOf([SIGNED_IN]);

  function statusOf(bytes: Buffer): { readonly code: number; readonly message: string } {
    const reader = new BinaryReader(bytes);
    expect(reader.tag()).toEqual([1, WireType.Varint]);
    const code = reader.int32();
    expect(reader.tag()).toEqual([2, WireType.LengthDelimited]);
    return { code, message: reader.string() };
  }

  test.each<[string, number, number, Sending, Uint8Array<ArrayBuffer>]>([
    ['no key', 401, 16, { headers: { authorization: '' } }, encodeRequest(BODY)],
    ['a context of the service', 403, 7, { context: 'svc' }, encodeRequest(BODY)],
    ['another organization', 403, 7, { org: 'nobody' }, encodeRequest(BODY)],
    ['a body that is cut off', 400, 3, {}, encodeRequest(BODY).subarray(0, -5)],
    ['a body of another kind', 400, 3, {}, Buffer.from('{"resourceLogs":[]}')],
    ['a damaged gzip', 400, 3, { headers: { 'content-encoding': 'gzip' } }, Buffer.from('no gzip')],
    ['an unknown encoding', 415, 3, { headers: { 'content-encoding': 'br' } }, encodeRequest(BODY)],
  ])('is a google.rpc.Status in protobuf: %s', async (_what, status, code, sending, body) => {
    const answer = await send(body, sending);
    expect([answer.status, answer.type]).toEqual([status, PROTOBUF]);
    const { message, ...told } = statusOf(answer.bytes);
    expect(told).toEqual({ code });
    expect(message).not.toBe('');
    expect(await recorded()).toEqual([]);
  });

  test.each<[string, number, string, string]>([
    ['no JSON', 400, 'text', JSON_TYPE],
    ['a list that is none', 400, '{"resourceLogs":{"scopeLogs":[]}}', JSON_TYPE],
    ['a list that is there twice', 400, '{"resourceLogs":[],"resource_logs":[{}]}', JSON_TYPE],
    ['another type', 415, 'text', 'text/plain'],
  ])('is a google.rpc.Status in JSON: %s', async (_what, status, body, type) => {
    const answer = await send(body, { type });
    expect([answer.status, answer.type]).toEqual([status, JSON_TYPE]);
    expect(JSON.parse(answer.bytes.toString())).toEqual({ code: 3, message: expect.stringMatching(/./) });
  });

  test('tells of too many log records, and of too large resources, before anything is recorded', async () => {
    const many = requestOf(Array.from({ length: 20_001 }, () => ({})));
    expect(await send(encodeRequest(many))).toMatchObject({ status: 413 });
    const large: ExportRequest = requestOf(
      Array.from({ length: 5_000 }, () => ({})),
      { 'service.name': 'x'.repeat(200_000) },
    );
    const answer = await send(encodeRequest(large));
    expect([answer.status, statusOf(answer.bytes).code]).toEqual([413, 8]);
    expect(await recorded()).toEqual([]);
  });

  test('does not come for a request without log records', async () => {
    expect(await send(Buffer.alloc(0))).toMatchObject({ status: 200 });
    expect(await send('{}', { type: JSON_TYPE })).toMatchObject({ status: 200 });
  });
});
