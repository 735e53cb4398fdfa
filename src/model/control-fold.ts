import { evolveAuditContext } from './auditctx.js';
import { evolveAuthz } from './authz.js';
import { type ControlEvent, kindOfStream, type Read, type States, type StreamName } from './control-events.js';
import type { DomainState } from './domain.js';
import type { GroupState } from './group.js';
import type { InvitationState } from './invitation.js';
import { evolveKey } from './key.js';
import { evolveOrg } from './org.js';
import type { PolicyState } from './policy.js';
import { evolveResource } from './resource.js';
import type { ServiceAccountState } from './service-account.js';
import type { UserState } from './user.js';

/** One command's whole effect, as it stands in the `control` topic. Applied as one or not at all. */
export interface ControlRecord {
  readonly commandId: string;
  /** When the command came with an Idempotency-Key: tells a retry from another request with the same key. */
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
  version: number;
  state: States[keyof States] | undefined;
}

/** What became of a command that is in the log. Events are kept only where a retry may ask for them. */
export interface CommandOutcome {
  readonly offset: number;
  readonly requestHash?: string;
  readonly events: readonly ControlEvent[];
}

/** The state that all `control` records up to a position add up to: the same in every process, at every replay. */
export interface ControlFold {
  readonly streams: Map<StreamName, Stream>;
  /** The streams that have a state: by `kind/org`, and keys by `key/` and the link of their principal. */
  readonly families: Map<string, Set<StreamName>>;
  readonly commands: Map<string, CommandOutcome>;
}

export function emptyFold(): ControlFold {
  return { streams: new Map(), families: new Map(), commands: new Map() };
}

const EVOLVE: {
  readonly [Kind in keyof States]: (state: States[Kind] | undefined, event: never) => States[Kind] | undefined;
} = {
  org: evolveOrg,
  auditctx: evolveAuditContext,
  user: evolveResource<UserState>,
  group: evolveResource<GroupState>,
  serviceaccount: evolveResource<ServiceAccountState>,
  policy: evolveResource<PolicyState>,
  invitation: evolveResource<InvitationState>,
  domain: evolveResource<DomainState>,
  key: evolveKey,
  authz: evolveAuthz,
};

/**
 * Takes the next record of the log in. It is void, and changes nothing, when its command was already applied or when a
 * stream that it rests on has moved on since: that is how the log's order decides every race.
 */
export function foldRecord(fold: ControlFold, record: ControlRecord, offset: number): 'applied' | 'void' {
  if (fold.commands.has(record.commandId)) return 'void';
  for (const [stream, version] of Object.entries(record.expected)) {
    if (versionOf(fold, stream as StreamName) !== version) return 'void';
  }
  for (const event of record.events) evolve(fold, event);
  const { requestHash } = record;
  fold.commands.set(record.commandId, {
    offset,
    ...(requestHash !== undefined && { requestHash }),
    events: requestHash === undefined ? [] : record.events,
  });
  return 'applied';
}

/** Forgets the state of a stream and keeps its version, which is all that tells whether later records are void. */
export function forgetState(fold: ControlFold, stream: StreamName): void {
  const known = fold.streams.get(stream);
  if (!known?.state) return;
  const family = familyOf(stream, known.state);
  if (family !== undefined) fold.families.get(family)?.delete(stream);
  fold.streams.set(stream, { version: known.version, state: undefined });
}

export function versionOf(fold: ControlFold, stream: StreamName): number {
  return fold.streams.get(stream)?.version ?? 0;
}

export function readFold(fold: ControlFold): Read {
  const read = (stream: StreamName) => fold.streams.get(stream)?.state as never;
  const members = (family: string) => [...(fold.families.get(family) ?? [])];
  return Object.assign(read, {
    all: (kind: keyof States, org: string) => members(`${kind}/${org}`).map(read),
    keysOf: (principal: string) =>
      members(`key/${principal}`).map((stream) => ({ stream: stream as `key/${string}`, state: read(stream) })),
  });
}

/**
 * A `read` that notes what was looked at, and the expected versions that follow from it: a decision cannot rest on a
 * stream without its record saying so.
 */
export function trackedRead(fold: ControlFold): {
  read: Read;
  expected(events: readonly ControlEvent[]): ControlRecord['expected'];
} {
  const seen = new Set<StreamName>();
  const plain = readFold(fold);
  const tracked = (stream: StreamName) => {
    seen.add(stream);
    return plain(stream) as never;
  };
  return {
    read: Object.assign(tracked, { all: plain.all, keysOf: plain.keysOf }),
    expected(events) {
      for (const event of events) seen.add(event.stream);
      return Object.fromEntries([...seen].map((stream) => [stream, versionOf(fold, stream)]));
    },
  };
}

function evolve(fold: ControlFold, event: ControlEvent): void {
  const stream = fold.streams.get(event.stream) ?? { version: 0, state: undefined };
  const step = EVOLVE[kindOfStream(event.stream)] as (state: unknown, event: ControlEvent) => Stream['state'];
  const state = step(stream.state, event);
  fold.streams.set(event.stream, { version: stream.version + 1, state });
  const family = familyOf(event.stream, state ?? stream.state);
  if (family === undefined) return;
  const members = fold.families.get(family) ?? new Set();
  if (state === undefined) members.delete(event.stream);
  else members.add(event.stream);
  fold.families.set(family, members);
}

/** What a stream is found by besides its name: a key by its principal, all others by their kind and organization. */
function familyOf(stream: StreamName, state: Stream['state']): string | undefined {
  if (!state) return undefined;
  if ('principal' in state) return `key/${state.principal}`;
  return 'org' in state ? `${kindOfStream(stream)}/${state.org}` : undefined;
}
