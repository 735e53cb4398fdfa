import { randomBytes } from 'node:crypto';
import type { EventLog } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import { isoTime } from '../platform/clock.js';
import { vkeyOf } from '../tlog/note.js';
import { parseOrigin } from '../tlog/origin.js';
import { type ChainState, checkpointEntry, counted, type Epoch, type Genesis, originsOf } from './chain.js';

export interface NewEpoch {
  readonly reason: string;
  /** The last note that is known to be signed; undefined if none is. */
  readonly last: string | undefined;
  readonly publicKey: Uint8Array;
  /** Of a log that has no checkpoints yet. */
  readonly origin: string;
  /** In milliseconds. */
  readonly now: number;
}

/**
 * Records that the log is an earlier state of itself: from here on its trees have other names, so nothing that was signed
 * before is contradicted. Nobody else may write to the log meanwhile. Resolves with the new names' first part and number.
 */
export async function beginEpoch(log: EventLog, { reason, last, publicKey, origin, now }: NewEpoch): Promise<Epoch> {
  let state = await stateOf(log);
  if (!state) {
    const service = originsOf({ genesis: { origin }, epoch: 1 }).service;
    const vkey = vkeyOf(service, publicKey);
    const secret = randomBytes(32).toString('base64');
    const genesis: Genesis = { kind: 'genesis', origin, epoch: 1, secret, log: log.id, vkey, at: isoTime(now) };
    await log.append([checkpointEntry(genesis)]);
    state = await stateOf(log);
  }
  if (!state) throw new Error('the log does not show its first checkpoint');
  // The restored log may be older than an epoch that was begun, and signed for, before.
  const signed = parseOrigin(last?.split('\n')[0] ?? '')?.epoch ?? 1;
  const epoch = Math.max(state.epoch, signed) + 1;
  const vkey = vkeyOf(originsOf({ genesis: state.genesis, epoch }).service, publicKey);
  const record: Epoch = { kind: 'epoch', prev: state.last, epoch, reason, last: last ?? '', vkey };
  await log.append([checkpointEntry(record)]);
  if ((await stateOf(log))?.epoch !== epoch)
    throw new Error('another process has written to the log: stop the service');
  return record;
}

async function stateOf(log: EventLog): Promise<ChainState | undefined> {
  let state: ChainState | undefined;
  const head = await log.head('checkpoints');
  for await (const { records } of readRange(log, 'checkpoints', {}, head, AbortSignal.any([]))) {
    for (const record of records) state = counted(state, record)?.state ?? state;
  }
  return state;
}
