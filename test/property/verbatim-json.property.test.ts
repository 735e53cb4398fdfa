import 'reflect-metadata';
import { auditEntry, auditEventOf } from '../../src/event-log/audit-record.js';
import { parseEvent } from '../../src/http/json/event.js';
import { type JsonDocument, parseJson } from '../../src/http/json/parse.js';
import { eventFaults } from '../../src/http/requests/event-check.js';
import { auditFields, recordedEvent, type SentAuditEvent } from '../../src/model/audit-event.js';
import { canonicalJson } from '../../src/model/json.js';
import fc from '../support/fast-check.js';
import { seeded, spelled } from './arbitraries.js';
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
  return { depth, json: entry.value.toString(), key: entry.key, fields: auditFields(event) };
}

/** Expects what parsing gives; returns whether the body was read without it. */
function expectAsParsed(bytes: Buffer): boolean {
  const parsed = outcome(parseJson, bytes);
  expect(outcome(parseEvent, bytes)).toEqual(parsed);
  if ('refusal' in parsed) return false;
  const { verbatim } = parseEvent(bytes);
  if (verbatim) expect(canonicalJson(verbatim.parse())).toBe(canonicalJson(parseJson(bytes).value));
  return verbatim !== undefined;
}

test('an event that needs no parsing becomes the same record as when it is parsed, and most need none', () => {
  let verbatim = 0;
  fc.assert(
    fc.property(sound, (event) => {
      // Control characters are rare outside of tests.
      const text = JSON.stringify(event).replaceAll(/\\u00../g, '?');
      if (expectAsParsed(Buffer.from(text))) verbatim += 1;
    }),
    seeded(1_000),
  );
  expect(verbatim).toBeGreaterThan(500);
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
  [wide(32)],
])('is not parsed: %s', (data) => {
  expect(expectAsParsed(withData(data))).toBe(true);
});

test.each([
  ['1'],
  ['[]'],
  ['{"a":1.0}'],
  ['{"a":1e3}'],
  ['{"a":-0}'],
  ['{"a":12345678901234567890}'],
  ['{"a":0.1000000000000000055}'],
  ['{"a":"\\/"}'],
  ['{"a":"\\u0061"}'],
  ['{"a":"\\u001f"}'],
  ['{"a":1,"a":2}'],
  ['{"b":{"a":1},"a":{"c":1,"b":2,"c":3}}'],
  ['{"2":1,"1":2}'],
  ['{"__proto__":1}'],
  ['{"a": 1}'],
  [wide(33)],
])('is parsed: %s', (data) => {
  expect(expectAsParsed(withData(data))).toBe(false);
});

test('an event as deep as may be is not parsed, and a deeper one is refused', () => {
  expect(expectAsParsed(nested(30))).toBe(true);
  expect(expectAsParsed(nested(31))).toBe(false);
});

test('what was not read cannot be written', () => {
  const { value } = parseEvent(withData('{"a":1}'));
  expect(() => JSON.stringify(value)).toThrow('a free member is written by copying it');
});
