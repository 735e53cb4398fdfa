import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandRunner } from '../../src/commands/command-runner.js';
import { ControlError } from '../../src/contract/errors.js';
import { readFold } from '../../src/control/fold.js';
import { ControlState } from '../../src/control/state.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import { decideCreateOrg } from '../../src/model/org.js';
import { AT, BY } from './decider.js';

/** One instance of the service, as far as the control log goes: a fold of its own and a runner of its own. */
function instance(log: EventLog, stop: AbortSignal) {
  const state = new ControlState(log);
  const running = state.run(stop);
  return { state, runner: new CommandRunner(log, state), running };
}

function createOrg(name: string, by: string) {
  const id = (n: number) => `${by} ${n}`;
  return {
    id: `${name} ${by}`,
    org: name,
    at: AT,
    by: BY,
    decide: (read: Parameters<typeof decideCreateOrg>[0]) =>
      decideCreateOrg(read, { name, description: by, tags: {}, at: AT, keyHash: `${name} ${by}`, id, granter: null }),
  };
}

/** The organization, its account, its key, two groups, two policies, and who may do what. */
const STREAMS_OF_AN_ORG = 8;

/** A log whose appends may be recorded without the caller being told. */
function withLostAnswers(log: EventLog, lost: (entries: readonly LogEntry[]) => boolean): EventLog {
  const append = async (entries: readonly LogEntry[]) => {
    const positions = await log.append(entries);
    if (lost(entries)) throw new ControlError('outcome_unknown', 'the answer was lost');
    return positions;
  };
  return new Proxy(log, { get: (target, name) => (name === 'append' ? append : Reflect.get(target, name, target)) });
}

describe('commands of several instances on one log', () => {
  const folder = mkdtempSync(join(tmpdir(), 'control-race-'));
  const stop = new AbortController();
  let log: EmbeddedEventLog;
  let instances: ReturnType<typeof instance>[];

  beforeAll(async () => {
    log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    instances = [1, 2, 3].map(() => instance(log, stop.signal));
  });

  afterAll(async () => {
    stop.abort();
    await Promise.all(instances.map(({ running }) => running));
    await log.close();
    rmSync(folder, { recursive: true });
  });

  it('lets exactly one of 20 creations of a name win, for 50 names raced over three instances', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `org-${index}`);
    const runs = names.flatMap((name) =>
      Array.from({ length: 20 }, (_, contender) => {
        const runner = instances[contender % instances.length]?.runner as CommandRunner;
        return runner.run(createOrg(name, `contender-${contender}`)).then(
          () => ({ name, won: true, code: '' }),
          (error: ControlError) => ({ name, won: false, code: error.code }),
        );
      }),
    );
    const results = await Promise.all(runs);
    for (const name of names) {
      const ofName = results.filter((result) => result.name === name);
      expect(ofName.filter(({ won }) => won)).toHaveLength(1);
      expect(ofName.filter(({ code }) => code === 'already_exists')).toHaveLength(19);
    }
  });

  it('comes to the same state in every instance, and in one that replays from the start', async () => {
    const late = instance(log, stop.signal);
    instances.push(late);
    await Promise.all(instances.map(({ state }) => state.confirm()));
    const states = instances.map(({ state }) => [...state.fold.streams].sort());
    for (const state of states) expect(state).toEqual(states[0]);
    expect(states[0]?.length).toBe(50 * STREAMS_OF_AN_ORG);
  });

  it('returns the outcome in the log if the response to an append was lost', async () => {
    const lossy = instance(
      withLostAnswers(log, () => true),
      stop.signal,
    );
    instances.push(lossy);
    const { position } = await lossy.runner.run(createOrg('survivor', 'x'));
    expect(lossy.state.fold.commands.offsetOf('survivor x')).toBe(position?.offset);
    expect(readFold(lossy.state.fold)('org/survivor')).toMatchObject({ description: 'x' });
  });

  it('gives the first answer to a retry, and refuses another request with the same key', async () => {
    const [first, second] = instances as [ReturnType<typeof instance>, ReturnType<typeof instance>];
    const keyed = (by: string, requestHash: string) => ({ ...createOrg('keyed', by), id: 'command-1', requestHash });
    const original = await first.runner.run(keyed('x', 'hash'));
    await second.state.confirm();
    const retried = await second.runner.run(keyed('y', 'hash'));
    expect(retried.events).toEqual(original.events);
    await expect(second.runner.run(keyed('y', 'other'))).rejects.toMatchObject({ code: 'idempotency_conflict' });
  });

  it('gives the first answer to a retry that races the first', async () => {
    const keyed = (by: string) => ({ ...createOrg('raced', by), id: 'command-2', requestHash: 'hash' });
    const runs = instances.slice(0, 3).map(({ runner }, index) => runner.run(keyed(`by-${index}`)));
    const answers = await Promise.all(runs);
    for (const answer of answers) expect(answer.events).toEqual(answers[0]?.events);
  });
});
