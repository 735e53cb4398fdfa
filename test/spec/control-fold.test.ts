import { emptyFold, foldRecord, forgetState, readFold, trackedRead, versionOf } from '../../src/model/control-fold.js';
import { decideCreateOrg } from '../../src/model/org.js';
import { keyStream } from '../../src/model/streams.js';
import { recordOf } from './decider.js';
import { account, group, key, ORG, occasion, org, past, stateAfter } from './past.js';

function createOrg(name: string, keyHash = `hash-of-${name}`) {
  return decideCreateOrg(stateAfter([]), { ...occasion(name), name, description: name, tags: {}, keyHash });
}

const acme = createOrg('acme');
const absent = { 'org/acme': 0, 'authz/acme': 0 } as const;

describe('the fold of the control log', () => {
  it('applies a record whose expected versions hold', () => {
    const fold = emptyFold();
    expect(foldRecord(fold, recordOf('c1', acme, absent), 0)).toBe('applied');
    expect(readFold(fold)('org/acme')).toMatchObject({ name: 'acme' });
    expect(versionOf(fold, 'org/acme')).toBe(1);
  });

  it('voids a record that another one came before', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), 0);
    expect(foldRecord(fold, recordOf('c2', createOrg('acme', 'other'), absent), 1)).toBe('void');
    expect(readFold(fold)(keyStream('other'))).toBeUndefined();
    expect(versionOf(fold, 'org/acme')).toBe(1);
  });

  it('voids the second copy of a command, whatever it expects', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), 0);
    expect(foldRecord(fold, recordOf('c1', createOrg('globex'), {}), 1)).toBe('void');
    expect(readFold(fold)('org/globex')).toBeUndefined();
  });

  it('voids a record that rests on a stream which it only read and which moved on', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), 0);
    const globex = createOrg('globex');
    expect(foldRecord(fold, recordOf('c2', globex, { 'org/globex': 0, 'authz/acme': 0 }), 1)).toBe('void');
    expect(foldRecord(fold, recordOf('c3', globex, { 'org/globex': 0, 'authz/acme': 1 }), 2)).toBe('applied');
  });

  it('remembers the outcome of a command, with its events only where a retry may ask for them', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('plain', acme, absent), 4);
    foldRecord(fold, recordOf('keyed', createOrg('globex'), {}, 'hash'), 5);
    expect(fold.commands.get('plain')).toEqual({ offset: 4, events: [] });
    expect(fold.commands.get('keyed')).toMatchObject({ offset: 5, requestHash: 'hash' });
    expect(fold.commands.get('keyed')?.events).toEqual(createOrg('globex'));
  });

  it('comes to the same state at every replay', () => {
    const records = [
      recordOf('c1', acme, absent),
      recordOf('c2', acme, absent),
      recordOf('c3', createOrg('globex'), {}),
    ];
    const replay = () => {
      const fold = emptyFold();
      const outcomes = records.map((record, offset) => foldRecord(fold, record, offset));
      return { outcomes, streams: [...fold.streams] };
    };
    expect(replay()).toEqual(replay());
    expect(replay().outcomes).toEqual(['applied', 'void', 'applied']);
  });

  it('notes what a decision read as well as what it writes', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', acme, absent), 0);
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

describe('what is read off the fold', () => {
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

  it('is nothing of what was forgotten, whose version still stands', () => {
    const fold = emptyFold();
    foldRecord(fold, recordOf('c1', events, {}), 0);
    forgetState(fold, 'group/acme/robots');
    forgetState(fold, 'group/acme/none');
    const read = readFold(fold);
    expect(read('group/acme/robots')).toBeUndefined();
    expect(names(read.all('group', ORG))).toEqual(['superusers', 'viewers']);
    expect([versionOf(fold, 'group/acme/robots'), versionOf(fold, 'group/acme/none')]).toEqual([1, 0]);
  });
});
