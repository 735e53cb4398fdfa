import type { LogRecord } from '../../src/event-log/event-log.js';
import { type ChainState, type Cut, checkpointEntry, counted } from '../../src/sealing/chain.js';
import { EMPTY_ROOT } from '../../src/tlog/hash.js';
import { vkeyOf } from '../../src/tlog/note.js';
import { SIGNER } from '../support/sealing.js';

const TIME = Date.parse('2026-11-23T00:00:00Z');
const HASH = EMPTY_ROOT.toString('base64');
const ORIGIN = 'test.example.com';
const vkey = vkeyOf(`${ORIGIN}/audit/-tlog`, SIGNER.publicKey);
const genesis = { kind: 'genesis', origin: ORIGIN, epoch: 1, secret: HASH, log: 'log', vkey, at: '' } as const;

const recordOf = (value: unknown): LogRecord => ({
  ...checkpointEntry(genesis),
  ...{ partition: 0, offset: 0, time: TIME, value: Buffer.from(JSON.stringify(value)) },
});

const begun = counted(undefined, recordOf(genesis))?.state as ChainState;
const next = { 'audit/0': 3, 'control/0': 1 };
const roots = { orgs: 1, directory: HASH, digest: HASH, unreadable: 0, size: 1, root: HASH };
const cut: Cut = { kind: 'cut', n: 1, prev: begun.last, at: TIME, complete: TIME - 5, next, ...roots };

it('a cut counts after the record that it names', () => {
  expect(counted(begun, recordOf(cut))?.state).toMatchObject({ n: 1, next, complete: TIME - 5 });
});

const MINUTE = 60_000;

it.each<[string, object]>([
  ['no offsets', { next: null }],
  ['a text for offsets', { next: 'audit/0' }],
  ['a list of offsets', { next: [5] }],
  ['an offset that is no number', { next: { 'audit/0': '5' } }],
  ['an offset that no log has', { next: { 'audit/0': 1e300 } }],
  ['a topic that is not sealed', { next: { 'checkpoints/0': 5 } }],
  ['a partition that is no number', { next: { 'audit/x': 5 } }],
  ['a time in the future of the log', { at: TIME + 11 * MINUTE }],
  ['a complete time in the future', { complete: Number.MAX_SAFE_INTEGER }],
  ['a complete time after its own', { complete: TIME + 1 }],
  ['no time', { at: null }],
  ['no complete time', { complete: null }],
  ['no root', { root: null }],
  ['a digest that is no hash', { digest: 'AAAA' }],
  ['a count that is a text', { orgs: '1' }],
])('a cut with %s is void', (_what, change) => {
  expect(counted(begun, recordOf({ ...cut, ...change }))).toBeUndefined();
});

it('a cut may be as late as the one before, whatever the time of the log', () => {
  const later = counted(begun, recordOf({ ...cut, at: TIME + 9 * MINUTE }))?.state;
  const second = { ...cut, n: 2, size: 2, prev: later?.last, at: TIME + 9 * MINUTE };

  expect(counted(later, { ...recordOf(second), time: TIME - MINUTE })?.state.n).toBe(2);
});

it.each<[string, object]>([
  ['a key of another name', { vkey }],
  ['no key', { vkey: null }],
  ['a key that is none', { vkey: `${ORIGIN}/audit/-tlog/2+00000000+AAAA` }],
  ['no reason', { reason: null }],
  ['no greater number', { epoch: 1 }],
])('an epoch with %s is void', (_what, change) => {
  const named = vkeyOf(`${ORIGIN}/audit/-tlog/2`, SIGNER.publicKey);
  const epoch = { kind: 'epoch', prev: begun.last, epoch: 2, reason: 'r', last: '', vkey: named };
  expect(counted(begun, recordOf(epoch))?.state.epoch).toBe(2);

  expect(counted(begun, recordOf({ ...epoch, ...change }))).toBeUndefined();
});

it.each<[string, object]>([
  ['no secret', { secret: null }],
  ['a short secret', { secret: 'AAAA' }],
  ['no origin', { origin: null }],
  ['no key', { vkey: '' }],
])('a genesis with %s is void', (_what, change) => {
  expect(counted(undefined, recordOf({ ...genesis, ...change }))).toBeUndefined();
});
