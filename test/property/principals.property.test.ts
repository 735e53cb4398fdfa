import {
  type ControlFold,
  type ControlRecord,
  emptyFold,
  foldRecord,
  readFold,
  trackedRead,
} from '../../src/control/fold.js';
import { KNOWN_MS } from '../../src/control/known-commands.js';
import type { ControlEvent, Read } from '../../src/model/control-events.js';
import { decideAcceptInvitation, decideInviteUsers, decideRevokeInvitation } from '../../src/model/invitation.js';
import { decideAddKey, decideRemoveKey } from '../../src/model/key.js';
import { memberLink, principalLink } from '../../src/model/principals.js';
import { ControlRefusal } from '../../src/model/refusal.js';
import type { Occasion } from '../../src/model/resource.js';
import { at, recordOf } from '../spec/decider.js';
import { ORG, org } from '../spec/past.js';
import {
  decideCreateGroup,
  decideCreatePolicy,
  decideCreateServiceAccount,
  decideDeleteGroup,
  decideDeletePolicy,
  decideDeleteServiceAccount,
  decideDeleteUser,
  decideEditGroup,
  decideEditUser,
} from '../support/decisions.js';
import fc from '../support/fast-check.js';
import { seeded } from './arbitraries.js';

type Decision = (read: Read, occasion: Occasion) => ControlEvent[];

const email = fc.constantFrom('ann@example.com', 'bob@example.com');
const account = fc.constantFrom('admin', 'robot');
const group = fc.constantFrom('superusers', 'friends', 'others');
const policy = fc.constantFrom('one', 'two');
const member = fc.oneof(
  email.map((ref) => `/org/acme/user/${ref}`),
  account.map((ref) => `/org/acme/serviceaccount/${ref}`),
);
const members = fc.uniqueArray(member, { minLength: 1, maxLength: 2 });
const principals = fc.uniqueArray(
  fc.oneof(
    member,
    group.map((ref) => `/org/acme/group/${ref}`),
  ),
  { minLength: 1, maxLength: 2 },
);
const nth = fc.nat(3);

const inOrg = (name: string) => ({ org: ORG, name });
const holder = (ref: string) => ({ org: ORG, kind: 'serviceaccount', ref }) as const;
const described = { description: 'x', tags: {} };

/** Accepts, or revokes, an open invitation. */
function ofOpen(
  index: number,
  decide: (id: string, codeHash: string, read: Read, occasion: Occasion) => ControlEvent[],
): Decision {
  return (read, occasion) => {
    const open = read.all('invitation', ORG);
    const invitation = open[index % Math.max(1, open.length)];
    return invitation ? decide(invitation.id, invitation.codeHash, read, occasion) : [];
  };
}

const decision: fc.Arbitrary<Decision> = fc.oneof(
  fc.record({ emails: fc.uniqueArray(email, { minLength: 1, maxLength: 2 }), group: fc.option(group) }).map(
    ({ emails, group }): Decision =>
      (read, at) => {
        const invited = emails.map((one) => ({ email: one, codeHash: `code ${at.id(9)} ${one}` }));
        return decideInviteUsers(read, { ...at, org: ORG, invited, ...(group !== null && { group }) });
      },
  ),
  nth.map((index) =>
    ofOpen(index, (invitation, codeHash, read, at) =>
      decideAcceptInvitation(read, { ...at, org: ORG, invitation, codeHash, name: 'x', keyHash: at.id(9) }),
    ),
  ),
  nth.map((index) =>
    ofOpen(index, (invitation, _hash, read, at) => decideRevokeInvitation(read, { ...at, org: ORG, invitation })),
  ),
  email.map(
    (ref): Decision =>
      (read, at) =>
        decideDeleteUser(read, { ...at, org: ORG, ref }),
  ),
  email.map(
    (ref): Decision =>
      (read, at) =>
        decideEditUser(read, { ...at, org: ORG, ref, revise: (document) => ({ ...document, description: at.id(9) }) }),
  ),
  account.map(
    (name): Decision =>
      (read, at) =>
        decideCreateServiceAccount(read, { ...at, ...inOrg(name), document: described }),
  ),
  account.map(
    (name): Decision =>
      (read, at) =>
        decideDeleteServiceAccount(read, { ...at, ...inOrg(name) }),
  ),
  account.map(
    (name): Decision =>
      (read, at) =>
        decideAddKey(read, { ...at, holder: holder(name), description: 'x', keyHash: at.id(9) }),
  ),
  fc.tuple(account, nth).map(
    ([name, index]): Decision =>
      (read, at) => {
        const keyId = read.keysOf(`/org/acme/serviceaccount/${name}`)[index]?.state.id ?? 'none';
        return decideRemoveKey(read, { ...at, holder: holder(name), keyId });
      },
  ),
  fc.tuple(group, members).map(
    ([name, memberLinks]): Decision =>
      (read, at) =>
        decideCreateGroup(read, { ...at, ...inOrg(name), document: { ...described, memberLinks } }),
  ),
  fc.tuple(group, members).map(
    ([name, memberLinks]): Decision =>
      (read, at) =>
        decideEditGroup(read, { ...at, ...inOrg(name), revise: (document) => ({ ...document, memberLinks }) }),
  ),
  group.map(
    (name): Decision =>
      (read, at) =>
        decideDeleteGroup(read, { ...at, ...inOrg(name) }),
  ),
  fc.tuple(policy, principals).map(
    ([name, principalLinks]): Decision =>
      (read, at) => {
        const bindings = [{ permissions: ['view'], principalLinks }];
        const document = { ...described, targetKind: 'group', target: 'all', bindings } as const;
        return decideCreatePolicy(read, { ...at, ...inOrg(name), document });
      },
  ),
  policy.map(
    (name): Decision =>
      (read, at) =>
        decideDeletePolicy(read, { ...at, ...inOrg(name) }),
  ),
);

/** Decisions that are made at one moment, by as many processes, and recorded one after the other. */
const rounds = fc.array(fc.array(decision, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 60,
  size: 'max',
});

interface Run {
  readonly fold: ControlFold;
  /** Void ones as well. */
  readonly log: ControlRecord[];
}

function begun(): Run {
  const run: Run = { fold: emptyFold(), log: [] };
  const { read, expected } = trackedRead(run.fold);
  const events = org(read) as ControlEvent[];
  append(run, recordOf('org', events, expected(events)));
  return run;
}

function append({ fold, log }: Run, record: ControlRecord): 'applied' | 'void' {
  log.push(record);
  return foldRecord(fold, record, at(log.length - 1));
}

/** The record of a decision on the present state; undefined where it refuses, or nothing has to change. */
function decided({ fold }: Run, decide: Decision, name: string): ControlRecord | undefined {
  const { read, expected } = trackedRead(fold);
  try {
    const events = decide(read, {
      at: new Date(Date.UTC(2026, 0, 1)).toISOString(),
      id: (n) => `${name}.${n}`,
      granter: null,
    });
    return events.length === 0 ? undefined : recordOf(name, events, expected(events));
  } catch (error) {
    if (error instanceof ControlRefusal) return undefined;
    throw error;
  }
}

function checkInvariants(read: Read): void {
  for (const { memberLinks } of read.all('group', ORG)) {
    for (const link of memberLinks) expect(memberLink(read, ORG, link)).toBe(link);
  }
  for (const { bindings } of read.all('policy', ORG)) {
    for (const link of bindings.flatMap(({ principalLinks }) => principalLinks)) {
      expect(principalLink(read, ORG, link)).toBe(link);
    }
  }
  const superusers = read('group/acme/superusers')?.memberLinks ?? [];
  expect(superusers.flatMap((link) => read.keysOf(link)).length).toBeGreaterThan(0);
  const open = read.all('invitation', ORG).map((invitation) => invitation.email);
  expect(new Set(open).size).toBe(open.length);
  for (const address of open) expect(read(`user/acme/${address}`)).toBeUndefined();
}

/** Every key speaks for somebody who is there. */
function checkKeys({ streams }: ControlFold, read: Read): void {
  for (const [name, { state }] of streams) {
    if (name.startsWith('key/') && state && 'principal' in state) {
      expect(memberLink(read, ORG, state.principal)).toBe(state.principal);
    }
  }
}

/** Decides a round at once, and records it in order: what the first made void is dropped. */
function play(run: Run, round: readonly Decision[], name: string): void {
  const records = round.map((decide, index) => decided(run, decide, `${name}.${index}`));
  for (const record of records) {
    if (!record) continue;
    append(run, record);
    checkInvariants(readFold(run.fold));
    checkKeys(run.fold, readFold(run.fold));
  }
}

test('whatever is commanded, and however it races: no link dangles, no key speaks for nobody, a superuser keeps a key', () => {
  fc.assert(
    fc.property(rounds, (all) => {
      const run = begun();
      for (const [index, round] of all.entries()) play(run, round, String(index));
    }),
    seeded<[Decision[][]]>(150),
  );
});

test('every replay of the log gives the same state, also when each record comes twice', () => {
  fc.assert(
    fc.property(rounds, (all) => {
      const run = begun();
      for (const [index, round] of all.entries()) play(run, round, String(index));
      const replayed = emptyFold();
      for (const [offset, record] of run.log.entries()) {
        const copy = JSON.parse(JSON.stringify(record)) as ControlRecord;
        foldRecord(replayed, copy, at(offset));
        expect(foldRecord(replayed, copy, at(offset))).toBe('void');
      }
      expect([...replayed.streams]).toEqual([...run.fold.streams]);
      expect([...replayed.families]).toEqual([...run.fold.families]);
    }),
    seeded<[Decision[][]]>(100),
  );
});

test('a second copy is void when its command is forgotten, too, wherever it comes', () => {
  fc.assert(
    fc.property(rounds, fc.array(fc.nat(), { maxLength: 30 }), (all, copies) => {
      const run = begun();
      for (const [index, round] of all.entries()) play(run, round, String(index));
      const replayed = emptyFold();
      for (const [index, record] of run.log.entries()) {
        // A day and more between any two records: no command is known when the next one comes.
        const place = at(index * 2, index * 2 * KNOWN_MS);
        foldRecord(replayed, record, place);
        const copy = run.log[(copies[index % Math.max(1, copies.length)] ?? 0) % (index + 1)] ?? record;
        expect(foldRecord(replayed, copy, at(place.offset + 1, place.time + KNOWN_MS))).toBe('void');
      }
      expect([...replayed.streams]).toEqual([...run.fold.streams]);
    }),
    seeded<[Decision[][], number[]]>(100),
  );
});

test('the sequences reach what they are to test', () => {
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  fc.assert(
    fc.property(rounds, (all) => {
      const run = begun();
      for (const [index, round] of all.entries()) {
        const records = round.map((decide, at) => decided(run, decide, `${index}.${at}`));
        for (const record of records) {
          if (!record) continue;
          if (append(run, record) === 'void') count('void');
          else for (const { type } of record.events) count(type);
        }
      }
    }),
    seeded<[Decision[][]]>(100),
  );
  for (const what of [
    'void',
    'user-created',
    'user-deleted',
    'serviceaccount-deleted',
    'policy-edited',
    'key-revoked',
  ]) {
    expect([what, (seen.get(what) ?? 0) > 2]).toEqual([what, true]);
  }
});
