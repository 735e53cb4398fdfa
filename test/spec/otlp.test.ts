import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ControlError } from '../../src/contract/errors.js';
import { type Candidate, readEvent, Unmappable } from '../../src/http/ingest/candidate.js';
import { OTLP_JSON } from '../../src/http/ingest/sources/otlp/json.js';
import { PROTOBUF } from '../../src/http/ingest/sources/otlp/protobuf.js';
import { otlpCandidates } from '../../src/http/ingest/sources/otlp.js';
import { scaled } from '../hardening/scale.js';
import fc from '../support/fast-check.js';
import { type AnyValue, attributes, type ExportRequest, FORMATS, type LogRecord, requestOf } from '../support/otlp.js';
import { finish } from '../support/steps.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const MIB = 1024 * 1024;

interface Outcome {
  readonly candidates: readonly Candidate[];
  readonly refused?: string;
  /** How much more the heap had at its largest. */
  readonly heap: number;
}

/** What is made of a body, a step at a time. Throws what is no refusal. */
function read(body: Buffer, type: string): Outcome {
  const format = type === 'application/json' ? OTLP_JSON : PROTOBUF;
  const steps = otlpCandidates(body, format, { contextName: 'app', settings: undefined, now: NOW });
  const before = process.memoryUsage().heapUsed;
  let heap = 0;
  try {
    for (let count = 1; ; count += 1) {
      const { done, value } = steps.next(false);
      if (done) return { candidates: value, heap };
      if (count % 100 === 0) heap = Math.max(heap, process.memoryUsage().heapUsed - before);
    }
  } catch (error) {
    if (error instanceof ControlError) return { candidates: [], refused: error.code, heap };
    throw error;
  }
}

/** The event that is recorded, or why it is recorded as it came. Throws anything else. */
function eventOf(candidate: Candidate): unknown {
  try {
    const { result: made } = finish(candidate.event());
    if (!Buffer.isBuffer(made)) throw new Error('the events of this source are texts');
    readEvent(made, NOW);
    return JSON.parse(made.toString());
  } catch (error) {
    if (!(error instanceof Unmappable)) throw error;
    return { raw: candidate.raw.toString('latin1'), reason: error.message };
  }
}

const { value: anyValue } = fc.letrec<{ value: AnyValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constant({}),
    fc.string({ unit: 'grapheme' }).map((stringValue) => ({ stringValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map((value) => ({ intValue: String(value) })),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => ({ doubleValue: value + 0 })),
    fc.uint8Array().map((bytes) => ({ bytesValue: Buffer.from(bytes).toString('base64') })),
    fc.array(tie('value'), { maxLength: 4 }).map((values) => ({ arrayValue: { values } })),
    fc
      .array(fc.record({ key: fc.string(), value: tie('value') }), { maxLength: 4 })
      .map((values) => ({ kvlistValue: { values } })),
  ),
}));
const keyValues = fc.array(fc.record({ key: fc.string({ unit: 'grapheme' }), value: anyValue }), { maxLength: 5 });
const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((one) => Buffer.from(one).toString('hex'));
const logRecord: fc.Arbitrary<LogRecord> = fc.record(
  {
    timeUnixNano: fc.bigInt(1n, 2n ** 64n - 1n).map(String),
    severityNumber: fc.nat(24),
    body: anyValue,
    attributes: keyValues.filter((pairs) => pairs.length > 0),
    traceId: hex(16),
    eventName: fc.string({ minLength: 1, unit: 'grapheme' }),
  },
  { requiredKeys: [] },
);
const request: fc.Arbitrary<ExportRequest> = fc.record({
  resourceLogs: fc.array(
    fc.record({
      resource: fc.record({ attributes: keyValues.filter((pairs) => pairs.length > 0) }),
      scopeLogs: fc.array(fc.record({ logRecords: fc.array(logRecord, { maxLength: 3 }) }), { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
});

const [JSON_FORMAT, BINARY] = FORMATS;

test('makes the same events of JSON and of protobuf, one for each log record', () => {
  fc.assert(
    fc.property(request, (sent) => {
      const [text, binary] = FORMATS.map(({ type, encode }) => read(encode(sent), type).candidates.map(eventOf));
      expect(text).toEqual(binary);
      const records = sent.resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
      expect(text).toHaveLength(records.length);
    }),
    { numRuns: scaled(200, 2_000) },
  );
});

/** A request with some bytes changed, cut or repeated. */
const damaged = fc
  .tuple(request, fc.constantFrom(...FORMATS), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }), fc.nat())
  .map(([sent, { type, encode }, changes, end]) => {
    const body = encode(sent);
    for (const [at, byte] of changes) if (body.length > 0) body[at % body.length] = byte;
    return { type, body: end % 3 === 0 ? body.subarray(0, end % (body.length + 1)) : body };
  });
const anything = fc.record({ type: fc.constantFrom(BINARY.type, JSON_FORMAT.type), body: fc.uint8Array() });

test('refuses a damaged request as a whole, or keeps each of its log records', () => {
  fc.assert(
    fc.property(fc.oneof(damaged, anything), ({ type, body }) => {
      const { candidates, refused } = read(Buffer.from(body), type);
      for (const candidate of candidates) {
        expect(eventOf(candidate)).toBeDefined();
        expect(candidate.raw.length).toBeGreaterThan(0);
      }
      expect([undefined, 'malformed_protobuf', 'malformed_json']).toContain(refused);
    }),
    { numRuns: scaled(1_000, 20_000) },
  );
});

test('reads values that are nested as deep as those of an event, in both formats', () => {
  let value: AnyValue = { stringValue: 'deep' };
  for (let depth = 0; depth < 20; depth += 1) value = { kvlistValue: { values: [{ key: 'a', value }] } };
  for (const { type, encode } of FORMATS) {
    const [event] = read(encode(requestOf([{ body: value }])), type).candidates.map(eventOf);
    expect(JSON.stringify(event)).toContain(`"body":${'{"a":'.repeat(20)}"deep"`);
  }
});

test('keeps what is nested too deep as it came', () => {
  let value: AnyValue = { stringValue: 'deep' };
  for (let depth = 0; depth < 200; depth += 1) value = { arrayValue: { values: [value] } };
  for (const { type, encode } of FORMATS) {
    const { candidates } = read(encode(requestOf([{ body: value }])), type);
    expect(candidates.map(eventOf)).toEqual([
      { raw: expect.stringContaining('deep'), reason: expect.stringMatching(/nested/) },
    ]);
  }
});

/** Of so many bytes or a little more. */
function repeated(piece: Buffer, bytes: number): Buffer {
  return Buffer.alloc(Math.ceil(bytes / piece.length) * piece.length, piece);
}

/** A field with a length. */
function field(number: number, ...parts: readonly Buffer[]): Buffer {
  return Buffer.from(new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(Buffer.concat(parts)).finish());
}

const BYTES = scaled(10, 19) * MIB;
const EMPTY_ATTRIBUTE = field(6);
const RECORD = (...parts: readonly Buffer[]) => field(1, field(2, field(2, ...parts)));
const NAMED = requestOf([{}], { 'service.name': 'x'.repeat(100_000) });

test.each<[string, string, () => Buffer]>([
  ['resources without anything', BINARY.type, () => repeated(field(1), BYTES)],
  ['scopes without anything', BINARY.type, () => field(1, repeated(field(2), BYTES))],
  ['fields that nobody knows', BINARY.type, () => repeated(Buffer.from([0x78, 1]), BYTES)],
  ['groups in groups', BINARY.type, () => repeated(Buffer.from([0x7b]), BYTES)],
  ['attributes without names', BINARY.type, () => repeated(RECORD(repeated(EMPTY_ATTRIBUTE, 200_000)), BYTES)],
  ['one log record of nothing but attributes', BINARY.type, () => RECORD(repeated(EMPTY_ATTRIBUTE, BYTES))],
  ['resources of 100 KB', BINARY.type, () => repeated(BINARY.encode(NAMED), BYTES)],
  [
    'brackets',
    JSON_FORMAT.type,
    () => Buffer.concat([Buffer.from('{"resourceLogs":'), repeated(Buffer.from('['), BYTES)]),
  ],
  [
    'members',
    JSON_FORMAT.type,
    () => Buffer.concat([Buffer.from('{"resourceLogs":[{'), repeated(Buffer.from('"a":1,'), BYTES)]),
  ],
  [
    'items',
    JSON_FORMAT.type,
    () => Buffer.concat([Buffer.from('{"resourceLogs":['), repeated(Buffer.from('{},'), BYTES), Buffer.from('{}]}')]),
  ],
])('takes a bounded part of the heap for a large request of %s', (_what, type, make) => {
  const { heap } = read(make(), type);
  expect(heap).toBeLessThan(256 * MIB);
});

test('knows an integer in JSON as a number, too, and a double that is no number', () => {
  const body = Buffer.from(
    '{"resource_logs":[{"scope_logs":[{"log_records":[{"time_unix_nano":1760000000123456789,"attributes":[' +
      '{"key":"n","value":{"intValue":9007199254740993}},{"key":"d","value":{"doubleValue":"NaN"}}]}]}]}]}',
  );
  const [candidate] = read(body, JSON_FORMAT.type).candidates;
  expect(String(candidate && finish(candidate.event()).result)).toContain(
    '"data":{"timeUnixNano":1760000000123456789,"attributes":{"n":9007199254740993,"d":"NaN"}}',
  );
  expect(eventOf(candidate as Candidate)).toMatchObject({ eventTime: '2025-10-09T08:53:20.123456789Z' });
});

test('names a log record by its own attributes, not by those of its resource', () => {
  const uid = { 'log.record.uid': '1' };
  const sent = requestOf([{ attributes: attributes(uid) }, {}], uid);
  const { candidates } = read(BINARY.encode(sent), BINARY.type);
  for (const candidate of candidates) finish(candidate.event());
  expect(candidates.map(({ key }) => key)).toEqual(['uid:1', undefined]);
});

describe('what is not known in place of a list, or beside it', () => {
  const RECORDS = '"logRecords":[{}]';
  const SCOPES = `"scopeLogs":[{${RECORDS}}]`;
  const RESOURCE = '"resource":{"attributes":[]}';
  const OLD = '"instrumentationLibraryLogs":[{"logs":[{"body":{"stringValue":"old"}}]}]';

  test.each([
    ['another list of the request', `{"logs":[{${OLD}}]}`],
    ['the old list of a ResourceLogs', `{"resourceLogs":[{${RESOURCE},${OLD}}]}`],
    ['the same in snake_case', '{"resourceLogs":[{"instrumentation_library_logs":[{"logs":[{}]}]}]}'],
    ['a list in small letters', '{"resourceLogs":[{"scopelogs":[{"logRecords":[{}]}]}]}'],
    ['a list in the singular', '{"resourceLogs":[{"scope_log":[{"logRecords":[{}]}]}]}'],
    ['another list of a ScopeLogs', `{"resourceLogs":[{${RESOURCE},"scopeLogs":[{"scope":{},"logs":[{}]}]}]}`],
    ['a list of a ScopeLogs in small letters', '{"resourceLogs":[{"scopeLogs":[{"logrecords":[{}]}]}]}'],
    ['another list beside an empty one', '{"resourceLogs":[{"scopeLogs":[{"logRecords":[],"logs":[{}]}]}]}'],
    ['a list whose name has an escape', '{"resourceLogs":[{"scope\\u004cogs":[{}]}]}'],
  ])('is kept whole in JSON: %s', (_what, body) => {
    expect(read(Buffer.from(body), JSON_FORMAT.type).candidates.map(eventOf)).toEqual([
      { raw: body, reason: expect.stringMatching(/members that are not known in place of its list/) },
    ]);
  });

  // OTLP: receivers must ignore what they do not know.
  test.each([
    ['of the request', `{"resourceLogs":[{${SCOPES}}],"a":1,"b":[2]}`],
    ['of a ResourceLogs', `{"resourceLogs":[{"a":1,${SCOPES},${RESOURCE},"b":2}]}`],
    ['of a ScopeLogs', `{"resourceLogs":[{${RESOURCE},"scopeLogs":[{"a":1,${RECORDS}}]}]}`],
  ])('is ignored in JSON beside log records: a member %s', (_what, body) => {
    const events = read(Buffer.from(body), JSON_FORMAT.type).candidates.map(eventOf);
    expect(events).toEqual([expect.objectContaining({ resource: expect.objectContaining({ type: 'service' }) })]);
  });

  test.each([
    '{}',
    ' { } ',
    '{"resourceLogs":[]}',
    `{"resourceLogs":null${' '.repeat(30)}}`,
    '{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"s"},"logRecords":[]}],"instrumentationLibraryLogs":[ ]}],"a":null}',
  ])('is nothing if it says nothing: %s', (body) => {
    expect(read(Buffer.from(body), JSON_FORMAT.type)).toMatchObject({ candidates: [] });
  });

  test.each([
    ['null', 'null'],
    ['an empty list', '[]'],
    ['an empty object', '{}'],
  ])('is not taken for nothing because it begins as %s', (_what, value) => {
    const blank = ' '.repeat(3_000);
    const known = `{"resourceLogs":[{"scopeLogs":[{"logRecords":${value}${blank}x}]}]}`;
    expect(read(Buffer.from(known), JSON_FORMAT.type).refused).toBe('malformed_json');
    const other = `{"resourceLogs":[{"other":${value}${blank}x}]}`;
    expect(read(Buffer.from(other), JSON_FORMAT.type).candidates.map(eventOf)).toEqual([
      { raw: other, reason: expect.stringMatching(/not known/) },
    ]);
    const none = `{"resourceLogs":[{"scopeLogs":null${blank}}]}`;
    expect(read(Buffer.from(none), JSON_FORMAT.type)).toMatchObject({ candidates: [] });
  });

  const NAME = field(1, field(1, field(1, Buffer.from('name'))));
  const LOGS = field(2, field(2, field(5, field(1, Buffer.from('old')))));

  test.each([
    ['an unknown field of the request', field(7, LOGS)],
    ['the old field 1000 of a ResourceLogs', field(1, NAME, field(1000, LOGS))],
    ['an unknown field of a ScopeLogs', field(1, NAME, field(2, field(9, LOGS)))],
    ['a list that is a number', Buffer.from([0x08, 1])],
  ])('is kept whole in protobuf: %s', (_what, body) => {
    const [kept, ...others] = read(body, BINARY.type).candidates;
    expect([kept?.raw, kept?.isBinary, others]).toEqual([body, true, []]);
    expect(eventOf(kept as Candidate)).toMatchObject({ reason: expect.stringMatching(/in place of its list/) });
  });

  test('is ignored in protobuf beside log records', () => {
    const [number, old] = [Buffer.from([0x20, 5]), field(1000, LOGS)];
    const body = Buffer.concat([field(1, number, field(2, field(2)), NAME, old), field(7, LOGS)]);
    const events = read(body, BINARY.type).candidates.map(eventOf);
    expect(events).toEqual([expect.objectContaining({ resource: expect.anything() })]);
  });

  const text = (value: string) => field(1, Buffer.from(value));

  test.each([
    ['an unknown field of a log record', Buffer.concat([field(5, text('a')), field(77, text('new'))])],
    ['a known field with another type', Buffer.from([0x28, 1])],
    ['an unknown field of an attribute', field(6, text('name'), field(9, text('new')))],
    ['an unknown field of a value', field(5, field(5, field(1, field(8, text('new')))))],
    ['two bodies, of which the last counts', Buffer.concat([field(5, text('a')), field(5, text('b'))])],
    ['two values in one, of which the last counts', field(5, text('a'), field(5))],
  ])('is kept in protobuf beside what is known: %s', (_what, record) => {
    const [event] = read(field(1, field(2, field(2, record))), BINARY.type).candidates.map(eventOf);
    expect(event).toMatchObject({ resource: { type: 'service', data: { rawBase64: record.toString('base64') } } });
  });

  test('is kept in protobuf beside what is known of a resource and a scope', () => {
    const owner = Buffer.concat([field(1, text('name')), field(3, text('entity'))]);
    const scope = Buffer.concat([text('orders'), field(9, text('new'))]);
    const [event] = read(field(1, field(1, owner), field(2, field(1, scope), field(2))), BINARY.type).candidates;
    expect(eventOf(event as Candidate)).toMatchObject({
      resource: {
        data: {
          resource: { attributes: { name: null }, rawBase64: owner.toString('base64') },
          scope: { name: 'orders', rawBase64: scope.toString('base64') },
        },
      },
    });
  });

  test('counts with its resource toward what a request may take', () => {
    const resource = field(1, field(1, Buffer.alloc(200_000, 65)));
    const body = field(1, resource, repeated(field(2, field(9)), 5_000 * field(2, field(9)).length));
    expect(read(body, BINARY.type).refused).toBe('payload_too_large');
  });
});
