import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandRunner, type ControlCommand } from '../../src/commands/command-runner.js';
import { ControlError } from '../../src/contract/errors.js';
import { ControlState } from '../../src/control/state.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog, LogEntry, Position } from '../../src/event-log/event-log.js';
import type { ControlEvent, Deciding } from '../../src/model/control-events.js';
import { decideCreateGroup, decideEditGroup } from '../support/decisions.js';
import { AT, BY } from './decider.js';

const ORG = 'acme';
let made = 0;

function command(id: string, decide: ControlCommand['decide']): ControlCommand {
  return { id, org: ORG, at: AT, by: BY, decide };
}

const ids = () => {
  made += 1;
  return (n: number) => `id ${made} ${n}`;
};

function creating(name: string, org = ORG): ControlCommand {
  const document = { description: name, tags: {}, memberLinks: [] };
  return command(`create ${name}`, (read) =>
    decideCreateGroup(read, { org, name, document, at: AT, id: ids(), granter: null }),
  );
}

/** Adds a tag to what there is. */
function tagging(name: string, tag: string): ControlCommand {
  return command(`tag ${name} ${tag}`, (read) =>
    decideEditGroup(read, {
      org: ORG,
      name,
      at: AT,
      id: ids(),
      granter: null,
      revise: (document) => ({ ...document, tags: { ...document.tags, [tag]: 'x' } }),
    }),
  );
}

describe('a command whose append is not answered as it should be', () => {
  const folder = mkdtempSync(join(tmpdir(), 'command-outcome-'));
  const stop = new AbortController();
  const running: Promise<unknown>[] = [];
  const { now } = Date;
  let log: EmbeddedEventLog;
  let other: CommandRunner;

  function runnerOn(append: EventLog['append']): CommandRunner {
    const face = new Proxy<EventLog>(log, {
      get: (target, name) => (name === 'append' ? append : Reflect.get(target, name, target)),
    });
    const state = new ControlState(face);
    running.push(state.run(stop.signal));
    return new CommandRunner(face, state);
  }

  beforeAll(async () => {
    log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    other = runnerOn((entries) => log.append(entries));
  });
  afterEach(() => {
    Date.now = now;
  });
  afterAll(async () => {
    stop.abort();
    await Promise.all(running);
    await log.close();
    rmSync(folder, { recursive: true });
  });

  const comesLate = (entries: readonly LogEntry[]) => {
    running.push(delay(100).then(() => log.append(entries)));
  };
  const unknown = () => new ControlError('outcome_unknown', 'the answer was lost');

  it('is answered as soon as the log shows what became of it', async () => {
    const runner = runnerOn(async (entries) => {
      await log.append(entries);
      return new Promise<Position[]>(() => undefined);
    });
    const { events, position } = await runner.run(creating('silent'));
    expect(events[0]).toMatchObject({ type: 'group-created', data: { name: 'silent' } });
    expect(position).toBeDefined();
  });

  it('decides again as soon as the log shows that another came first', async () => {
    await other.run(creating('raced'));
    let appends = 0;
    const runner = runnerOn(async (entries) => {
      appends += 1;
      if (appends > 1) return log.append(entries);
      await other.run(tagging('raced', 'first'));
      await log.append(entries);
      return new Promise<Position[]>(() => undefined);
    });
    const { events } = await runner.run(tagging('raced', 'second'));
    expect(events[0]).toMatchObject({ data: { tags: { first: 'x', second: 'x' }, version: 3 } });
    expect(appends).toBe(2);
  });

  it('decides again, and appends nothing, when what it has read changes between its steps', async () => {
    await other.run(creating('sliced'));
    let appends = 0;
    const runner = runnerOn((entries) => {
      appends += 1;
      return log.append(entries);
    });
    const second = tagging('sliced', 'second');
    let decisions = 0;
    const { events } = await runner.run({
      ...second,
      *decide(read): Deciding {
        const decided = second.decide(read) as ControlEvent[];
        decisions += 1;
        if (decisions > 1) return decided;
        running.push(other.run(tagging('sliced', 'first')));
        for (;;) yield;
      },
    });
    expect(events[0]).toMatchObject({ data: { tags: { first: 'x', second: 'x' }, version: 3 } });
    expect([decisions, appends]).toEqual([2, 1]);
  });

  it('does not decide again when another organization changes between its steps', async () => {
    const runner = runnerOn((entries) => log.append(entries));
    await runner.run(creating('steady'));
    const edit = tagging('steady', 'tag');
    let decisions = 0;
    const { events } = await runner.run({
      ...edit,
      *decide(read): Deciding {
        const decided = edit.decide(read) as ControlEvent[];
        decisions += 1;
        running.push(other.run(creating(`beside-${decisions}`, 'other')));
        while (read.all('group', 'other').length < decisions) yield;
        return decided;
      },
    });
    expect(events[0]).toMatchObject({ data: { tags: { tag: 'x' }, version: 2 } });
    expect(decisions).toBe(1);
  });

  it('is not refused when it was void before, its time is up, and its record comes late', async () => {
    await other.run(creating('late'));
    const appended: (readonly LogEntry[])[] = [];
    const runner = runnerOn(async (entries) => {
      appended.push(entries);
      if (appended.length === 1) {
        await other.run(tagging('late', 'first'));
        return log.append(entries);
      }
      Date.now = () => now() + 60_000;
      comesLate(entries);
      throw unknown();
    });
    const { events } = await runner.run(tagging('late', 'second'));
    expect(events[0]).toMatchObject({ data: { tags: { first: 'x', second: 'x' }, version: 3 } });
    expect(appended).toHaveLength(2);
  });

  it('is not misled by a second copy of a record that was void', async () => {
    await other.run(creating('copied'));
    const appended: (readonly LogEntry[])[] = [];
    const runner = runnerOn(async (entries) => {
      appended.push(entries);
      const [first = entries] = appended;
      if (first === entries) await other.run(tagging('copied', 'first'));
      await log.append(first);
      if (first !== entries) comesLate(entries);
      throw unknown();
    });
    const { events } = await runner.run(tagging('copied', 'second'));
    expect(events[0]).toMatchObject({ data: { tags: { first: 'x', second: 'x' }, version: 3 } });
    expect(appended).toHaveLength(2);
  });

  it('is refused at once when the log surely has not taken it', async () => {
    const runner = runnerOn(async () => {
      throw new ControlError('log_unavailable', 'the log is down');
    });
    await expect(runner.run(creating('nowhere'))).rejects.toMatchObject({ code: 'log_unavailable' });
  });
});
