import { Acknowledgements, type Published } from '../../src/commands/acknowledgements.js';
import { AppendsUnderWay } from '../../src/commands/appends-under-way.js';
import { PublishAuditEvents, PublishAuditEventsHandler, type PublishItem } from '../../src/commands/audit-publish.js';
import type { CommandRunner } from '../../src/commands/command-runner.js';
import { type Change, ControlChanges } from '../../src/commands/control-changes.js';
import { FormerEvents } from '../../src/commands/event-keys.js';
import { keyHash } from '../../src/commands/key-secrets.js';
import { ControlError } from '../../src/contract/errors.js';
import { AuthorityCheck, type Standing } from '../../src/control/authority-check.js';
import { ControlState } from '../../src/control/state.js';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import type { Authority } from '../../src/model/authority.js';
import { authzChanged } from '../../src/model/authz.js';
import type { Config } from '../../src/platform/config/config.js';
import { systemIds } from '../../src/platform/ids.js';
import { Metrics } from '../../src/platform/metrics.js';
import { Turns } from '../../src/platform/turns.js';
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
let underWay: AppendsUnderWay;
/** Until this resolves, the log takes nothing. */
let standstill: Promise<void>;

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
  underWay = new AppendsUnderWay();
  standstill = Promise.resolve();
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

const takes: EventLog['append'] = async (entries) => {
  appended.push(...entries);
  await standstill;
  return entries.map(() => ({ partition: 0, offset: 0 }));
};

const ONE = [{ event: { resource: { name: 'r' } } }];

function publish(
  by: Standing,
  items: readonly PublishItem[] = ONE,
  append = takes,
  whole = false,
): Promise<Published[]> {
  const handler = new PublishAuditEventsHandler(
    new Acknowledgements({} as Waiters, new Metrics(), {} as never, {} as Config),
    new Metrics(),
    authorities,
    new Turns(),
    underWay,
    new FormerEvents({} as never),
    state,
    { append } as EventLog,
    {} as never,
    clock,
    systemIds(clock),
  );
  const { name, link } = by.principal;
  const subject = { name, data: { link } };
  const from = { org: 'acme', contextName: 'app', remoteIp: '192.0.2.1', requestId: 'request', subject };
  return handler.execute(new PublishAuditEvents(items, 'async', from as never, by, false, whole));
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

describe('a request of several appends', () => {
  /** Two and two are as much as one append has. */
  const fill = 'x'.repeat(400_000);
  const items = Array.from({ length: 6 }, (_, n) => ({ event: { resource: { name: `r${n}`, data: { fill } } } }));
  const outcomes = (published: readonly Published[]) =>
    published.map((one) => ('error' in one ? one.error.code : one.state));

  test.each(['log_unavailable', 'outcome_unknown'] as const)(
    'sends nothing behind one that failed with %s',
    async (code) => {
      let appends = 0;
      const published = await publish(standing(), items, async (entries) => {
        appends += 1;
        if (appends === 2) throw new ControlError(code, 'it failed');
        return takes(entries);
      });
      expect([appends, appended.length]).toEqual([2, 2]);
      expect(outcomes(published)).toEqual(['recorded', 'recorded', code, code, 'log_unavailable', 'log_unavailable']);
    },
  );

  test('is one append if it is recorded as a whole, and none of it is recorded if that fails', async () => {
    const sizes: number[] = [];
    const one = async (entries: readonly LogEntry[]) => {
      sizes.push(entries.length);
      throw new ControlError('log_unavailable', 'it failed');
    };
    const published = await publish(standing(), items, one, true);
    expect(sizes).toEqual([6]);
    expect(outcomes(published)).toEqual(Array(6).fill('log_unavailable'));
  });

  test('stops when the publisher is revoked between two, and tells which events are recorded', async () => {
    const published = await publish(standing(), items, async (entries) => {
      const positions = await takes(entries);
      await revoke();
      return positions;
    });
    expect(appended).toHaveLength(2);
    expect(outcomes(published)).toEqual(['recorded', 'recorded', ...Array(4).fill('unauthenticated')]);
  });
});

describe('a change that takes rights away', () => {
  const events = [authzChanged('acme')];
  const config = { syncTimeoutMs: 50 } as Config;

  function change(): Promise<Change> {
    const runner = { run: async () => ({ events, position: { partition: 0, offset: 0 } }) } as unknown as CommandRunner;
    const waiters = { waitFor: async () => ({ code: 'searchable' }) } as unknown as Waiters;
    const changes = new ControlChanges(runner, state, waiters, underWay, clock, systemIds(clock), config);
    const by = { name: 'root', requestId: 'request', remoteIp: '192.0.2.1' };
    return changes.make({ org: 'acme', by, authority: undefined }, () => []);
  }

  test('is answered after the publishes that were appended before it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    standstill = promise;
    const order: string[] = [];
    const publishing = publish(standing()).then(() => order.push('published'));
    const changing = change().then(({ searchable }) => order.push(`answered ${searchable}`));
    setTimeout(resolve, 10);
    await Promise.all([publishing, changing]);
    expect(order).toEqual(['published', 'answered true']);
  });

  test('says that it is not through while the log still keeps one of them waiting', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    standstill = promise;
    const publishing = publish(standing());
    expect((await change()).searchable).toBe(false);
    resolve();
    await publishing;
    expect((await change()).searchable).toBe(true);
  });

  test('does not wait for the publishes of other organizations', async () => {
    const never = new Promise<void>(() => undefined);
    void underWay.note('other', never);
    expect((await change()).searchable).toBe(true);
  });
});
