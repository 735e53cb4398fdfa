import { evolveAuditContext } from './auditctx.js';
import { evolveAuthz } from './authz.js';
import { type ControlEvent, kindOfStream, type Read, type States, type StreamName } from './control-events.js';
import { evolveKey } from './key.js';
import { evolveOrg } from './org.js';
import { evolveServiceAccount } from './service-account.js';

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
  /** Absent for the root key, which belongs to no organization. */
  readonly link?: string;
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
  /** The streams of a kind and organization that have a state, by the first two parts of their names. */
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
  serviceaccount: evolveServiceAccount,
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

export function versionOf(fold: ControlFold, stream: StreamName): number {
  return fold.streams.get(stream)?.version ?? 0;
}

export function readFold(fold: ControlFold): Read {
  return (stream) => fold.streams.get(stream)?.state as never;
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
  return {
    read: (stream) => {
      seen.add(stream);
      return plain(stream);
    },
    expected(events) {
      for (const event of events) seen.add(event.stream);
      return Object.fromEntries([...seen].map((stream) => [stream, versionOf(fold, stream)]));
    },
  };
}

/** The states of all resources of a kind in an organization. */
export function statesIn<Kind extends keyof States>(fold: ControlFold, kind: Kind, org: string): States[Kind][] {
  const read = readFold(fold);
  const streams = fold.families.get(`${kind}/${org}`) ?? [];
  return [...streams].flatMap((stream) => read(stream as `${Kind}/${string}`) ?? []);
}

function evolve(fold: ControlFold, event: ControlEvent): void {
  const stream = fold.streams.get(event.stream) ?? { version: 0, state: undefined };
  const step = EVOLVE[kindOfStream(event.stream)] as (state: unknown, event: ControlEvent) => Stream['state'];
  const state = step(stream.state, event);
  fold.streams.set(event.stream, { version: stream.version + 1, state });
  const family = familyOf(event.stream);
  if (family === undefined) return;
  const members = fold.families.get(family) ?? new Set();
  if (state === undefined) members.delete(event.stream);
  else members.add(event.stream);
  fold.families.set(family, members);
}

/** `kind/org` of a stream within an organization: those have three parts. */
function familyOf(stream: StreamName): string | undefined {
  const end = stream.indexOf('/', stream.indexOf('/') + 1);
  return end < 0 ? undefined : stream.slice(0, end);
}
