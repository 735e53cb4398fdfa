import { evolveAuditContext } from '../model/auditctx.js';
import { evolveAuthz } from '../model/authz.js';
import {
  type ControlEvent,
  type KeyState,
  type KeyUsed,
  kindOfStream,
  linksNamedIn,
  type NamingKind,
  type Read,
  type States,
  type StreamName,
} from '../model/control-events.js';
import { afterUse, evolveKey, keyOfUse } from '../model/key.js';
import { evolveOrg } from '../model/org.js';
import type { IdentifiersPlaced } from '../model/placement.js';
import { evolveResource } from '../model/resource.js';
import { SentLetters } from '../model/sent-letters.js';
import { DigestTable } from './digest-table.js';
import { KnownCommands, type LogPosition } from './known-commands.js';

/** The complete effect of one command, as recorded in the `control` topic. Applied as a whole or not at all. */
export interface ControlRecord {
  readonly commandId: string;
  /** When the command came with an Idempotency-Key: distinguishes a retry from another request with the same key. */
  readonly requestHash?: string;
  readonly at: string;
  readonly by: Caller;
  /** The version of every stream that the decision read or writes; 0 for one that never was. */
  readonly expected: Readonly<Record<StreamName, number>>;
  readonly events: readonly ControlEvent[];
}

/** Who asked, from where, in which request. */
export interface Caller {
  readonly name: string;
  readonly email?: string;
  /** Absent for the root key, which belongs to no organization. */
  readonly link?: string;
  /** As in `Publisher`. Records from before publishers were recorded have none. */
  readonly keyId?: string;
  readonly requestId: string;
  readonly remoteIp: string;
}

interface Stream {
  /** Counts the events; never restarts, also not when the resource was deleted and made again. */
  readonly version: number;
  readonly state: States[keyof States];
}

/** The state that all `control` records up to a position add up to: the same in every process, at every replay. */
export interface ControlFold {
  readonly streams: Map<StreamName, Stream>;
  /** The versions of streams without a state. */
  readonly deleted: DigestTable<readonly [version: number]>;
  /**
   * The streams that have a state: by `kind/org`, organizations by `org/`, and keys by `key/` and the link of their
   * principal. Never empty.
   */
  readonly families: Map<string, Set<StreamName>>;
  /** By link: the groups that have it as a member and the policies that have it as a principal, in the order of their names. */
  readonly naming: Map<string, StreamName[]>;
  readonly commands: KnownCommands;
  /** The invitations of the last day. */
  readonly letters: SentLetters;
}

export function emptyFold(): ControlFold {
  return {
    streams: new Map(),
    deleted: new DigestTable(1),
    families: new Map(),
    naming: new Map(),
    commands: new KnownCommands(),
    letters: new SentLetters(),
  };
}

/** `time`: when the log took the record. */
type Evolve = (state: never, event: never, time: number) => Stream['state'] | undefined;

/** The streams whose events are not the created, edited and deleted of `evolveResource`. */
const EVOLVE: Readonly<Partial<Record<keyof States, Evolve>>> = {
  org: evolveOrg,
  auditctx: evolveAuditContext,
  key: evolveKey,
  authz: evolveAuthz,
  placement: (_before: undefined, { data }: IdentifiersPlaced) => data,
};

/**
 * Takes the next record of the log in. It is void, and changes nothing, when its command was applied lately
 * (`KnownCommands`) or when a stream that it rests on has moved on since: that is how the log's order decides every race.
 */
export function foldRecord(fold: ControlFold, record: ControlRecord, place: LogPosition): 'applied' | 'void' {
  fold.commands.advance(place);
  if (fold.commands.offsetOf(record.commandId) !== undefined) return 'void';
  const { expected } = record;
  for (const stream in expected) {
    if (versionOf(fold, stream as StreamName) !== expected[stream as StreamName]) return 'void';
  }
  for (const event of record.events) evolve(fold, event, place.time);
  fold.commands.add(record.commandId);
  fold.letters.noteEvents(record.events, place.time);
  return 'applied';
}

/** Forgets the state of a stream and keeps its version, which decides whether later records are void. */
export function forgetState(fold: ControlFold, stream: StreamName): void {
  const known = fold.streams.get(stream);
  if (known) putStream(fold, stream, known.version, known.state, undefined);
}

export function versionOf(fold: ControlFold, stream: StreamName): number {
  return fold.streams.get(stream)?.version ?? fold.deleted.get(stream)?.[0] ?? 0;
}

export function readFold(fold: ControlFold): Read {
  const read = (stream: StreamName) => fold.streams.get(stream)?.state as never;
  const members = (family: string) => [...(fold.families.get(family) ?? [])];
  return Object.assign(read, {
    all: (kind: keyof States, org: string) => members(`${kind}/${org}`).map(read),
    naming: (kind: NamingKind, link: string) =>
      (fold.naming.get(link) ?? []).filter((stream) => stream.startsWith(`${kind}/`)).map(read),
    keysOf: (principal: string) =>
      members(`key/${principal}`).map((stream) => ({ stream: stream as `key/${string}`, state: read(stream) })),
  });
}

/**
 * A `read` that notes what was looked at, and the expected versions that follow from it: a decision cannot rest on a
 * stream without its record saying so. A stream counts with the version that it had when it was read first.
 */
export function trackedRead(fold: ControlFold): {
  read: Read;
  expected(events: readonly ControlEvent[]): ControlRecord['expected'];
  /** Whether no stream has moved since it was read: otherwise a record of the decision would be void. */
  isCurrent(): boolean;
} {
  const seen = new Map<StreamName, number>();
  const plain = readFold(fold);
  const see = (stream: StreamName) => {
    if (!seen.has(stream)) seen.set(stream, versionOf(fold, stream));
  };
  let checked = fold.commands.offset;
  const tracked = (stream: StreamName) => {
    see(stream);
    return plain(stream as never) as never;
  };
  return {
    read: Object.assign(tracked, { all: plain.all, naming: plain.naming, keysOf: plain.keysOf }),
    expected(events) {
      for (const event of events) see(event.stream);
      return Object.fromEntries(seen);
    },
    isCurrent() {
      if (fold.commands.offset === checked) return true;
      checked = fold.commands.offset;
      return [...seen].every(([stream, version]) => versionOf(fold, stream) === version);
    },
  };
}

function evolve(fold: ControlFold, event: ControlEvent, time: number): void {
  if (event.type === 'key-used') return noteUse(fold, event);
  const before = fold.streams.get(event.stream)?.state;
  const step: Evolve = EVOLVE[kindOfStream(event.stream)] ?? evolveResource;
  putStream(fold, event.stream, versionOf(fold, event.stream) + 1, before, step(before as never, event as never, time));
}

/** Nothing is kept of a use of a key that is gone. */
function noteUse(fold: ControlFold, event: KeyUsed): void {
  const stream = keyOfUse(event);
  const known = fold.streams.get(stream);
  if (!known) return;
  fold.streams.set(stream, { version: known.version, state: afterUse(known.state as KeyState, event) });
}

/** Sets a stream, which had the state `before`; without a state only its version is kept. */
export function putStream(
  fold: ControlFold,
  stream: StreamName,
  version: number,
  before: Stream['state'] | undefined,
  state: Stream['state'] | undefined,
): void {
  if (state) {
    fold.streams.set(stream, { version, state });
  } else {
    fold.streams.delete(stream);
    fold.deleted.set(stream, [version]);
  }
  putNames(fold, stream, linksNamedIn(before), linksNamedIn(state));
  const family = familyOf(stream, state ?? before);
  // It stays in its family, at its place in it.
  if (family === undefined || (before && state && family === familyOf(stream, before))) return;
  const members = fold.families.get(family) ?? new Set();
  if (state) members.add(stream);
  else members.delete(stream);
  if (members.size > 0) fold.families.set(family, members);
  else fold.families.delete(family);
}

function putNames(
  { naming }: ControlFold,
  stream: StreamName,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): void {
  for (const link of before) {
    if (after.has(link)) continue;
    const left = naming.get(link)?.filter((one) => one !== stream) ?? [];
    if (left.length > 0) naming.set(link, left);
    else naming.delete(link);
  }
  for (const link of after) {
    if (before.has(link)) continue;
    const known = naming.get(link);
    if (known) known.splice(placeIn(known, stream), 0, stream);
    else naming.set(link, [stream]);
  }
}

/** How many of the streams, which are sorted, come before this one. */
function placeIn(streams: readonly StreamName[], stream: StreamName): number {
  let [first, end] = [0, streams.length];
  while (first < end) {
    const middle = (first + end) >>> 1;
    if ((streams[middle] as StreamName) < stream) first = middle + 1;
    else end = middle;
  }
  return first;
}

/** What a stream is found by besides its name: a key by its principal, all others by their kind and organization. */
function familyOf(stream: StreamName, state: Stream['state'] | undefined): string | undefined {
  if (!state) return undefined;
  if ('principal' in state) return `key/${state.principal}`;
  const kind = kindOfStream(stream);
  if (kind === 'org') return 'org/';
  return 'org' in state ? `${kind}/${state.org}` : undefined;
}
