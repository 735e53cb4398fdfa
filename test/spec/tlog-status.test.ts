import { tlogStatusOf } from '../../src/composition/tlog-status.js';
import { ControlError } from '../../src/contract/errors.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { NoteSigner } from '../../src/tlog/note.js';
import { parsePolicy } from '../../src/tlog/policy.js';
import { TreesLost } from '../../src/tree-store/tree-store.js';
import { SampleWitness } from '../support/tlog-export.js';

type Parts = Parameters<typeof tlogStatusOf>[0];

const ORIGIN = 'audit.example.com/audit/-tlog';
const COSIGNED = Date.UTC(2026, 2, 1, 12);
const signer = NoteSigner.generate(ORIGIN);
const [one, two] = [new SampleWitness('one.example'), new SampleWitness('two.example')];
const policy = parsePolicy(
  `witness one ${one.vkey} https://one\nwitness two ${two.vkey} https://two\ngroup some any one two\nquorum some\n`,
);
const note = one.cosign(signer.signNote(ORIGIN, `${ORIGIN}\n7\n${Buffer.alloc(32).toString('base64')}\n`), COSIGNED);
const checkpoint = { size: 7, at: '2026-03-01T12:00:01.000Z', complete: '2026-03-01T12:00:00.000Z' };

const history = {
  ...{ origins: { service: ORIGIN }, epoch: 2, published: checkpoint, refusal: 'a check found a divergence' },
  ...{ store: { published: async () => ({ note, cut: 7 }) }, vkeys: async () => [{ vkey: signer.vkey, fromCut: 1 }] },
  lagMs: () => 2_500,
} as unknown as Parts['history'];
const log = { head: async () => ({}) } as unknown as EventLog;
const sealing = {
  sealer: { status: { leads: true, stalled: 'control/0/7 is of another version' } } as Parts['sealer'],
  witnesses: {
    states: [{ name: 'two', fault: 'witness two: is away' }],
    missingMs: 61_000,
  } as unknown as Parts['witnesses'],
  anchoring: { states: [{ name: 'file:a', keptAt: COSIGNED }, { name: 'file:b' }] } as unknown as Parts['anchoring'],
};
const known = { origin: ORIGIN, epoch: 2, vkey: signer.vkey, checkpoint, lagSeconds: 2.5 };

test('the process that seals tells which witnesses and anchors have the checkpoint, and which fail', async () => {
  expect(await tlogStatusOf({ log, history, policy, ...sealing })).toEqual({
    ...{ seals: true, ...known, divergence: history.refusal, stalled: 'control/0/7 is of another version' },
    quorum: { name: 'some', missingSeconds: 61 },
    witnesses: [
      { name: 'one', cosigned: '2026-03-01T12:00:00.000Z' },
      { name: 'two', fault: 'witness two: is away' },
    ],
    anchors: [{ name: 'file:a', kept: '2026-03-01T12:00:00.000Z' }, { name: 'file:b' }],
  });
});

test('any other process tells what the published checkpoint shows', async () => {
  const none = { sealer: undefined, witnesses: undefined, anchoring: undefined };
  expect(await tlogStatusOf({ log, history, policy, ...none })).toEqual({
    ...{ seals: false, ...known, divergence: history.refusal, stalled: null },
    quorum: { name: 'some' },
    witnesses: [{ name: 'one', cosigned: '2026-03-01T12:00:00.000Z' }, { name: 'two' }],
    anchors: [],
  });
});

test('before the first checkpoint nothing is claimed', async () => {
  const fresh = {
    ...{ ...history, published: undefined, refusal: undefined, lagMs: () => 0, vkeys: async () => [], epoch: 1 },
    store: { published: async () => undefined },
  } as unknown as Parts['history'];
  const none = { policy: undefined, sealer: undefined, witnesses: undefined, anchoring: undefined };
  expect(await tlogStatusOf({ log, history: fresh, ...none })).toEqual({
    ...{ seals: false, origin: ORIGIN, epoch: 1, lagSeconds: 0, divergence: null, stalled: null },
    ...{ witnesses: [], anchors: [] },
  });
});

test('trees that are being made are a state to show, and other faults of the store are thrown', async () => {
  const none = { policy, sealer: undefined, witnesses: undefined, anchoring: undefined };
  const failing = (error: Error) =>
    ({ ...history, store: { published: async () => Promise.reject(error) } }) as unknown as Parts['history'];
  const lost = new TreesLost('the trees are being made from the log again');
  const status = await tlogStatusOf({ log, history: failing(lost), ...none });
  expect([status.stalled, status.checkpoint, status.witnesses]).toEqual([
    ...[lost.message, checkpoint, [{ name: 'one' }, { name: 'two' }]],
  ]);
  const away = new ControlError('read_model_unavailable', 'Elasticsearch cannot be reached');
  await expect(tlogStatusOf({ log, history: failing(away), ...none })).rejects.toBe(away);
});
