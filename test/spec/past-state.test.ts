import type { ControlRecord } from '../../src/control/fold.js';
import { PastStates } from '../../src/control/past-state.js';
import { controlEntry } from '../../src/control/record.js';
import type { ControlState } from '../../src/control/state.js';
import type { Batch, EventLog, LogRecord, Offsets } from '../../src/event-log/event-log.js';
import { decideCreateOrg } from '../../src/model/org.js';
import { Turns } from '../../src/platform/turns.js';
import { ReportAccess, ReportAccessHandler } from '../../src/queries/access-report.js';
import { decideCreateServiceAccount } from '../support/decisions.js';
import { AT, BY } from './decider.js';
import { account, ORG, occasion, org, past, stateAfter } from './past.js';

const never = new AbortController().signal;

const stateAt = (log: EventLog, org: string, at: number, signal: AbortSignal) =>
  new PastStates(log, new Turns()).at(at, { org, signal });

function logOf(records: readonly (ControlRecord & { readonly time: number })[], batchSize = 2): EventLog {
  const all = records.map(({ time, ...record }, offset): LogRecord => {
    return { ...controlEntry(record), partition: 0, offset, time };
  });
  async function* read(_topic: string, from: Offsets, signal: AbortSignal): AsyncGenerator<Batch> {
    for (let start = from[0] ?? 0; start < all.length; start += batchSize) {
      if (signal.aborted) return;
      const some = all.slice(start, start + batchSize);
      yield { partition: 0, records: some, next: start + some.length };
    }
    // As every log does: it waits for what is appended later.
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
  return { read, head: async () => ({ 0: all.length }), beginning: async () => ({}) } as unknown as EventLog;
}

function record(name: string, time: number, events: ControlRecord['events'], expected = {}) {
  return { commandId: name, at: AT, by: BY, expected, events, time };
}

const made = past(org);
const accountMade = (name: string) => past(org, account(name)).slice(made.length);
const ACCOUNTS = ['a1', 'b2', 'c3', 'd4', 'e5'];
const present = async (log: EventLog, at: number) => {
  const read = await stateAt(log, ORG, at, never);
  return read.all('serviceaccount', ORG).map(({ name }) => name);
};

describe('the state at an instant', () => {
  it('is what the records up to it add up to, the one of that instant included', async () => {
    const log = logOf([
      record('c0', 10, made),
      ...ACCOUNTS.map((name, index) => record(name, 20 + 10 * index, accountMade(name))),
    ]);
    expect(await present(log, 9)).toEqual([]);
    expect(await present(log, 10)).toEqual(['admin']);
    expect(await present(log, 19)).toEqual(['admin']);
    expect(await present(log, 40)).toEqual(['admin', 'a1', 'b2', 'c3']);
    expect(await present(log, 1_000)).toEqual(['admin', ...ACCOUNTS]);
  });

  it('goes by the order of the log where its times go backward', async () => {
    const [a = '', b = '', c = ''] = ACCOUNTS;
    const log = logOf([
      record('c0', 10, made),
      record(a, 30, accountMade(a)),
      record(b, 20, accountMade(b)),
      record(c, 40, accountMade(c)),
    ]);
    expect(await present(log, 19)).toEqual(['admin']);
    expect(await present(log, 20)).toEqual(['admin', a, b]);
    expect(await present(log, 30)).toEqual(['admin', a, b]);
    expect(await present(log, 40)).toEqual(['admin', a, b, c]);
  });

  it('skips void records, also those that another organization made void', async () => {
    const globex = decideCreateOrg(stateAfter([]), {
      ...occasion('globex'),
      name: 'globex',
      description: '',
      tags: {},
      keyHash: 'g',
    });
    const robot = (name: string) => {
      const document = { description: '', tags: {} };
      return decideCreateServiceAccount(stateAfter([]), { ...occasion(name), org: 'globex', name, document });
    };
    const log = logOf([
      record('c0', 1, made),
      record('c1', 2, globex),
      record('c1', 3, accountMade('a1')),
      record('c2', 4, accountMade('b2'), { 'authz/globex': 0 }),
      record('c3', 5, robot('r2')),
      record('c4', 6, accountMade('c3'), { 'serviceaccount/globex/r2': 1, 'authz/globex': 1 }),
      record('c5', 7, accountMade('d4'), { 'serviceaccount/globex/r2': 0 }),
    ]);
    expect(await present(log, 7)).toEqual(['admin', 'c3']);
    const read = await stateAt(log, ORG, 7, never);
    expect([read('org/globex'), read('serviceaccount/globex/r2'), read.all('group', 'globex')]).toEqual([
      undefined,
      undefined,
      [],
    ]);
    expect(read.keysOf('/org/globex/serviceaccount/admin')).toEqual([]);
    expect((await stateAt(log, 'globex', 7, never)).all('serviceaccount', 'globex')).toHaveLength(2);
  });

  it('is the same when it is asked for again, and follows what the log takes later', async () => {
    const records = [record('c0', 10, made), ...ACCOUNTS.map((name, n) => record(name, 20 + n, accountMade(name)))];
    const count = { read: 0 };
    let known = 4;
    const log = {
      head: async () => ({ 0: known }),
      beginning: async () => ({}),
      read(...[topic, from, signal]: Parameters<EventLog['read']>) {
        count.read += 1;
        return logOf(records.slice(0, known)).read(topic, from, signal);
      },
    } as unknown as EventLog;
    const states = new PastStates(log, new Turns());
    const names = async (at: number) =>
      (await states.at(at, { org: ORG, signal: never })).all('serviceaccount', ORG).map(({ name }) => name);
    expect(await names(21)).toEqual(['admin', 'a1', 'b2']);
    const first = count.read;
    expect(await names(21)).toEqual(['admin', 'a1', 'b2']);
    expect(await names(20)).toEqual(['admin', 'a1']);
    // The second looks a block up, the third folds as well: none reads the times again.
    expect(count.read - first).toBe(1 + 2);
    known = records.length;
    expect(await names(100)).toEqual(['admin', ...ACCOUNTS]);
    expect(await names(21)).toEqual(['admin', 'a1', 'b2']);
  });

  it('is refused with too_costly when the log is longer than the budget allows', async () => {
    const records = Array.from({ length: 5_000 }, (_, n) => record(`c${n}`, 2, made));
    const states = new PastStates(logOf(records, 100), new Turns());
    const job = { org: ORG, signal: never, budgetMs: 1, spentMs: 10_000, remedy: 'wait' };
    await expect(states.at(5, job)).rejects.toMatchObject({ code: 'too_costly' });
  });

  it('is nothing in an empty log', async () => {
    expect(await present(logOf([]), 10)).toEqual([]);
  });

  it('lets others have their turns, however long the log is', async () => {
    const first = record('c0', 1, made);
    const padding = { description: 'x'.repeat(2_000) };
    const records = Array.from({ length: 20_000 }, (_, n) => {
      const [event] = accountMade('a1');
      return record(`c${n + 1}`, 2, [{ ...event, data: { ...(event as { data: object }).data, ...padding } } as never]);
    });
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    const log = logOf([first, ...records], 20_001);
    setImmediate(turn);
    const start = performance.now();
    await stateAt(log, ORG, 5, never);
    isDone = true;
    const took = performance.now() - start;
    expect(turns).toBeGreaterThan(took / 100);
    expect(turns).toBeGreaterThan(3);
  });

  it('ends when nobody waits for it any more', async () => {
    const stop = new AbortController();
    const log = logOf([record('c0', 10, made)]);
    const endless = { ...log, head: async () => ({ 0: 99 }) } as unknown as EventLog;
    const state = stateAt(endless, ORG, 20, stop.signal);
    stop.abort(new Error('gone'));
    await expect(state).rejects.toThrow('gone');
  });
});

describe('reports on the past', () => {
  it('are one at a time of an organization; one that nobody waits for any more takes no place', async () => {
    let reading = 0;
    let most = 0;
    const open = Promise.withResolvers<void>();
    const log = logOf([record('c0', 10, made)]);
    const slow = {
      ...log,
      async *read(...given: Parameters<EventLog['read']>) {
        reading += 1;
        most = Math.max(most, reading);
        await open.promise;
        try {
          yield* log.read(...given);
        } finally {
          reading -= 1;
        }
      },
    } as EventLog;
    const handler = new ReportAccessHandler(
      {} as ControlState,
      new Turns(),
      new PastStates(slow, new Turns()),
      { now: () => 100 },
      { requestBudgetMs: 10_000 },
    );
    const gone = new AbortController();
    const report = (signal: AbortSignal) => handler.execute(new ReportAccess('group', ORG, 'viewers', 20, signal));
    const reports = Array.from({ length: 5 }, () => report(never));
    const left = report(gone.signal);
    left.catch(() => undefined);
    gone.abort(new Error('gone'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    open.resolve();
    const targets = (await Promise.all(reports)).map(({ target }) => target);
    expect(new Set(targets)).toEqual(new Set(['/org/acme/group/viewers']));
    await expect(left).rejects.toThrow('gone');
    expect(most).toBe(1);
  });
});
