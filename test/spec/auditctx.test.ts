import { emptyFold, foldRecord, readFold } from '../../src/control/fold.js';
import { type AuditContextSettings, deniedServedFrom, servedFrom } from '../../src/model/auditctx.js';
import type { AuditContextState, ControlEvent } from '../../src/model/control-events.js';
import { decideSetRetention, type SetRetention } from '../support/decisions.js';
import fc from '../support/fast-check.js';
import { AT, at, given, recordOf } from './decider.js';

const DAY = 86_400_000;
const AT_MS = Date.parse(AT);
const later = (days: number) => new Date(AT_MS + days * DAY).toISOString();

const to = (retentionDays: number | null) => ({ revise: () => ({ retentionDays }) });

const command: SetRetention = {
  org: 'acme',
  name: 'shop',
  ...to(30),
  at: AT,
  ids: { context: 'c', audit: 'a' },
};

function set(data: Partial<AuditContextState> = {}): ControlEvent {
  return {
    type: 'auditctx-retention-set',
    stream: 'auditctx/acme/shop',
    auditId: 'a',
    data: {
      id: 'c',
      org: 'acme',
      name: 'shop',
      retentionDays: 30,
      hiddenBefore: 0,
      version: 1,
      created: AT,
      lastModified: AT,
      ...data,
    },
  };
}

describe('setting the retention of an audit context', () => {
  it('makes its settings, and rests on nothing else', () => {
    const decided = given().when((read) => decideSetRetention(read, command));
    decided.then(set());
    decided.thenRestsOn({ 'auditctx/acme/shop': 0 });
  });

  it('keeps hidden what the setting before has hidden by then', () => {
    const longer = { ...command, ...to(365), at: later(40), ids: { context: 'other', audit: 'a' } };
    const hiddenBefore = AT_MS + 10 * DAY;
    given(set())
      .when((read) => decideSetRetention(read, longer))
      .then(set({ retentionDays: 365, hiddenBefore, version: 2, lastModified: later(40) }));
  });

  it('changes nothing when it is so already', () => {
    given(set())
      .when((read) => decideSetRetention(read, { ...command, at: later(1) }))
      .then();
    given()
      .when((read) => decideSetRetention(read, { ...command, ...to(null) }))
      .then();
  });

  it('hides by the time of the log, whatever the clock of the process that set it said', () => {
    const ahead = set({ retentionDays: 365, hiddenBefore: AT_MS + 700 * DAY, version: 2, lastModified: later(730) });
    const fold = emptyFold();
    foldRecord(fold, recordOf('first', [set()], {}), at(0, AT_MS));
    foldRecord(fold, recordOf('second', [ahead], {}), at(1, AT_MS + DAY));
    expect(readFold(fold)('auditctx/acme/shop')).toMatchObject({
      retentionDays: 365,
      hiddenBefore: AT_MS + DAY - 30 * DAY,
    });
  });

  it('hides denied attempts by the time of the log, too', () => {
    const ahead = set({ deniedRetentionDays: 90, deniedHiddenBefore: AT_MS + 700 * DAY });
    const fold = emptyFold();
    foldRecord(fold, recordOf('first', [ahead], {}), at(0, AT_MS));
    expect(readFold(fold)('auditctx/acme/shop')?.deniedHiddenBefore).toBe(deniedServedFrom(undefined, AT_MS));
  });

  it.each([
    ['another version', { expected: 2 }],
    ['a version, though there are no settings', { expected: 1, name: 'other' }],
    ['any settings, though there are none', { expected: '*' as const, name: 'other' }],
  ])('is refused for a caller who expects %s', (_what, other) => {
    given(set())
      .when((read) => decideSetRetention(read, { ...command, ...to(7), ...other }))
      .thenRefused('precondition_failed');
  });

  it.each([{ id: 'another' }, { created: later(1) }])('is refused for a body of another resource: %o', (identity) => {
    given(set())
      .when((read) => decideSetRetention(read, { ...command, ...to(7), identity }))
      .thenRefused('validation_failed');
  });

  it('never shows again what was hidden once, whatever is set later', () => {
    const step = fc.record({
      days: fc.option(fc.integer({ min: 1, max: 400 })),
      after: fc.integer({ min: 0, max: 200 * DAY }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        let state: AuditContextState | undefined;
        let now = AT_MS;
        let hidden = 0;
        for (const { days, after } of steps) {
          now += after;
          if (state) hidden = Math.max(hidden, servedFrom(state, now));
          const at = new Date(now).toISOString();
          const read = Object.assign(() => state as never, { all: () => [], naming: () => [], keysOf: () => [] });
          const [event] = decideSetRetention(read, { ...command, ...to(days), at });
          if (event?.type === 'auditctx-retention-set') state = event.data;
          if (state) expect(servedFrom(state, now)).toBeGreaterThanOrEqual(hidden);
        }
      }),
    );
  });
});

describe('setting the retention of denied attempts', () => {
  const MINUTE = 60_000;
  const minute = (ms: number) => Math.floor(ms / MINUTE) * MINUTE;
  const toDenied = (deniedRetentionDays: number | null) => ({
    name: 'svc',
    revise: (settings: AuditContextSettings) => ({ ...settings, deniedRetentionDays }),
  });
  const decided = (state: AuditContextState | undefined, days: number | null, at: string) => {
    const read = Object.assign(() => state as never, { all: () => [], naming: () => [], keysOf: () => [] });
    const [event] = decideSetRetention(read, { ...command, ...toDenied(days), at });
    return event?.type === 'auditctx-retention-set' ? event.data : state;
  };

  it('is 30 days without a setting, to the minute', () => {
    expect(deniedServedFrom(undefined, AT_MS + 59_999)).toBe(minute(AT_MS + 59_999) - 30 * DAY);
  });

  it('keeps all other events of the context for ever', () => {
    expect(decided(undefined, 60, AT)).toMatchObject({ retentionDays: null, hiddenBefore: 0, deniedRetentionDays: 60 });
  });

  it('changes nothing when it is the default already', () => {
    expect(decided(undefined, 30, AT)).toBeUndefined();
  });

  it('keeps hidden what the default has hidden by then', () => {
    const state = decided(undefined, null, AT);
    expect(deniedServedFrom(state, AT_MS + 100 * DAY)).toBe(minute(AT_MS) - 30 * DAY);
  });

  it('never shows again what was hidden once, whatever is set later', () => {
    const step = fc.record({
      days: fc.option(fc.integer({ min: 7, max: 400 })),
      after: fc.integer({ min: 0, max: 200 * DAY }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        let state: AuditContextState | undefined;
        let now = AT_MS;
        let hidden = 0;
        for (const { days, after } of steps) {
          now += after;
          hidden = Math.max(hidden, deniedServedFrom(state, now));
          state = decided(state, days, new Date(now).toISOString());
          expect(deniedServedFrom(state, now)).toBeGreaterThanOrEqual(hidden);
        }
      }),
    );
  });
});
