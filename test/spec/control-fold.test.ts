import { emptyFold, foldRecord, forgetState, readFold, trackedRead, versionOf } from '../../src/control/fold.js';
import { imageOf, restoreFold } from '../../src/control/fold-image.js';
import { KNOWN_MS } from '../../src/control/known-commands.js';
import type { ControlEvent, GroupState, KeyState } from '../../src/model/control-events.js';
import { decideCreateOrg } from '../../src/model/org.js';
import { readAfter } from '../../src/model/state-after.js';
import { keyStream } from '../../src/model/streams.js';
import fc from '../support/fast-check.js';
import { at, recordOf } from './decider.js';
import { account, group, key, ORG, occasion, org, past, stateAfter } from './past.js';

function createOrg(name: string, keyHash = `hash-of-${name}`) {
  return decideCreateOrg(stateAfter([]), { ...occasion(name), name, description: name, tags: {}, keyHash });
}

const acme = createOrg('acme');
const absent = { 'org/acme': 0, 'authz/acme': 0 } as const;

describe('the fold of the control log', () => {
  it('applies a record whose expected versions hold', () => {
    const fold = emptyFold();
    expect(foldRecord(fold, recordOf('c1', acme, absent), at(0))).toBe('applied');
    expect(readFold(fold)('org/acme')).toMatchObject({ name: 'acme' });
    expect(versionOf(fold, 'org/acme')).toBe(1);
  });

  it('voids a record that another one came before', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), at(0));
    expect(foldRecord(fold, recordOf('c2', createOrg('acme', 'other'), absent), at(1))).toBe('void');
    expect(readFold(fold)(keyStream('other'))).toBeUndefined();
    expect(versionOf(fold, 'org/acme')).toBe(1);
  });

  it('voids the second copy of a command, whatever it expects', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), at(0));
    expect(foldRecord(fold, recordOf('c1', createOrg('globex'), {}), at(1))).toBe('void');
    expect(readFold(fold)('org/globex')).toBeUndefined();
  });

  it('voids a record that rests on a stream which it only read and which moved on', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), at(0));
    const globex = createOrg('globex');
    expect(foldRecord(fold, recordOf('c2', globex, { 'org/globex': 0, 'authz/acme': 0 }), at(1))).toBe('void');
    expect(foldRecord(fold, recordOf('c3', globex, { 'org/globex': 0, 'authz/acme': 1 }), at(2))).toBe('applied');
  });

  it('knows where the log has a command, keyed or not, and nothing else of it', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('plain', acme, absent), at(4));
    foldRecord(fold, recordOf('keyed', createOrg('globex'), {}, 'hash'), at(5));
    expect(['plain', 'keyed', 'other'].map((id) => fold.commands.offsetOf(id))).toEqual([4, 5, undefined]);
  });

  it('knows a command for 24 hours, by the latest time that the log has given', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), at(0, 1_000));
    foldRecord(fold, recordOf('c2', createOrg('b'), {}), at(1, 1_000 + KNOWN_MS - 1));
    expect(foldRecord(fold, recordOf('c1', createOrg('c'), {}), at(2, 0))).toBe('void');
    foldRecord(fold, recordOf('c3', createOrg('d'), {}), at(3, 1_000 + KNOWN_MS));
    // The log's clock does not go back.
    expect(foldRecord(fold, recordOf('c1', createOrg('e'), {}), at(4, 0))).toBe('applied');
    expect(fold.commands.offsetOf('c1')).toBe(4);
  });

  it('voids a copy by the versions of its streams when its command is forgotten, also after a deletion', () => {
    const fold = emptyFold();
    const robots = group('robots', []);
    const made = recordOf('made', past(org, robots).slice(-2), { 'group/acme/robots': 0, 'authz/acme': 1 });
    foldRecord(fold, recordOf('org', past(org), {}), at(0));
    expect(foldRecord(fold, made, at(1))).toBe('applied');
    const [{ data }] = made.events as unknown as readonly [{ readonly data: GroupState }];
    const gone = { type: 'group-deleted', stream: 'group/acme/robots', auditId: 'd', data } as const;
    foldRecord(fold, recordOf('deleted', [gone], { 'group/acme/robots': 1 }), at(2));
    expect(foldRecord(fold, made, at(3, 10 * KNOWN_MS))).toBe('void');
    expect([readFold(fold)('group/acme/robots'), versionOf(fold, 'group/acme/robots')]).toEqual([undefined, 2]);
  });

  it('keeps no state, no name and no family of what was deleted', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', past(org, account('robot'), key('robot', 'abc')), {}), at(0));
    const before = { streams: fold.streams.size, families: fold.families.size };
    const data = readFold(fold)('key/abc') as KeyState;
    foldRecord(fold, recordOf('c2', [{ type: 'key-revoked', stream: 'key/abc', auditId: 'r', data }], {}), at(1));
    expect({ streams: fold.streams.size, families: fold.families.size }).toEqual({
      streams: before.streams - 1,
      families: before.families - 1,
    });
    expect(versionOf(fold, 'key/abc')).toBe(2);
  });

  it('comes to the same state at every replay', () => {
    const records = [
      recordOf('c1', acme, absent),
      recordOf('c2', acme, absent),
      recordOf('c3', createOrg('globex'), {}),
    ];
    const replay = () => {
      const fold = emptyFold();
      const outcomes = records.map((record, offset) => foldRecord(fold, record, at(offset)));
      return { outcomes, streams: [...fold.streams] };
    };
    expect(replay()).toEqual(replay());
    expect(replay().outcomes).toEqual(['applied', 'void', 'applied']);
  });

  it('notes what a decision read as well as what it writes', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), at(0));
    const { read, expected } = trackedRead(fold);
    read('org/acme');
    read('key/unknown');
    expect(expected([{ type: 'authz-changed', stream: 'authz/acme' }])).toEqual({
      'org/acme': 1,
      'key/unknown': 0,
      'authz/acme': 1,
    });
  });
});

describe('reads of the fold', () => {
  const events = past(org, account('robot'), key('robot', 'abc'), group('robots', ['/org/acme/serviceaccount/robot']));
  const names = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);

  it('is all of a kind in an organization, and of no other', () => {
    const read = stateAfter([...events, ...createOrg('globex')]);
    expect(names(read.all('group', ORG))).toEqual(['superusers', 'viewers', 'robots']);
    expect(names(read.all('serviceaccount', ORG))).toEqual(['admin', 'robot']);
    expect(names(read.all('serviceaccount', 'globex'))).toEqual(['admin']);
    expect(read.all('user', ORG)).toEqual([]);
  });

  it('is the keys of a principal, until they are revoked', () => {
    const robot = '/org/acme/serviceaccount/robot';
    const keys = stateAfter(events).keysOf(robot);
    expect(keys.map(({ stream }) => stream)).toEqual(['key/abc']);
    const revoked = keys.map(
      ({ stream, state }) => ({ type: 'key-revoked', stream, auditId: 'r', data: state }) as const,
    );
    expect(stateAfter([...events, ...revoked]).keysOf(robot)).toEqual([]);
  });

  it('is the groups and policies that name a link, whatever happened to them', () => {
    const links = ['a', 'b', 'c'].map((ref) => `/org/acme/user/${ref}@example.com`);
    const refs = fc.constantFrom('x', 'y', 'z');
    const named = fc.subarray(links);
    const event = fc.oneof(
      fc.record({ type: fc.constantFrom('group-edited', 'group-deleted'), ref: refs, memberLinks: named }),
      fc.record({
        type: fc.constantFrom('policy-edited', 'policy-deleted'),
        ref: refs,
        bindings: fc.array(fc.record({ permissions: fc.constant(['view']), principalLinks: named }), { maxLength: 3 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (drawn) => {
        const fold = emptyFold();
        const events = drawn.map(({ type, ref, ...more }): ControlEvent => {
          const stream = `${type.split('-')[0]}/${ORG}/${ref}`;
          return { type, stream, auditId: 'a', data: { id: stream, org: ORG, name: ref, ...more } } as never;
        });
        foldRecord(fold, recordOf('c1', events, {}), at(0));
        const restored = emptyFold();
        restoreFold(restored, imageOf(fold));
        for (const read of [readFold(fold), readFold(restored), readAfter(readFold(emptyFold()), events)]) {
          for (const link of links) {
            const groups = read.all('group', ORG).filter(({ memberLinks }) => memberLinks.includes(link));
            const policies = read
              .all('policy', ORG)
              .filter(({ bindings }) => bindings.some(({ principalLinks }) => principalLinks.includes(link)));
            expect(names(read.naming('group', link))).toEqual(names(groups).sort());
            expect(names(read.naming('policy', link))).toEqual(names(policies).sort());
          }
        }
        if (drawn.every(({ type }) => type.endsWith('-deleted'))) expect(fold.naming.size).toBe(0);
      }),
    );
  });

  it('returns nothing for a forgotten stream, whose version stays', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', events, {}), at(0));
    forgetState(fold, 'group/acme/robots');
    forgetState(fold, 'group/acme/none');
    const read = readFold(fold);
    expect(read('group/acme/robots')).toBeUndefined();
    expect(names(read.all('group', ORG))).toEqual(['superusers', 'viewers']);
    expect([versionOf(fold, 'group/acme/robots'), versionOf(fold, 'group/acme/none')]).toEqual([1, 0]);
  });
});
