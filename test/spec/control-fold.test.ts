import { emptyFold, foldRecord, readFold, trackedRead, versionOf } from '../../src/model/control-fold.js';
import { keyStream } from '../../src/model/key.js';
import { decideCreateOrg } from '../../src/model/org.js';
import { mayDo, principalOf } from '../../src/model/permission.js';
import { AT, recordOf } from './decider.js';

function createOrg(name: string, keyHash = `hash-of-${name}`) {
  const ids = { org: 'o', serviceAccount: 's', key: 'k', orgAudit: 'oa', serviceAccountAudit: 'sa', keyAudit: 'ka' };
  return decideCreateOrg(() => undefined, { name, description: name, tags: {}, at: AT, keyHash, ids });
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
    expect(fold.commands.get('keyed')?.events).toHaveLength(4);
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

describe('who may do what', () => {
  const fold = emptyFold();
  foldRecord(fold, recordOf('c1', acme, absent), 0);
  foldRecord(fold, recordOf('c2', createOrg('globex'), {}), 1);
  const read = readFold(fold);

  it('knows the principal of a key by its hash, and nobody for another', () => {
    const link = '/org/acme/serviceaccount/admin';
    expect(principalOf(read, 'hash-of-acme')).toEqual({ org: 'acme', link, name: 'admin' });
    expect(principalOf(read, 'unknown')).toBeUndefined();
  });

  it('lets the admin do everything at home', () => {
    const admin = { org: 'acme', link: '/org/acme/serviceaccount/admin', name: 'admin' };
    expect(mayDo(read, admin, 'acme', 'writeAudit')).toBe(true);
  });

  it('lets it do nothing elsewhere, whether that organization exists or not', () => {
    const admin = { org: 'acme', link: '/org/acme/serviceaccount/admin', name: 'admin' };
    expect(mayDo(read, admin, 'globex', 'view')).toBe(false);
    expect(mayDo(read, admin, 'nowhere', 'view')).toBe(false);
  });

  it('lets an account without the right do nothing', () => {
    const other = { org: 'acme', link: '/org/acme/serviceaccount/other', name: 'other' };
    expect(mayDo(read, other, 'acme', 'view')).toBe(false);
  });
});
