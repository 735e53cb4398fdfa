import { PublishAuditEvents, PublishAuditEventsHandler } from '../../src/commands/audit-publish.js';
import { AuthorityCheck, type Standing } from '../../src/commands/authority-check.js';
import { ControlState } from '../../src/commands/control-state.js';
import { keyHash } from '../../src/commands/key-secrets.js';
import type { Config } from '../../src/config.js';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import { systemIds } from '../../src/ids.js';
import { Metrics } from '../../src/metrics.js';
import type { Authority } from '../../src/model/authority.js';
import type { Waiters } from '../../src/progress/waiters.js';
import { Seed } from '../support/seed.js';
import { openSeededLog } from '../support/seeded-log.js';

const ADMIN = '/org/acme/serviceaccount/admin';

const clock = { time: Date.now(), now: () => clock.time };
let stop: AbortController;
let seed: Seed;
let key: string;
let log: EventLog;
let removeLog: () => Promise<void>;
let state: ControlState;
let running: Promise<void>;
let authorities: AuthorityCheck;
let appended: LogEntry[];

beforeEach(async () => {
  seed = new Seed();
  key = seed.org('acme');
  ({ log, remove: removeLog } = await openSeededLog(seed));
  stop = new AbortController();
  state = new ControlState(log);
  running = state.run(stop.signal);
  await state.startReached;
  authorities = new AuthorityCheck(state, clock);
  appended = [];
});

afterEach(async () => {
  stop.abort();
  await running;
  await removeLog();
});

function standing(): Standing {
  const authority: Authority = {
    org: 'acme',
    keyHash: keyHash(key),
    needs: [{ kind: 'auditctx', permission: 'writeAudit', on: { ref: 'app' } }],
  };
  const { principal, reach } = authorities.judge(authority);
  if (!principal) throw new Error('the key is not good');
  return authorities.standing(authority, principal, reach);
}

function publish(by: Standing): Promise<unknown> {
  const append: EventLog['append'] = async (entries) => {
    appended.push(...entries);
    return entries.map(() => ({ partition: 0, offset: 0 }));
  };
  const handler = new PublishAuditEventsHandler(
    {} as Waiters,
    new Metrics(),
    authorities,
    { append } as EventLog,
    {} as never,
    clock,
    systemIds(clock),
    {} as Config,
  );
  const { name, link } = by.principal;
  const subject = { name, data: { link } };
  const from = { org: 'acme', contextName: 'app', remoteIp: '192.0.2.1', requestId: 'request', subject };
  return handler.execute(new PublishAuditEvents([{ event: { resource: { name: 'r' } } }], 'async', from as never, by));
}

async function revoke(): Promise<void> {
  seed.revokeKeys(ADMIN);
  await log.append(seed.take());
  await state.confirm();
}

test('a publish is appended in the very turn in which the access was checked', async () => {
  const publishing = publish(standing());
  expect(appended).toHaveLength(1);
  expect(await publishing).toMatchObject([{ state: 'recorded' }]);
});

test('nothing is appended for a publisher that was revoked since the request was checked', async () => {
  const by = standing();
  await revoke();
  await expect(publish(by)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(appended).toEqual([]);
});

test('nothing is appended with a key that has expired since', async () => {
  const expires = clock.time + 1_000;
  key = seed.key(ADMIN, new Date(expires).toISOString());
  await log.append(seed.take());
  await state.confirm();
  const by = standing();
  clock.time = expires;
  await expect(publish(by)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(appended).toEqual([]);
});

test('rights that changed elsewhere do not keep a publisher from going on', async () => {
  const by = standing();
  seed.group('acme', 'unrelated');
  await log.append(seed.take());
  await state.confirm();
  const publishing = publish(by);
  expect(appended).toHaveLength(1);
  await publishing;
});
