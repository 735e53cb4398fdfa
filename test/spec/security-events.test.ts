import { pino } from 'pino';
import { beginExport } from '../../src/commands/export-record.js';
import { SecurityEvents } from '../../src/commands/security-events.js';
import { ControlError } from '../../src/contract/errors.js';
import type { ControlState } from '../../src/control/state.js';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import { systemIds } from '../../src/platform/ids.js';
import { Metrics } from '../../src/platform/metrics.js';

const logger = pino({ level: 'silent' });
const root = { name: 'root', keyId: 'root', requestId: 'r', remoteIp: '192.0.2.1' };

function setUp(organizations: number) {
  const appended: { readonly context: { readonly org: string }; readonly action: { readonly data: object } }[] = [];
  const failing = { error: undefined as ControlError | undefined };
  const log = {
    append: async (entries: readonly LogEntry[]) => {
      if (failing.error) throw failing.error;
      appended.push(...entries.map(({ value }) => JSON.parse(Buffer.from(value).toString())));
      return [];
    },
  } as unknown as EventLog;
  const orgs = Array.from({ length: organizations }, (_, n) => ({ name: `org-${n}` }));
  const state = { read: Object.assign(() => undefined, { all: () => orgs }) } as unknown as ControlState;
  const security = new SecurityEvents(log, systemIds({ now: () => 1_000_000 }), state, new Metrics(), logger);
  return { security, appended, failing };
}

test('an export does not begin while the log takes no record of it, and its end never fails', async () => {
  const { security, failing } = setUp(0);
  const request = { org: 'acme', parameters: {}, contexts: undefined };
  const begun = await beginExport(security, root, request, logger);
  failing.error = new ControlError('log_unavailable', 'the queue of the log is full');
  await expect(beginExport(security, root, request, logger)).rejects.toThrow('the queue of the log is full');
  await expect(security.recordRoot(root, { action: 'backup', data: {} })).rejects.toThrow('the queue');
  await begun.end({ whole: true, count: 1 });
});

test.each([
  [1_000, 1_001, true],
  [1_001, 1, false],
])('of %d organizations, %d records are written', async (organizations, records, isToldToEach) => {
  const { security, appended } = setUp(organizations);
  await security.recordRoot(root, { action: 'backup', data: { bytes: 17 } });
  expect(appended).toHaveLength(records);
  expect(appended[0]).toMatchObject({
    context: { org: '-service' },
    action: { data: { bytes: 17, organizations, isToldToEach } },
  });
  expect(appended.slice(1).every(({ action }) => Object.keys(action.data).length === 0)).toBe(true);
});
