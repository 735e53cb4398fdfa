import { CommandRunner, type ControlCommand } from '../../src/commands/command-runner.js';
import { keyHash } from '../../src/commands/key-secrets.js';
import type { ControlRecord } from '../../src/control/fold.js';
import { ControlState } from '../../src/control/state.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { Authority } from '../../src/model/authority.js';
import type { ControlEvent } from '../../src/model/control-events.js';
import type { PermissionName, TargetKind } from '../../src/model/permission.js';
import {
  decideDeletePolicy,
  decideDeleteServiceAccount,
  decideDeleteUser,
  decideEditGroup,
  decideEditPolicy,
} from '../support/decisions.js';
import { Seed } from '../support/seed.js';
import { openSeededLog } from '../support/seeded-log.js';
import { AT, BY } from './decider.js';

const ORG = 'acme';
const ROBOT = '/org/acme/serviceaccount/robot';
const ANN = 'ann@example.com';

/** The robot may create domains through a group; Ann may by a policy that names her. */
class World {
  readonly seed = new Seed();
  readonly clock = { time: Date.now(), now: () => this.clock.time };
  readonly expires = this.clock.time + 60_000;
  readonly robot: string;
  readonly expiring: string;
  readonly ann: string;
  runner!: CommandRunner;
  state!: ControlState;
  private readonly stop = new AbortController();
  private readonly running: Promise<unknown>[] = [];
  private log!: EventLog;
  private removeLog!: () => Promise<void>;
  /** Runs once, before the next append of the runner. */
  private beforeAppend: (() => Promise<void>) | undefined;

  constructor() {
    this.seed.org(ORG);
    this.robot = this.seed.key(this.seed.account(ORG, 'robot'));
    this.expiring = this.seed.key(ROBOT, new Date(this.expires).toISOString());
    const ann = this.seed.user(ORG, ANN);
    this.ann = this.seed.key(ann);
    const group = this.seed.group(ORG, 'makers', { memberLinks: [ROBOT] });
    const grant = (name: string, targetKind: TargetKind, permission: PermissionName, principal: string) =>
      this.seed.policy(ORG, name, {
        targetKind,
        target: 'all',
        bindings: [{ permissions: [permission], principalLinks: [principal] }],
      });
    grant('makers', 'domain', 'create', group);
    grant('ann', 'domain', 'create', ann);
    grant('cleaners', 'serviceaccount', 'delete', ROBOT);
  }

  async start(): Promise<void> {
    const { log, remove } = await openSeededLog(this.seed);
    this.log = log;
    this.removeLog = remove;
    const append: EventLog['append'] = async (entries) => {
      const before = this.beforeAppend;
      this.beforeAppend = undefined;
      await before?.();
      return log.append(entries);
    };
    const face = new Proxy(log, {
      get: (target, name) => (name === 'append' ? append : Reflect.get(target, name, target)),
    });
    this.state = new ControlState(face);
    this.running.push(this.state.run(this.stop.signal));
    this.runner = new CommandRunner(face, this.state, undefined, this.clock);
    await this.state.startReached;
  }

  /** What another process records right before the next record of this one. */
  firstRevoke(revoke: (seed: Seed) => void): void {
    this.beforeAppend = () => this.revoke(revoke);
  }

  async revoke(revoke: (seed: Seed) => void): Promise<void> {
    revoke(this.seed);
    await this.log.append(this.seed.take());
  }

  async records(commandId: string): Promise<ControlRecord[]> {
    const head = (await this.log.head('control'))[0] ?? 0;
    const found: ControlRecord[] = [];
    for await (const { records, next } of this.log.read('control', {}, this.stop.signal)) {
      const parsed = records.map(({ value }) => JSON.parse(Buffer.from(value).toString()) as ControlRecord);
      found.push(...parsed.filter((record) => record.commandId === commandId));
      if (next >= head) break;
    }
    return found;
  }

  async remove(): Promise<void> {
    this.stop.abort();
    await Promise.all(this.running);
    await this.removeLog();
  }
}

let world: World;

beforeEach(async () => {
  world = new World();
  await world.start();
});

afterEach(() => world.remove());

function authority(key: string, ...needs: Authority['needs']): Authority {
  return { org: ORG, keyHash: keyHash(key), needs };
}

const mayCreate = (key: string) => authority(key, { kind: 'domain', permission: 'create', on: 'all' });

function creating(name: string, by: Authority | undefined, more: Partial<ControlCommand> = {}): ControlCommand {
  const data = { org: ORG, name, id: name, description: name, tags: {}, version: 1, created: AT, lastModified: AT };
  const event = { type: 'domain-created', stream: `domain/${name}`, auditId: `audit ${name}`, data };
  return {
    id: `create ${name}`,
    org: ORG,
    at: AT,
    by: BY,
    authority: by,
    decide: () => [event as unknown as ControlEvent],
    ...more,
  };
}

const WAYS: readonly [string, 'robot' | 'ann', 'unauthenticated' | 'forbidden', (seed: Seed) => void][] = [
  ['its key is revoked', 'robot', 'unauthenticated', (seed) => seed.revokeKeys(ROBOT)],
  [
    'the service account is deleted',
    'robot',
    'unauthenticated',
    (seed) =>
      seed.record((read, occasion) => decideDeleteServiceAccount(read, { ...occasion, org: ORG, name: 'robot' })),
  ],
  [
    'the user is deleted',
    'ann',
    'unauthenticated',
    (seed) => seed.record((read, occasion) => decideDeleteUser(read, { ...occasion, org: ORG, ref: ANN })),
  ],
  [
    'the policy is deleted',
    'ann',
    'forbidden',
    (seed) => seed.record((read, occasion) => decideDeletePolicy(read, { ...occasion, org: ORG, name: 'ann' })),
  ],
  [
    'the policy grants less',
    'ann',
    'forbidden',
    (seed) =>
      seed.record((read, occasion) =>
        decideEditPolicy(read, {
          ...occasion,
          org: ORG,
          name: 'ann',
          revise: (before) => ({ ...before, bindings: [{ ...before.bindings[0], permissions: ['view'] } as never] }),
        }),
      ),
  ],
  [
    'it is taken out of the group',
    'robot',
    'forbidden',
    (seed) =>
      seed.record((read, occasion) =>
        decideEditGroup(read, {
          ...occasion,
          org: ORG,
          name: 'makers',
          revise: (before) => ({ ...before, memberLinks: [] }),
        }),
      ),
  ],
];

describe('when a caller loses its access between the decision and the record', () => {
  it.each(WAYS)('because %s, the record of %s is void and the answer is %s', async (_way, who, code, revoke) => {
    world.firstRevoke(revoke);
    await expect(world.runner.run(creating('late.example.com', mayCreate(world[who])))).rejects.toMatchObject({ code });
    expect(await world.records('create late.example.com')).toHaveLength(1);
    expect(world.state.knows('create late.example.com')).toBe(false);
    expect(world.state.read('domain/late.example.com')).toBeUndefined();
  });

  it('a change that takes nothing from the caller only makes it decide again', async () => {
    world.firstRevoke((seed) => seed.group(ORG, 'unrelated'));
    const { events } = await world.runner.run(creating('again.example.com', mayCreate(world.robot)));
    expect(events).toHaveLength(1);
    expect(await world.records('create again.example.com')).toHaveLength(2);
  });
});

it('names the versions of the key and of the rights of the organization in the record, and keeps the rest out', async () => {
  await world.runner.run(creating('named.example.com', mayCreate(world.robot)));
  const [record] = await world.records('create named.example.com');
  const key = `key/${keyHash(world.robot)}` as const;
  const authz = `authz/${ORG}` as const;
  expect(record?.expected).toMatchObject({ [key]: 1, [authz]: world.state.fold.streams.get(authz)?.version });
  expect(Object.keys(record ?? {}).sort()).toEqual(['at', 'by', 'commandId', 'events', 'expected']);
  expect(JSON.stringify({ ...record, expected: {} })).not.toContain(keyHash(world.robot));
});

it('asks nothing of a command without an authority', async () => {
  await world.runner.run(creating('root.example.com', undefined));
  const [record] = await world.records('create root.example.com');
  expect(record?.expected).toEqual({ 'domain/root.example.com': 0 });
});

it('refuses a command of a key that has expired since the request came', async () => {
  await world.runner.run(creating('early.example.com', mayCreate(world.expiring)));
  world.clock.time = world.expires;
  const late = world.runner.run(creating('late.example.com', mayCreate(world.expiring)));
  await expect(late).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(await world.records('create late.example.com')).toEqual([]);
});

it('judges every permission that the command needs', async () => {
  const group = { kind: 'group', permission: 'edit', on: { ref: 'makers' } } as const;
  const both = { ...mayCreate(world.robot), needs: [...mayCreate(world.robot).needs, group] };
  await expect(world.runner.run(creating('two.example.com', both))).rejects.toMatchObject({ code: 'forbidden' });
});

it('says that nothing has to change only to whom the change is allowed', async () => {
  const unchanged = creating('same.example.com', mayCreate(world.robot), { decide: () => [] });
  expect((await world.runner.run(unchanged)).events).toEqual([]);
  await world.revoke((seed) => seed.revokeKeys(ROBOT));
  await expect(world.runner.run(unchanged)).rejects.toMatchObject({ code: 'unauthenticated' });
});

it('returns the outcome to a retry of a caller who still may send the command', async () => {
  const keyed = creating('keyed.example.com', mayCreate(world.robot), { requestHash: 'hash' });
  const first = await world.runner.run(keyed);
  expect((await world.runner.run(keyed)).events).toEqual(first.events);
  await world.revoke((seed) => seed.revokeKeys(ROBOT));
  await expect(world.runner.run(keyed)).rejects.toMatchObject({ code: 'unauthenticated' });
});

it('returns the outcome to a caller that has removed itself', async () => {
  const remove = authority(world.robot, { kind: 'serviceaccount', permission: 'delete', on: { ref: 'robot' } });
  const id = (n: number) => `id ${n}`;
  const { events } = await world.runner.run(
    creating('robot', remove, {
      id: 'remove myself',
      decide: (read) => decideDeleteServiceAccount(read, { org: ORG, name: 'robot', at: AT, id, granter: null }),
    }),
  );
  expect(events.map(({ type }) => type)).toContain('serviceaccount-deleted');
  expect(world.state.read(`key/${keyHash(world.robot)}`)).toBeUndefined();
});
