import { auditEntry, auditEventOf, orgOf } from '../../src/event-log/audit-record.js';
import { UnreadableRecord } from '../../src/event-log/event-log.js';
import { type AuditEvent, auditFields } from '../../src/model/audit-event.js';
import fc from '../support/fast-check.js';
import { jsonObject, naming, seeded, spelled } from './arbitraries.js';

const text = fc.option(naming, { nil: undefined });
const data = fc.option(jsonObject, { nil: undefined });
const time = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') })
  .map((at) => at.toISOString());

const event = fc
  .record({
    id: fc.uuid({ version: 7 }),
    eventTime: time,
    postedTime: time,
    requestId: naming,
    resource: fc.record({ id: text, name: text, type: text, data }),
    context: fc.record({
      ...{ org: naming, name: naming, location: text, gvcAlias: text, podId: text, data },
      publisher: fc.option(fc.record({ link: text, keyId: naming, remoteIp: naming }), { nil: undefined }),
    }),
    subject: fc.option(fc.record({ email: text, name: text, claims: data }), { nil: undefined }),
    action: fc.option(fc.record({ type: text, data }), { nil: undefined }),
    result: fc.option(fc.record({ status: text, message: text }), { nil: undefined }),
  })
  .map((one): AuditEvent => JSON.parse(JSON.stringify(one)));

test('an event is found by the same, however its record is spelled', () => {
  fc.assert(
    fc.property(event, fc.infiniteStream(fc.double({ min: 0, max: 0.999 })), (one, stream) => {
      const { searched, ...entry } = auditEntry(one);
      const otherwise = spelled(one, () => stream.next().value ?? 0).trim();
      const stored = { ...entry, partition: 0, offset: 0, time: 0 };
      const records = [
        stored,
        { ...stored, value: Buffer.from(otherwise) },
        { ...stored, ...(searched && { searched }) },
      ];
      for (const record of records) {
        const { event: read } = auditEventOf(record);
        expect(auditFields(read)).toEqual(auditFields(one));
        expect([read.id, read.context.org]).toEqual([one.id, one.context.org]);
        expect(orgOf(record)).toBe(one.context.org);
      }
    }),
    seeded(2_000),
  );
});

test('an organization is found in a record exactly if an event is', () => {
  const members = [
    'id',
    'eventTime',
    'org',
    'name',
    'resource',
    'type',
    'subject',
    'action',
    '{',
    '}',
    '"',
    ',',
    ':',
    'T',
  ];
  const edit = fc.record({
    what: fc.constantFrom(...members),
    by: fc.constantFrom('', 'x', 'null', '{}', '[]', '""', '\\u0061'),
  });
  const outcome = (read: () => string) => {
    try {
      return { org: read() };
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error;
      return { unreadable: error.message };
    }
  };
  const seen = { readable: 0, unreadable: 0 };
  fc.assert(
    fc.property(event, fc.array(edit, { maxLength: 2 }), fc.constantFrom('1', '2'), (one, edits, v) => {
      const { searched: _, ...entry } = auditEntry(one);
      const text = edits.reduce((json, { what, by }) => json.replace(what, by), entry.value.toString());
      const record = { ...entry, headers: { v }, value: Buffer.from(text), partition: 0, offset: 0, time: 0 };
      const found = outcome(() => auditEventOf(record).event.context.org);
      seen['org' in found ? 'readable' : 'unreadable'] += 1;
      expect(outcome(() => orgOf(record))).toEqual(found);
    }),
    seeded(5_000),
  );
  expect(Math.min(seen.readable, seen.unreadable)).toBeGreaterThan(500);
});
