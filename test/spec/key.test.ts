import { principalOf } from '../../src/model/access.js';
import type { ControlEvent, Read } from '../../src/model/control-events.js';
import { type AddKey, decideAddKey, decideRemoveKey, type KeyHolder } from '../../src/model/key.js';
import { AT, given } from './decider.js';
import { account, key, ORG, occasion, org, past, stateAfter, user } from './past.js';

const LATER = '2026-02-03T04:05:06.789Z';
const AFTER_90_DAYS = '2026-04-02T03:04:05.678Z';
const ROBOT = '/org/acme/serviceaccount/robot';
const ANN = '/org/acme/user/ann@example.com';
const everybody = past(org, account('robot'), ...user('ann@example.com'));

const HOLDERS: readonly [string, KeyHolder, string][] = [
  ['service account', { org: ORG, kind: 'serviceaccount', ref: 'robot' }, ROBOT],
  ['user', { org: ORG, kind: 'user', ref: 'ann@example.com' }, ANN],
];

const add = { ...occasion('add'), description: 'For the build', keyHash: 'abc' };

/** The end of the key that the command issues; undefined for one without an end. */
function endOf(read: Read, command: AddKey): string | undefined {
  const [issued] = decideAddKey(read, command);
  return issued?.type === 'key-issued' ? issued.data.expires : 'no key';
}

describe.each(HOLDERS)('adding a key of a %s', (_kind, holder, principal) => {
  it('keeps its hash, and until when it is good', () => {
    given(...everybody)
      .when((read) => decideAddKey(read, { ...add, holder, expires: LATER }))
      .then(
        {
          type: 'key-issued',
          stream: 'key/abc',
          auditId: 'add-1',
          data: { id: 'add-0', org: ORG, principal, description: 'For the build', issued: AT, expires: LATER },
        },
        { type: 'authz-changed', stream: 'authz/acme' },
      );
  });

  it('rests on the holder being there, and on its other keys', () => {
    given(...everybody)
      .when((read) => decideAddKey(read, { ...add, holder }))
      .thenRestsOn({ [`${holder.kind}/acme/${holder.ref}`]: 1, 'key/abc': 0, 'authz/acme': 3 });
  });

  it.each([AT, '2026-01-01T00:00:00.000Z'])('is refused if it would have expired at %s', (expires) => {
    given(...everybody)
      .when((read) => decideAddKey(read, { ...add, holder, expires }))
      .thenRefused('validation_failed');
  });

  it('is refused if the holder is not there', () => {
    given(...past(org))
      .when((read) => decideAddKey(read, { ...add, holder }))
      .thenRefused('not_found');
  });

  it('is refused beyond 100 keys, those of others not counted', () => {
    const keyOf = (name: string) => (read: Read) =>
      decideAddKey(read, { ...occasion(name), holder, description: '', keyHash: name });
    const has = stateAfter(everybody).keysOf(principal).length;
    const keys = (count: number) => Array.from({ length: count - has }, (_, index) => keyOf(`key ${index}`));
    const others = Array.from({ length: 10 }, (_, index) => key('admin', `other ${index}`));
    expect(decideAddKey(stateAfter(past(() => everybody, ...others, ...keys(99))), { ...add, holder })).toHaveLength(2);
    given(...past(() => everybody, ...keys(100)))
      .when((read) => decideAddKey(read, { ...add, holder }))
      .thenRefused('conflict');
  });

  it('ends after the longest life of a key unless it is to end earlier', () => {
    const read = stateAfter(everybody);
    expect(endOf(read, { ...add, holder, mostDays: 90 })).toBe(AFTER_90_DAYS);
    expect(endOf(read, { ...add, holder, mostDays: 90, expires: LATER })).toBe(LATER);
    expect(endOf(read, { ...add, holder, mostDays: 90, expires: AFTER_90_DAYS })).toBe(AFTER_90_DAYS);
    expect(endOf(read, { ...add, holder })).toBeUndefined();
  });

  it('is refused if it would live longer than keys may', () => {
    const expires = '2026-04-02T03:04:05.679Z';
    expect(() => decideAddKey(stateAfter(everybody), { ...add, holder, mostDays: 90, expires })).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        faults: [
          {
            pointer: '/expires',
            reason: `must be ${AFTER_90_DAYS} at the latest: keys of this service live at most 90 days`,
          },
        ],
      }),
    );
  });
});

describe('a key that its holder issues', () => {
  const holder = { org: ORG, kind: 'user', ref: 'ann@example.com' } as const;
  const keyed = past(
    () => everybody,
    (read) => decideAddKey(read, { ...occasion('short'), holder, description: '', keyHash: 'short', expires: LATER }),
    key('admin', 'of admin'),
  );
  const asked = (askingKey: string, granter = ANN) => ({ ...add, holder, granter, askingKey });

  it('ends with the key that asks for it', () => {
    const read = stateAfter(keyed);
    expect(endOf(read, asked('short'))).toBe(LATER);
    expect(endOf(read, { ...asked('short'), expires: '2026-01-03T00:00:00.000Z' })).toBe('2026-01-03T00:00:00.000Z');
    expect(endOf(read, { ...asked('short'), mostDays: 1 })).toBe('2026-01-03T03:04:05.678Z');
    expect(endOf(read, { ...asked('short'), mostDays: 90 })).toBe(LATER);
  });

  it('has no end if the key that asks has none', () => {
    expect(endOf(stateAfter(keyed), asked('hash of ann@example.com'))).toBeUndefined();
  });

  it('is refused if it would outlive the key that asks', () => {
    given(...keyed)
      .when((read) => decideAddKey(read, { ...asked('short'), expires: AFTER_90_DAYS }))
      .thenRefused('validation_failed');
  });

  it('rests on the key that asks, and is refused once that is gone', () => {
    given(...keyed)
      .when((read) => decideAddKey(read, asked('short')))
      .thenRestsOn({ 'user/acme/ann@example.com': 1, 'key/short': 1, 'key/abc': 0, 'authz/acme': 5 });
    given(...keyed)
      .when((read) => decideAddKey(read, asked('gone')))
      .thenRefused('conflict');
  });

  it('is not one that somebody else issues', () => {
    expect(endOf(stateAfter(keyed), asked('of admin', '/org/acme/serviceaccount/admin'))).toBeUndefined();
  });
});

describe('a key', () => {
  const now = Date.parse(AT);
  const holder = { org: ORG, kind: 'serviceaccount', ref: 'robot' } as const;
  const withKey = (expires?: string): Read =>
    stateAfter(
      past(
        () => everybody,
        (read) => decideAddKey(read, { ...add, holder, ...(expires !== undefined && { expires }) }),
      ),
    );

  it('speaks for its account', () => {
    expect(principalOf(withKey(), 'abc', now)).toMatchObject({ org: ORG, link: ROBOT, name: 'robot', keyHash: 'abc' });
  });

  it('is worth something until the moment at which it expires', () => {
    const read = withKey(LATER);
    expect(principalOf(read, 'abc', Date.parse(LATER) - 1)).toBeDefined();
    expect(principalOf(read, 'abc', Date.parse(LATER))).toBeUndefined();
  });
});

describe('removing a key', () => {
  const holder = { org: ORG, kind: 'serviceaccount', ref: 'robot' } as const;
  const remove = { ...occasion('remove'), holder, keyId: 'key first-0' };
  const keys = past(() => everybody, key('robot', 'first'), key('robot', 'second'), key('admin', 'other'));

  it('revokes that key, and no other', () => {
    given(...keys)
      .when((read) => decideRemoveKey(read, remove).map(({ type, stream }) => ({ type, stream })) as ControlEvent[])
      .then(
        ...([
          { type: 'key-revoked', stream: 'key/first' },
          { type: 'authz-changed', stream: 'authz/acme' },
        ] as ControlEvent[]),
      );
  });

  it.each<[string, Partial<typeof remove> | { holder: KeyHolder }]>([
    ['a key that is not there', { keyId: 'another' }],
    ['a key of another account', { keyId: 'key other-0' }],
    ['an account that is not there', { holder: { ...holder, ref: 'nobody' as 'robot' } }],
    ['a user in place of the account', { holder: { ...holder, kind: 'user', ref: 'ann@example.com' } }],
  ])('is refused for %s', (_what, more) => {
    given(...keys)
      .when((read) => decideRemoveKey(read, { ...remove, ...more }))
      .thenRefused('not_found');
  });
});
