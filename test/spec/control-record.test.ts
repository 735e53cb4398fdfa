import { type ControlRecord, emptyFold, foldRecord, readFold } from '../../src/control/fold.js';
import { controlEntry, controlRecordOf } from '../../src/control/record.js';
import type { LogRecord } from '../../src/event-log/event-log.js';
import { AccessRules, principalOf } from '../../src/model/access.js';
import { TARGET_KINDS } from '../../src/model/permission.js';
import { AT, BY } from './decider.js';
import { org, past } from './past.js';

const ADMIN = '/org/acme/serviceaccount/admin';
const first = { version: 1, created: AT, lastModified: AT };

/** As version 1 wrote it: the superusers stand in the organization. */
const old = {
  commandId: 'c1',
  at: AT,
  by: BY,
  expected: { 'org/acme': 0, 'serviceaccount/acme/admin': 0, 'key/ab12': 0, 'authz/acme': 0 },
  events: [
    {
      type: 'org-created',
      stream: 'org/acme',
      auditId: 'oa',
      data: { id: 'o', name: 'acme', description: 'Acme', tags: {}, ...first, superusers: [ADMIN] },
    },
    {
      type: 'serviceaccount-created',
      stream: 'serviceaccount/acme/admin',
      auditId: 'sa',
      data: { id: 's', org: 'acme', name: 'admin', description: 'admin', tags: {}, ...first, origin: 'builtin' },
    },
    {
      type: 'key-issued',
      stream: 'key/ab12',
      auditId: 'ka',
      data: { id: 'k', org: 'acme', principal: ADMIN, description: 'first key', issued: AT },
    },
    { type: 'authz-changed', stream: 'authz/acme' },
  ],
};

function record(v: string, value: string): LogRecord {
  const place = { topic: 'control', partition: 0, offset: 7, time: Date.parse(AT) } as const;
  return { ...place, key: 'c1', headers: { v }, value: Buffer.from(value) };
}

describe('a control record of version 1', () => {
  const read = () => controlRecordOf(record('1', JSON.stringify(old)));

  it('gets the built-in groups and policies that its superusers are now', () => {
    const { events, ...rest } = read();
    const { events: _events, ...same } = old;
    expect(rest).toEqual(same);
    expect(events.map(({ type, stream }) => `${type} ${stream}`)).toEqual([
      'org-created org/acme',
      'group-created group/acme/superusers',
      'policy-created policy/acme/superusers',
      'group-created group/acme/viewers',
      'policy-created policy/acme/viewers',
      'serviceaccount-created serviceaccount/acme/admin',
      'key-issued key/ab12',
      'authz-changed authz/acme',
    ]);
    expect(events[0]).not.toHaveProperty('data.superusers');
    expect(events[1]).toMatchObject({ data: { memberLinks: [ADMIN], origin: 'builtin', ...first } });
  });

  it('is the same at every reading, with identifiers that are one each', () => {
    expect(read()).toEqual(read());
    const ids = read().events.flatMap((event) => ('auditId' in event ? [event.auditId, event.data.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('lets the superusers of that time do everything still', () => {
    const fold = emptyFold();
    expect(foldRecord(fold, read(), { offset: 7, time: 0 })).toBe('applied');
    const state = readFold(fold);
    const admin = principalOf(state, 'ab12', Date.parse(AT));
    expect(admin).toEqual({ org: 'acme', link: ADMIN, name: 'admin', keyId: 'k', keyHash: 'ab12' });
    const rules = new AccessRules(state, 'acme');
    for (const kind of TARGET_KINDS) expect(rules.reach(ADMIN, kind, 'manage')).toBe('all');
  });

  it('makes what a record of this version makes', () => {
    const names = (events: ControlRecord['events']) => events.map(({ stream }) => stream.replace('ab12', 'key')).sort();
    const now = past(org).map((event) => ({ ...event, stream: event.stream.replace('hash of admin', 'key') }));
    expect(names(read().events)).toEqual(names(now as ControlRecord['events']));
  });

  it('keeps events of other kinds as they are', () => {
    const later = { ...old, events: old.events.slice(1) };
    expect(controlRecordOf(record('1', JSON.stringify(later)))).toEqual(later);
  });
});

describe('a control record of this version', () => {
  it('is read as it was written', () => {
    const events = past(org);
    const written: ControlRecord = { commandId: 'c1', at: AT, by: BY, expected: {}, events };
    const { headers, value, key } = controlEntry(written);
    expect(headers).toEqual({ v: '3' });
    expect(key).toBe('c1');
    expect(controlRecordOf(record('3', Buffer.from(value).toString()))).toEqual(written);
    expect(controlRecordOf(record('2', Buffer.from(value).toString()))).toEqual(written);
  });

  it.each([
    ['a later version', '5', '{}'],
    ['no version', '', '{}'],
    ['what is not whole', '3', '{"commandId":'],
    ['what is not whole, of version 2', '2', '{"commandId":'],
    ['what is not whole, of version 1', '1', '{"commandId":'],
  ])('is not %s: reading stops there', (_what, v, text) => {
    expect(() => controlRecordOf(record(v, text))).toThrow(expect.objectContaining({ name: 'UnreadableRecord' }));
  });
});
