import { ApiError, type ClientError } from '../../client/errors.js';
import { type Checkpoint, parseCheckpoint } from '../../tlog/checkpoint.js';
import { consistencyPath, verifyConsistency } from '../../tlog/merkle.js';
import { type OpenNote, openNote, splitNote } from '../../tlog/note.js';
import { parseOrigin } from '../../tlog/origin.js';
import { parseTlogProof } from '../../tlog/tlog-proof.js';
import { CliError, EXIT } from '../output/failures.js';
import type { LogReader } from './log-reader.js';
import { formerOf, type Pin, type Pins, untilPinned } from './pins.js';

/** A checkpoint that the service shows now, and how it relates to what this user saw before. */
export interface Observed {
  readonly checkpoint: Checkpoint;
  readonly pin: Pin;
  /** What was pinned before; undefined: this is trusted because it is the first. */
  readonly before: Checkpoint | undefined;
}

interface Source {
  readonly log: LogReader;
  /** The log's address, as the user names it. */
  readonly address: string;
  readonly org: string;
  /** A key from somewhere else than the service: no first use is trusted then. */
  readonly vkey?: string | undefined;
  readonly number?: number | undefined;
}

/**
 * Reads the newest checkpoint, proves with the log's tiles that it continues the pinned one, and pins it. What was not pinned
 * before is pinned as the service shows it. Throws what a user must know: another key, another number, another history.
 */
export function observe(source: Source, pins: Pins): Promise<Observed> {
  return untilPinned(() => observedOnce(source, pins));
}

/** Undefined if another process changed the pin meanwhile. */
async function observedOnce(source: Source, pins: Pins): Promise<Observed | undefined> {
  const { log, address } = source;
  const note = await log.checkpoint();
  const { origin } = readable(note);
  const known = (await pins.ofOrigin(origin)) ?? (await pins.ofAddress(address));
  if (known && known.origin !== origin) throw changed('origin', known.origin, origin, pins.fileOf(known.origin));
  if (!known && parseOrigin(origin)?.org !== source.org) {
    throw notVerified(`the log at ${address} has the origin ${origin}, which is not one of organization ${source.org}`);
  }
  const file = pins.fileOf(origin);
  const vkey = source.vkey ?? known?.vkey ?? (await newestKey(log));
  if (known && known.vkey !== vkey) throw changed('vkey', known.vkey, vkey, file);
  const checkpoint = parseCheckpoint(opened(note, vkey, known && file).text);
  const number = (await numberOf(log)) ?? source.number ?? known?.number;
  const expected = source.number ?? known?.number;
  if (expected !== undefined && number !== undefined && expected !== number)
    throw changed('number', expected, number, file);
  const before = known && parseCheckpoint(splitNote(known.note).text);
  if (before) await requireContinuation(log, before, checkpoint);
  const pin = { origin, vkey, note, address, ...(number !== undefined && { number }), ...formerOf(known, note) };
  return (await pins.replace(known, pin)) ? { checkpoint, pin, before } : undefined;
}

function readable(note: string): Checkpoint {
  try {
    return parseCheckpoint(splitNote(note).text);
  } catch (error) {
    throw notVerified(`the service shows no checkpoint: ${(error as Error).message}`);
  }
}

async function newestKey(log: LogReader): Promise<string> {
  const vkey = (await log.vkeys()).at(-1);
  if (vkey !== undefined) return vkey;
  throw notVerified('the service shows no verifier key', ['give the key of its operator with --vkey']);
}

function opened(note: string, vkey: string, file: string | undefined): OpenNote {
  try {
    return openNote(note, [vkey]);
  } catch (error) {
    const hints = file === undefined ? [] : [`pinned in ${file}: ${WHAT_TO_DO}`];
    throw notVerified(`the checkpoint is not signed by ${vkey}: ${(error as Error).message}`, hints);
  }
}

/** The number in the directory of the service; undefined before the service log has this log. */
async function numberOf(log: LogReader): Promise<number | undefined> {
  let text: string;
  try {
    text = await log.headProof();
  } catch (error) {
    if (error instanceof ApiError && error.body.code === 'not_integrated') return undefined;
    throw error;
  }
  const { extra } = parseTlogProof(text);
  const { number } = JSON.parse(extra?.toString() ?? '{}') as { number?: unknown };
  if (Number.isSafeInteger(number)) return Number(number);
  throw notVerified("the head proof of the service does not say the organization's number");
}

/** Throws unless the tiles of the log show that one checkpoint continues the other. */
export async function requireContinuation(log: LogReader, before: Checkpoint, now: Checkpoint): Promise<void> {
  if (now.size < before.size) {
    throw notVerified(`the log has ${now.size} leaves, and had ${before.size}: events were removed`, [FORK]);
  }
  try {
    const path = await consistencyPath(before.size, now.size, log.nodes(now.size));
    verifyConsistency(before.size, before.root, now.size, now.root, path);
  } catch (error) {
    if ((error as ClientError) instanceof ApiError) throw error;
    const message = `the log does not continue the pinned checkpoint of ${before.size} leaves: ${(error as Error).message}`;
    throw notVerified(message, [FORK]);
  }
}

const WHAT_TO_DO =
  'ask the operator, by another way than this service, and remove the pin only if the answer convinces you';
const FORK = 'keep the pin: it and the new checkpoint, both signed, prove to anybody that history was altered';

export function changed(
  what: 'origin' | 'vkey' | 'number',
  was: string | number,
  is: string | number,
  file: string,
): CliError {
  return notVerified(`the log's ${what} is ${is}, and was ${was}`, [`pinned in ${file}: ${WHAT_TO_DO}`]);
}

export function notVerified(message: string, hints: readonly string[] = []): CliError {
  return new CliError(`not verified: ${message}`, EXIT.failure, hints);
}
