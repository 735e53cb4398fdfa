import type { LogEntry, LogRecord } from '../event-log/event-log.js';
import { sha256 } from '../tlog/hash.js';
import { NoteInvalid, openNote, parseVkey, vkeyOf } from '../tlog/note.js';
import { FormatInvalid } from '../tlog/text.js';
import type { Origins, SigningKey } from './history.js';

/**
 * The records of `checkpoints`. Their bytes are a format (ADR 29): a hash in base64 is standard, with padding. All processes
 * decide the same way which records count; the others have no effect. So no two processes that seal at once can make two
 * histories: of their cuts the log lets one count.
 */
export interface Genesis {
  readonly kind: 'genesis';
  /** First part of the names of all trees. */
  readonly origin: string;
  readonly epoch: 1;
  /** 32 bytes, from which all salts are derived. */
  readonly secret: string;
  /** Identifier of the log. */
  readonly log: string;
  /** Of the key that signs, in the name of the service log. */
  readonly vkey: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Times in milliseconds. */
export interface Cut {
  readonly kind: 'cut';
  readonly n: number;
  /** SHA-256 of the last record that counts. */
  readonly prev: string;
  readonly at: number;
  /** Every record that the log took before this time is in this cut or an earlier one. */
  readonly complete: number;
  /** By `topic/partition`: before which offset the cut ends. Names only what moved. */
  readonly next: Readonly<Record<string, number>>;
  /** Of all organizations after this cut: how many there are, and the root over their checkpoints. */
  readonly orgs: number;
  readonly directory: string;
  /** Of the records of `control`, and the unreadable ones of `audit`, that this cut covers. */
  readonly digest: string;
  /** How many records of `audit` give no leaf. */
  readonly unreadable: number;
  /** Of the service log after this cut. */
  readonly size: number;
  readonly root: string;
}

/** From here on another key signs. */
interface KeyChange {
  readonly kind: 'key';
  readonly prev: string;
  readonly vkey: string;
  /** `keyChangeText`, signed by the key before. */
  readonly note: string;
}

/** An earlier state of the log was restored: from here on the trees have other names. */
export interface Epoch {
  readonly kind: 'epoch';
  readonly prev: string;
  readonly epoch: number;
  readonly reason: string;
  /** The last note of the epoch before that is known. */
  readonly last: string;
  readonly vkey: string;
  /** Identifier of the log from here on; without it, that of before. */
  readonly log?: string;
}

/** What was published. Does not count, so it has no predecessor. */
export interface Published {
  readonly kind: 'note';
  readonly n: number;
  readonly note: string;
}

export type ChainRecord = Genesis | Cut | KeyChange | Epoch;

/** What the records that count add up to. A value: JSON keeps it. */
export interface ChainState {
  readonly genesis: Genesis;
  readonly epoch: number;
  /** Identifier of the log, if an epoch has named it. */
  readonly log?: string;
  /** The last cut of the epoch before; 0 in the first. */
  readonly since: number;
  /** Of the epoch before: its last note that is known. */
  readonly formerNote?: string;
  /** SHA-256 of the last record that counts. */
  readonly last: string;
  readonly n: number;
  readonly at: number;
  readonly complete: number;
  readonly next: Readonly<Record<string, number>>;
  readonly root: string;
  /** Oldest first. */
  readonly keys: readonly SigningKey[];
}

const VERSION = '1';

/** By how much the clock of who made a cut may be ahead of the log's. */
const MOST_AHEAD_MS = 10 * 60_000;

export function checkpointEntry(record: ChainRecord | Published): LogEntry {
  const value = Buffer.from(JSON.stringify(record));
  return { topic: 'checkpoints', key: record.kind, headers: { v: VERSION }, value };
}

/** A record of a later version: what counts from there on only that version knows. */
class NewerRecord extends Error {
  override readonly name = 'NewerRecord';
}

type CheckpointRecord = Pick<LogRecord, 'headers' | 'value' | 'undecodable' | 'offset' | 'time'>;

/** Whether the record counts after `state`, and what follows then. Throws `NewerRecord`. */
export function counted(
  state: ChainState | undefined,
  { headers, value, undecodable, offset, time }: CheckpointRecord,
): { readonly record: ChainRecord; readonly state: ChainState } | undefined {
  if (undecodable !== undefined) return undefined;
  if (headers.v !== VERSION) {
    if (!(Number(headers.v) > 1)) return undefined;
    throw new NewerRecord(`checkpoints/0/${offset} has schema version ${headers.v}: start a newer version`);
  }
  const record = parsed(value);
  const next = record && after(state, record, sha256(value).toString('base64'), time);
  return next && { record, state: next };
}

/** What a record says was published, or is about to be; undefined for any other. */
export function publishedIn({ key, value }: Pick<LogRecord, 'key' | 'value'>): Published | undefined {
  const record = key === 'note' ? (parsed(value) as Published | undefined) : undefined;
  return record?.kind === 'note' && Number.isSafeInteger(record.n) ? record : undefined;
}

/** Undefined for what somebody else appended. */
function parsed(value: Uint8Array): ChainRecord | undefined {
  try {
    const record = JSON.parse(Buffer.from(value).toString());
    return typeof record === 'object' && record !== null ? record : undefined;
  } catch {
    return undefined;
  }
}

/** `time` is the log's of the record. What somebody else appended may have any members. */
function after(state: ChainState | undefined, record: ChainRecord, hash: string, time: number): ChainState | undefined {
  if (!state) return record.kind === 'genesis' && isGenesis(record) ? begun(record, hash) : undefined;
  if (record.kind === 'genesis' || record.prev !== state.last) return undefined;
  switch (record.kind) {
    case 'cut':
      return isCut(record) ? afterCut(state, record, hash, time) : undefined;
    case 'key':
      return isSignedChange(state, record) ? { ...state, last: hash, keys: withKey(state, record.vkey) } : undefined;
    case 'epoch':
      if (!isEpoch(record, state)) return undefined;
      return {
        ...state,
        last: hash,
        epoch: record.epoch,
        since: state.n,
        formerNote: record.last,
        ...(record.log !== undefined && { log: record.log }),
        keys: withKey(state, record.vkey),
      };
    default:
      return undefined;
  }
}

function begun(genesis: Genesis, hash: string): ChainState {
  const keys = [{ vkey: genesis.vkey, fromCut: 1 }];
  return { genesis, epoch: 1, since: 0, last: hash, n: 0, at: 0, complete: 0, next: {}, root: '', keys };
}

function isGenesis({ origin, secret, vkey, epoch }: Genesis): boolean {
  const isText = typeof origin === 'string' && typeof secret === 'string';
  return isText && epoch === 1 && Buffer.from(secret, 'base64').length === 32 && isKeyOf(vkey, `${origin}/audit/-tlog`);
}

/** Which sizes topics have at a time the log does not say, so a cut may name offsets that it does not have (ADR 29). */
function isCut({ next, at, complete, orgs, directory, digest, unreadable, root }: Cut): boolean {
  const isWhole = [at, complete, orgs, unreadable].every(Number.isSafeInteger);
  return isWhole && [directory, digest, root].every(isHash) && typeof next === 'object' && next !== null;
}

function isEpoch({ epoch, reason, last, vkey, log = '' }: Epoch, { genesis, epoch: before }: ChainState): boolean {
  const isText = [reason, last, log].every((member) => typeof member === 'string');
  return (
    isText && Number.isSafeInteger(epoch) && epoch > before && isKeyOf(vkey, originsOf({ genesis, epoch }).service)
  );
}

const isHash = (text: unknown) => typeof text === 'string' && Buffer.from(text, 'base64').length === 32;

function isKeyOf(vkey: unknown, service: string): boolean {
  try {
    return typeof vkey === 'string' && parseVkey(vkey).name === service;
  } catch (error) {
    if (error instanceof FormatInvalid) return false;
    throw error;
  }
}

const PARTITION = /^(audit|control)\/(0|[1-9]\d*)$/;

function afterCut(state: ChainState, cut: Cut, hash: string, time: number): ChainState | undefined {
  const { n, at, complete, next, root } = cut;
  const moved = Object.entries(next);
  const isInTime = complete >= state.complete && complete <= at && at <= Math.max(state.at, time + MOST_AHEAD_MS);
  const isNext =
    n === state.n + 1 &&
    cut.size === n &&
    isInTime &&
    moved.length > 0 &&
    moved.every(([name, end]) => PARTITION.test(name) && Number.isSafeInteger(end) && end >= (state.next[name] ?? 0));
  return isNext ? { ...state, last: hash, n, at, complete, root, next: { ...state.next, ...next } } : undefined;
}

/** The log that the records are of. Where it is another one than they are in, they were copied, and some may be missing. */
export function logOf({ genesis, log = genesis.log }: ChainState): string {
  return log;
}

/** What the key that signed so far says of the one that follows. The name of a key is the origin of the service log. */
export function keyChangeText(vkey: string): string {
  return `${vkey.split('+')[0]}\nkey\n${vkey}\n`;
}

/** A stranger in a shared log cannot make his key the one that signs. */
function isSignedChange(state: ChainState, { vkey, note }: KeyChange): boolean {
  const { service } = originsOf(state);
  const before = keyNamed(state.keys.at(-1)?.vkey ?? '', service);
  try {
    return vkey.startsWith(`${service}+`) && openNote(note, [before]).text === keyChangeText(vkey);
  } catch (error) {
    if (error instanceof NoteInvalid || error instanceof FormatInvalid || error instanceof TypeError) return false;
    throw error;
  }
}

/** The same key under the name of another origin. */
export function keyNamed(vkey: string, origin: string): string {
  const key = Buffer.from(vkey.split('+').slice(2).join('+'), 'base64');
  return vkeyOf(origin, key.subarray(1));
}

function withKey({ keys, n }: ChainState, vkey: string): readonly SigningKey[] {
  if (keys.at(-1)?.vkey === vkey) return keys;
  return [...keys.map((key) => (key.toCut === undefined ? { ...key, toCut: n } : key)), { vkey, fromCut: n + 1 }];
}

export function originsOf({
  genesis: { origin },
  epoch,
}: {
  readonly genesis: Pick<Genesis, 'origin'>;
  readonly epoch: number;
}): Origins {
  const suffix = epoch > 1 ? `/${epoch}` : '';
  return {
    service: `${origin}/audit/-tlog${suffix}`,
    org: (org) => `${origin}/audit/org/${org}/-tlog${suffix}`,
  };
}
