import { QUOTAS, type QuotaKind, type Quotas } from '../contract/limits.js';
import { type ControlEvent, kindOfStream, type StreamName } from '../model/control-events.js';
import { builtinStreams } from '../model/org.js';
import { ControlRefusal } from '../model/refusal.js';
import { type ControlFold, versionOf } from './fold.js';

/**
 * Throws `quota_exceeded` if the events increase the number of a kind beyond its quota. Never part of the rule by which
 * records are void: settings differ between processes, and a recorded event stays recorded.
 */
export function refuseOverQuota(fold: ControlFold, events: readonly ControlEvent[], quotas: Quotas): void {
  for (const [family, more] of growth(fold, events)) {
    const slash = family.indexOf('/');
    const [kind, org] = [family.slice(0, slash) as QuotaKind, family.slice(slash + 1)];
    const most = quotas[kind];
    if (more <= 0 || counted(fold, family, org) + more <= most) continue;
    throw new ControlRefusal('quota_exceeded', explanation(kind, org, most));
  }
}

function explanation(kind: QuotaKind, org: string, most: number): string {
  const { plural, setting } = QUOTAS[kind];
  const owner = kind === 'org' ? 'the service' : `organization ${org}`;
  const remedy = `${QUOTAS[kind].isForGood ? '' : 'delete some, or '}ask the operator to raise it`;
  return `the limit of ${plural} in ${owner} is ${most} (${setting}); ${remedy}`;
}

/** How many there are, without those that the service itself made. */
function counted(fold: ControlFold, family: string, org: string): number {
  const streams = fold.families.get(family) ?? new Set();
  const own = builtinStreams(org).filter((stream) => streams.has(stream) && isBuiltin(fold.streams.get(stream)?.state));
  return streams.size - own.length;
}

function isBuiltin(data: object | undefined): boolean {
  return data !== undefined && 'origin' in data && data.origin === 'builtin';
}

/** By how many each family grows, without those that the service itself makes. */
function growth(fold: ControlFold, events: readonly ControlEvent[]): ReadonlyMap<string, number> {
  const last = new Map<StreamName, ControlEvent>(events.map((event) => [event.stream, event]));
  const more = new Map<string, number>();
  for (const [stream, event] of last) {
    const kind = kindOfStream(stream);
    if (!('auditId' in event) || !(kind in QUOTAS)) continue;
    if (isBuiltin(event.data)) continue;
    const family = `${kind}/${'org' in event.data ? event.data.org : ''}`;
    const change = Number(!event.type.endsWith('-deleted')) - Number(fold.streams.has(stream));
    more.set(family, (more.get(family) ?? 0) + change);
  }
  return more;
}

/**
 * Throws `conflict` if a key was issued before. The key of a request with an Idempotency-Key is derived from it, so a repeated
 * request whose command is no longer known would issue the same key again, even if it was revoked since.
 */
export function refuseUsedKeys(fold: ControlFold, events: readonly ControlEvent[]): void {
  const isUsed = events.some(({ type, stream }) => type === 'key-issued' && versionOf(fold, stream) > 0);
  if (!isUsed) return;
  const message =
    'this Idempotency-Key was used for the same request more than 24 hours ago; the key that was issued then is not ' +
    'issued again. Use a new Idempotency-Key';
  throw new ControlRefusal('conflict', message);
}
