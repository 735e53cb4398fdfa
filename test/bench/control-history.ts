import type { ControlRecord } from '../../src/control/fold.js';
import type { LogEntry } from '../../src/event-log/event-log.js';
import type { ShapedKind } from '../../src/kinds/shaped-kind.js';
import type { ControlEvent, Deciding, Read } from '../../src/model/control-events.js';
import type { Occasion } from '../../src/model/resource.js';
import { finished } from '../../src/model/steps.js';
import { built } from './server.ts';

const { controlEntry } = await built<typeof import('../../src/control/record.js')>('control/record.js');
const { systemIds } = await built<typeof import('../../src/platform/ids.js')>('platform/ids.js');
const { emptyFold, foldRecord, trackedRead } =
  await built<typeof import('../../src/control/fold.js')>('control/fold.js');
const { authzChanged } = await built<typeof import('../../src/model/authz.js')>('model/authz.js');
const { decideAddKey } = await built<typeof import('../../src/model/key.js')>('model/key.js');
const { decideCreateOrg } = await built<typeof import('../../src/model/org.js')>('model/org.js');
const { begun } = await built<typeof import('../../src/model/resource.js')>('model/resource.js');
const { decideCreate, decideDelete, decideEdit } =
  await built<typeof import('../../src/model/resource-changes.js')>('model/resource-changes.js');
const { resourceKindOf } = await built<typeof import('../../src/kinds/kinds.js')>('kinds/kinds.js');

const [USER, GROUP, SERVICE_ACCOUNT, POLICY] = ['user', 'group', 'serviceaccount', 'policy'].map(resourceKindOf) as [
  ShapedKind,
  ShapedKind,
  ShapedKind,
  ShapedKind,
];

type Decision = (read: Read, occasion: Occasion) => ControlEvent[] | Deciding;

/** Records of one organization; each of them has room for some 100 resources. */
const RECORDS_OF_AN_ORG = 1_000;
const BY = { name: 'admin', link: '/org/bench/serviceaccount/admin', requestId: 'bench', remoteIp: '192.0.2.1' };
const TAGS = { team: 'platform', stage: 'production' };

/**
 * So many records of `control` as a service has them after a while: organizations with users, groups, service accounts,
 * keys and policies that are made, edited and deleted, a change a second, every second one with an Idempotency-Key. The
 * same at every run but for the identifiers.
 */
export function* controlHistory(count: number): Generator<{ readonly entry: LogEntry; readonly time: number }> {
  const first = Date.parse('2026-01-01T00:00:00Z');
  const clock = { time: first, now: () => clock.time };
  const ids = systemIds(clock);
  const random = randomOf(1);
  const fold = emptyFold();
  for (let offset = 0; offset < count; ) {
    clock.time = first + offset * 1_000;
    const org = `org-${Math.floor(offset / RECORDS_OF_AN_ORG)}`;
    const decide = offset % RECORDS_OF_AN_ORG === 0 ? createOrg(org, ids.secret()) : change(org, random, ids.secret());
    const { read, expected } = trackedRead(fold);
    const events = attempt(decide, read, {
      at: new Date(clock.time).toISOString(),
      granter: null,
      id: () => ids.next(),
    });
    if (events.length === 0) continue;
    const keyed = offset % 2 === 0 && { requestHash: 'f'.repeat(64) };
    const at = new Date(clock.time).toISOString();
    const record: ControlRecord = { commandId: ids.next(), ...keyed, at, by: BY, expected: expected(events), events };
    if (foldRecord(fold, record, { offset, time: clock.time }) === 'void') throw new Error(`record ${offset} is void`);
    offset += 1;
    yield { entry: controlEntry(record), time: clock.time };
  }
}

/** A decision that refuses changes nothing: another is tried. */
function attempt(decide: Decision, read: Read, occasion: Occasion): ControlEvent[] {
  try {
    const decided = decide(read, occasion);
    return Array.isArray(decided) ? decided : finished(decided);
  } catch {
    return [];
  }
}

function createOrg(name: string, keyHash: string): Decision {
  return (read, occasion) => decideCreateOrg(read, { ...occasion, name, description: name, tags: TAGS, keyHash });
}

function change(org: string, random: () => number, secret: string): Decision {
  const n = Math.floor(random() * 30);
  const email = `user-${n}@example.com`;
  const [group, name, policy] = [`group-${n}`, `robot-${n}`, `policy-${n}`];
  const member = `/org/${org}/user/${email}`;
  const document = { description: `made for ${name}`, tags: TAGS };
  const holder = { org, kind: 'serviceaccount', ref: name } as const;
  const edit = (body: Readonly<Record<string, unknown>>) => ({ how: 'merge', body }) as const;
  const edited = edit({ description: secret, tags: TAGS });
  const decisions: readonly Decision[] = [
    (read, at) => createUser(read, at, org, email),
    (read, at) => decideEdit(USER, read, { ...at, org, ref: email, change: edited }),
    (read, at) => decideDelete(USER, read, { ...at, org, ref: email }),
    (read, at) => {
      const made = { ...document, memberLinks: [] };
      return decideCreate(GROUP, read, { ...at, org, name: group, document: made });
    },
    (read, at) => decideEdit(GROUP, read, { ...at, org, ref: group, change: edited }),
    (read, at) => decideEdit(GROUP, read, { ...at, org, ref: group, change: edit({ memberLinks: [member] }) }),
    (read, at) => decideDelete(GROUP, read, { ...at, org, ref: group }),
    (read, at) => decideCreate(SERVICE_ACCOUNT, read, { ...at, org, name, document }),
    (read, at) => decideAddKey(read, { ...at, holder, description: 'ci', keyHash: secret }),
    (read, at) => decideAddKey(read, { ...at, holder, description: 'cd', keyHash: secret }),
    (read, at) => decideDelete(SERVICE_ACCOUNT, read, { ...at, org, ref: name }),
    (read, at) => {
      const bindings = [{ permissions: ['view'], principalLinks: [`/org/${org}/group/superusers`] }];
      const granted = { ...document, targetKind: 'user', target: 'all', bindings } as const;
      return decideCreate(POLICY, read, { ...at, org, name: policy, document: granted });
    },
    (read, at) => decideDelete(POLICY, read, { ...at, org, ref: policy }),
  ];
  return decisions[Math.floor(random() * decisions.length)] as Decision;
}

function createUser(read: Read, { at, id }: Occasion, org: string, email: string): ControlEvent[] {
  const stream = `user/${org}/${email}` as const;
  if (read(stream)) return [];
  const data = { ...begun(id(0), at), org, email, idp: 'invitation', name: email, description: email, tags: TAGS };
  return [{ type: 'user-created', stream, auditId: id(1), data }, authzChanged(org)];
}

/** Mulberry32: chance that repeats. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
