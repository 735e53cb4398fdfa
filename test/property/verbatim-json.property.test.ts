import 'reflect-metadata';
import { auditEntry, auditEventOf } from '../../src/event-log/audit-record.js';
import { parseEvent } from '../../src/http/json/event.js';
import { type JsonDocument, parseJson } from '../../src/http/json/parse.js';
import { eventFaults } from '../../src/http/requests/event-check.js';
import { auditFields, recordedEvent, type SentAuditEvent } from '../../src/model/audit-event.js';
import { canonicalJson } from '../../src/model/json.js';
import fc from '../support/fast-check.js';
import { jsonObject, seeded, spelled } from './arbitraries.js';
import { anything, mutated, sound } from './sent-events.js';

const NOW = Date.parse('2026-01-31T12:00:00.000Z');

const PUBLICATION = {
  id: '01900000-0000-7000-8000-000000000000',
  postedTime: '2026-01-31T12:00:00.000Z',
  org: 'acme',
  contextName: 'default',
  remoteIp: '192.0.2.1',
  requestId: 'r"1',
  publisher: { link: '/org/acme/user/ann@example.com', keyId: 'k', remoteIp: '192.0.2.1' },
  subject: { name: 'Änn "A"', email: 'ann@example.com', data: { link: '/org/acme/user/ann@example.com' } },
};

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  '': [
    ...['resource', 'id', 'eventTime', 'eventTimeSent', 'postedTime', 'receivedTime', 'requestId', 'context'],
    ...['subject', 'action', 'result'],
  ],
  resource: ['id', 'name', 'type', 'data'],
  context: ['org', 'name', 'remoteIp', 'eventSource', 'location', 'gvcAlias', 'podId', 'publisher', 'data'],
  'context.publisher': ['link', 'keyId', 'remoteIp'],
  subject: ['email', 'name', 'claims', 'data'],
  action: ['type', 'data'],
  result: ['status', 'message'],
};

/** As `parseJson`, without the members of an event that are null. */
function parseSent(bytes: Buffer): JsonDocument {
  const document = parseJson(bytes);
  for (const [path, names] of Object.entries(KNOWN)) {
    const object = path
      .split('.')
      .reduce<unknown>(
        (at, name) => (name === '' ? at : (at as Record<string, unknown> | null | undefined)?.[name]),
        document.value,
      );
    if (typeof object !== 'object' || object === null || Array.isArray(object)) continue;
    const members = object as Record<string, unknown>;
    for (const name of names) if (members[name] === null) delete members[name];
  }
  return document;
}

/** All that becomes of a body: the refusal, the faults, or the record. */
function outcome(parse: (bytes: Buffer) => JsonDocument, bytes: Buffer) {
  let document: JsonDocument;
  try {
    document = parse(bytes);
  } catch (error) {
    return { refusal: error };
  }
  const { value, exact, depth, verbatim } = document;
  const faults = eventFaults(value, exact, NOW);
  if (faults.length > 0) return { depth, faults };
  const recorded = recordedEvent(value as SentAuditEvent, PUBLICATION);
  const { searched, ...entry } = auditEntry(recorded, { waited: true, verbatim });
  const { event } = auditEventOf({ ...entry, partition: 0, offset: 0, time: 0 });
  expect(searched && auditFields(searched)).toEqual(auditFields(event));
  const json = canonicalJson(parseJson(Buffer.from(entry.value)).value);
  return { depth, json, key: entry.key, fields: auditFields(event) };
}

/** Expects what parsing gives, and that no event is recorded from what was parsed; returns whether one is recorded. */
function expectAsParsed(bytes: Buffer): boolean {
  const parsed = outcome(parseSent, bytes);
  expect(outcome(parseEvent, bytes)).toEqual(parsed);
  if (!('json' in parsed)) return false;
  const { verbatim } = parseEvent(bytes);
  expect(canonicalJson(verbatim?.parse())).toBe(canonicalJson(parseSent(bytes).value));
  return true;
}

/** JSON without white space, by another way: its strings as `JSON.stringify` writes them. */
const compactText = (json: string) =>
  (json.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/g) ?? [])
    .map((token) => (token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token))
    .join('');

/** The JSON of an event's data as it is recorded. */
function recordedData(data: string): string {
  const { value, verbatim } = parseEvent(Buffer.from(`{"resource":{"name":"x","data":${data}}}`));
  const recorded = recordedEvent(value as SentAuditEvent, PUBLICATION);
  const json = auditEntry(recorded, { verbatim }).value.toString();
  const [before, after] = ['"resource":{"name":"x","data":', `},"eventTime"`];
  return json.slice(json.indexOf(before) + before.length, json.lastIndexOf(after));
}

test('an event becomes the same record as when it is parsed', () => {
  let recorded = 0;
  fc.assert(
    fc.property(sound, (event) => {
      if (expectAsParsed(Buffer.from(JSON.stringify(event)))) recorded += 1;
    }),
    seeded(1_000),
  );
  expect(recorded).toBeGreaterThan(400);
});

test('what a client sends is recorded as it was sent, without white space', () => {
  const number = fc.constantFrom('1.10', '-0', '1E5', '1e400', '0.0000001', '100000000000000000000', '-1.50e+07', '0');
  const spelling = fc.infiniteStream(fc.double({ min: 0, max: 0.999 }));
  const object = jsonObject.filter((one) => !Object.hasOwn(one, '__proto__'));
  fc.assert(
    fc.property(object, fc.array(number), spelling, (data, numbers, stream) => {
      const other = spelled({ ...data, numbers: [] }, () => stream.next().value ?? 0);
      const text = other.replace(/\[\s*\]\s*\}\s*$/, `[ ${numbers.join(' ,')}],"10":1,"9":{"2":0,"1":0} }`);
      expect(recordedData(text)).toBe(compactText(text));
    }),
    seeded(1_000),
  );
});

test('events with faults, and events with white space and escapes, are refused or recorded as when they are parsed', () => {
  const event = fc.oneof(mutated, sound, anything);
  fc.assert(
    fc.property(event, fc.infiniteStream(fc.double({ min: 0, max: 0.999 })), (one, stream) => {
      const text = JSON.stringify(one);
      expectAsParsed(Buffer.from(text));
      expectAsParsed(Buffer.from(spelled(one, () => stream.next().value ?? 0)));
    }),
    seeded(1_000),
  );
});

test('a body with some bytes replaced, removed or added is refused or recorded as when it is parsed', () => {
  const bytes = fc.oneof(
    fc.constantFrom(...Array.from('{}[],:"\\0123456789-+.eEnulltrue \n', (char) => char.charCodeAt(0))),
    fc.nat(255),
  );
  const change = fc.record({ at: fc.nat(2_000), remove: fc.nat(2), add: fc.array(bytes, { maxLength: 2 }) });
  fc.assert(
    fc.property(sound, fc.array(change, { minLength: 1, maxLength: 2 }), (event, changes) => {
      const body = [...Buffer.from(JSON.stringify(event))];
      for (const { at, remove, add } of changes) body.splice(at % body.length, remove, ...add);
      expectAsParsed(Buffer.from(body));
    }),
    seeded(4_000),
  );
});

const withData = (data: string) => Buffer.from(`{"resource":{"name":"x","data":${data}}}`);
const nested = (depth: number) => withData(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
const wide = (members: number) => `{${Array.from({ length: members }, (_, at) => `"m${at}":${at}`).join()}}`;

test.each([
  ['{"a":0,"b":-1,"c":123456789012345,"d":0.5,"e":1e+21,"f":1.5e-7,"g":true,"h":false,"i":null}'],
  ['{"a":"\\"\\\\\\b\\f\\n\\r\\t","é":"日😀\u2028\u007f"}'],
  ['{"a":[],"b":[{},{"a":[[1]]}],"c":{"a":{"a":1}},"":0}'],
  ['{"a":1.0}'],
  ['{"a":1e3}'],
  ['{"a":-0}'],
  ['{"a":12345678901234567890}'],
  ['{"a":0.1000000000000000055}'],
  ['{"a":"\\/"}'],
  ['{"a":"\\u0061"}'],
  ['{"a":"\\u001F\\u001f\\u0008"}'],
  ['{"2":1,"1":2}'],
  ['{"a": 1}'],
  [wide(32)],
  [wide(33)],
  [wide(200)],
])('is recorded as it was sent: %s', (data) => {
  expect(expectAsParsed(withData(data))).toBe(true);
  expect(recordedData(data)).toBe(compactText(data));
});

test.each([
  ['1'],
  ['[]'],
  ['{"a":1 2}'],
  ['{"a":t rue}'],
  ['{"a":01}'],
  ['{"a":"\\ud800"}'],
  ['{"a":1,"a":2}'],
  ['{"a":1,"\\u0061":2}'],
  ['{"b":{"a":1},"a":{"c":1,"b":2,"c":3}}'],
  ['{"__proto__":1}'],
  [`${wide(40).slice(0, -1)},"m0":1}`],
  [`${wide(40).slice(0, -1)},"m35":1}`],
  [`${wide(40).slice(0, -1)},"__proto__":1}`],
])('is refused as when it is parsed: %s', (data) => {
  expect(expectAsParsed(withData(data))).toBe(false);
});

test('an event as deep as may be is recorded, and a deeper one is refused', () => {
  expect(expectAsParsed(nested(30))).toBe(true);
  expect(expectAsParsed(nested(31))).toBe(false);
});

test('members that are null are left out wherever they stand', () => {
  const nullable = sound.map((event) => JSON.parse(JSON.stringify(event)) as Record<string, unknown>);
  const picks = fc.infiniteStream(fc.nat(3));
  fc.assert(
    fc.property(nullable, picks, (event, stream) => {
      const nulled = (members: Record<string, unknown>): Record<string, unknown> =>
        Object.fromEntries(
          Object.entries(members).map(([name, value]) => [name, stream.next().value === 0 ? null : value]),
        );
      const sent = nulled(event);
      for (const name of ['resource', 'context', 'subject', 'action', 'result']) {
        const part = sent[name];
        if (typeof part === 'object' && part !== null) sent[name] = nulled(part as Record<string, unknown>);
      }
      expectAsParsed(Buffer.from(JSON.stringify(sent)));
    }),
    seeded(2_000),
  );
});

test.each([
  ['{"resource":{"id":null,"name":"x","type":null},"id":null}', '{"resource":{"name":"x"}}'],
  ['{"id":null,"requestId":null,"resource":{"name":"x"}}', '{"resource":{"name":"x"}}'],
  ['{"resource":{"name":"x","data":null},"subject":null,"action":null}', '{"resource":{"name":"x"}}'],
  ['{"resource":{"name":"x"},"action":{"type":null,"data":null}}', '{"resource":{"name":"x"},"action":{}}'],
  ['{"resource":{"name":"x","data":{"a":null,"b":[null]}}}', '{"resource":{"name":"x","data":{"a":null,"b":[null]}}}'],
  ['{ "resource" : { "name" : "x" , "id" : null } , "result" : null }', '{"resource":{"name":"x"}}'],
])('%s is recorded as %s', (sent, kept) => {
  const { value, verbatim } = parseEvent(Buffer.from(sent));
  expect(verbatim?.with(value as object).toString()).toBe(kept);
});

test.each([
  ['{"resource":{"name":"x"},"subject":null,"subject":{}}'],
  ['{"resource":{"name":"x"},"subject":{},"subject":null}'],
  ['{"resource":{"name":"x"},"subject":null,"subject":null}'],
])('a repeated member is refused though it is null: %s', (sent) => {
  expect(() => parseEvent(Buffer.from(sent))).toThrow('duplicate member /subject');
});

test('what was not read cannot be written', () => {
  const { value } = parseEvent(withData('{"a":1}'));
  expect(() => JSON.stringify(value)).toThrow('a free member is written by copying it');
});
