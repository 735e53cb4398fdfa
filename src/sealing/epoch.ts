import { randomBytes } from 'node:crypto';
import type { EventLog } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import { isoTime } from '../platform/clock.js';
import { parseCheckpoint } from '../tlog/checkpoint.js';
import { NoteInvalid, openNote, vkeyOf } from '../tlog/note.js';
import { parseOrigin } from '../tlog/origin.js';
import { FormatInvalid } from '../tlog/text.js';
import {
  type ChainState,
  checkpointEntry,
  counted,
  type Epoch,
  type Genesis,
  keyNamed,
  logOf,
  originsOf,
  publishedIn,
} from './chain.js';
import { SealingRefused } from './term.js';

/** How many of the last notes are looked at: any of them may be a stranger's. */
const LAST_NOTES = 1_000;

export interface NewEpoch {
  readonly reason: string;
  /** The last note that is known to be signed for the log of that identifier, beside those in it; undefined if none is. */
  readonly last: (log: string) => Promise<string | undefined>;
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
  const before = await chainOf(log);
  let { state } = before;
  if (!state) {
    const service = originsOf({ genesis: { origin }, epoch: 1 }).service;
    const vkey = vkeyOf(service, publicKey);
    const secret = randomBytes(32).toString('base64');
    const genesis: Genesis = { kind: 'genesis', origin, epoch: 1, secret, log: log.id, vkey, at: isoTime(now) };
    await log.append([checkpointEntry(genesis)]);
    state = (await chainOf(log)).state;
  }
  if (!state) throw new Error('the log does not show its first checkpoint');
  // The restored log may be older than an epoch that was begun, and signed for, before.
  const former = later(await last(logOf(state)), before.note);
  const epoch = Math.max(state.epoch, epochOf(former)) + 1;
  const vkey = vkeyOf(originsOf({ genesis: state.genesis, epoch }).service, publicKey);
  const record: Epoch = { kind: 'epoch', prev: state.last, epoch, reason, last: former ?? '', vkey, log: log.id };
  await log.append([checkpointEntry(record)]);
  if ((await chainOf(log)).state?.epoch !== epoch)
    throw new SealingRefused('another process has sealed the log meanwhile: stop the service, and try again');
  return record;
}

/** What counts in the log, and the last note in it that one of its keys has signed. */
async function chainOf(log: EventLog): Promise<{ state: ChainState | undefined; note: string | undefined }> {
  let state: ChainState | undefined;
  let notes: string[] = [];
  const head = await log.head('checkpoints');
  for await (const { records } of readRange(log, 'checkpoints', {}, head, AbortSignal.any([]))) {
    for (const record of records) {
      state = counted(state, record)?.state ?? state;
      const published = publishedIn(record);
      if (published) notes.push(published.note);
    }
    notes = notes.slice(-LAST_NOTES);
  }
  const keys = state?.keys ?? [];
  return { state, note: notes.findLast((note) => keys.some(({ vkey }) => isSigned(note, vkey))) };
}

/** The one of the later epoch, and there the longer one. */
function later(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const newer = epochOf(one) - epochOf(other) || sizeOf(one) - sizeOf(other);
  return newer < 0 ? other : one;
}

/** A stranger in a shared log can append what only looks like a note. */
function isSigned(note: string, vkey: string): boolean {
  try {
    openNote(note, [keyNamed(vkey, originIn(note))]);
    return true;
  } catch (error) {
    if (error instanceof NoteInvalid || error instanceof FormatInvalid || error instanceof TypeError) return false;
    throw error;
  }
}

function originIn(note: string): string {
  return note.slice(0, note.indexOf('\n'));
}

function epochOf(note: string | undefined): number {
  return (note === undefined ? undefined : parseOrigin(originIn(note))?.epoch) ?? 1;
}

function sizeOf(note: string): number {
  return parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)).size;
}
