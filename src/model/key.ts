import { kindOf } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import type { ControlEvent, KeyIssued, KeyState, KeyUsed, Read } from './control-events.js';
import { refuseKeyFor } from './grants.js';
import { latestEnd } from './key-life.js';
import { memberLink } from './principals.js';
import { ControlRefusal } from './refusal.js';
import { auditIds, type Occasion } from './resource.js';
import { keyStream } from './streams.js';
import { keepSuperuserKey } from './superusers.js';

export function keyUsed(hash: string, day: string): KeyUsed {
  return { type: 'key-used', stream: `keyuse/${hash}`, day };
}

/** The key that was used. */
export function keyOfUse({ stream }: KeyUsed): `key/${string}` {
  return keyStream(stream.slice('keyuse/'.length));
}

/** The key as it is after the use. The day never goes back. */
export function afterUse(state: KeyState, { day }: KeyUsed): KeyState {
  return state.lastUsed !== undefined && state.lastUsed >= day ? state : { ...state, lastUsed: day };
}

export function evolveKey(_state: KeyState | undefined, event: KeyIssued): KeyState | undefined {
  return event.type === 'key-revoked' ? undefined : event.data;
}

export function keyIssued(hash: string, data: KeyState, auditId: string): ControlEvent {
  return { type: 'key-issued', stream: keyStream(hash), auditId, data };
}

/** All keys that speak for the principal, or one of them, as revoked. */
export function keysRevoked(read: Read, principal: string, nextId: () => string, id?: string): ControlEvent[] {
  return read
    .keysOf(principal)
    .flatMap(({ stream, state }) =>
      id === undefined || state.id === id
        ? [{ type: 'key-revoked', stream, auditId: nextId(), data: state } as const]
        : [],
    );
}

/** Whose keys they are: a user, by e-mail address or id, or a service account, by name. */
export interface KeyHolder {
  readonly org: string;
  readonly kind: 'user' | 'serviceaccount';
  readonly ref: string;
}

/** The link of the holder. Throws `not_found`. */
function keyHolderLink(read: Read, { org, kind, ref }: KeyHolder): string {
  const link = memberLink(read, org, linkTo(org, kind, ref));
  if (link !== undefined) return link;
  throw new ControlRefusal('not_found', `no ${kindOf(kind).noun} \`${ref}\` exists in \`${org}\``);
}

export interface AddKey extends Occasion {
  readonly holder: KeyHolder;
  readonly description: string;
  readonly expires?: string;
  /** SHA-256 of the key, in hex. */
  readonly keyHash: string;
  /** SHA-256 of the key that asks, in hex; absent where no key does. */
  readonly askingKey?: string;
  /** The longest life of a key; absent: no limit. */
  readonly mostDays?: number;
}

/** Without `expires` the key lives as long as it may: for ever, unless something limits it. */
export function decideAddKey(read: Read, command: AddKey): ControlEvent[] {
  const { holder, description, keyHash, at, id, granter } = command;
  const principal = keyHolderLink(read, holder);
  const expires = checkedEnd(read, principal, command);
  if (read.keysOf(principal).length >= LIMITS.keys) {
    throw new ControlRefusal(
      'conflict',
      `a ${kindOf(holder.kind).noun} has at most ${LIMITS.keys} keys; remove one first`,
    );
  }
  refuseKeyFor(read, granter, principal);
  const { org } = holder;
  const data = { id: id(0), org, principal, description, issued: at, ...(expires !== undefined && { expires }) };
  // Deleting the holder takes its keys along: the two may not pass each other unseen.
  return [keyIssued(keyHash, data, id(1)), authzChanged(org)];
}

/** Judges a retry that is to show a key again. Throws `conflict` when the key is not there any more. */
export function refuseRemovedKey(read: Read, events: readonly ControlEvent[]): void {
  if (events.every((event) => event.type !== 'key-issued' || read(event.stream))) return;
  const remedy = 'have another issued';
  throw new ControlRefusal('conflict', `the key cannot be shown again, because it was removed since; ${remedy}`);
}

/**
 * Judges a retry that shows a key again, as if the key were issued to the present caller. Throws `forbidden` if the
 * caller does not hold what the principal holds by now, and `conflict` for a key that outlives the one that asks.
 */
export function refuseShownKey(
  read: Read,
  command: Omit<AddKey, 'description' | 'expires' | 'keyHash'>,
  events: readonly ControlEvent[],
): void {
  const principal = keyHolderLink(read, command.holder);
  refuseKeyFor(read, command.granter, principal);
  refuseRemovedKey(read, events);
  const latest = latestEnd(read, principal, { ...command, mostDays: undefined });
  const outlives = ({ expires }: KeyState) =>
    expires === undefined || Date.parse(expires) > Date.parse(latest?.at ?? '');
  if (latest && events.some((event) => event.type === 'key-issued' && outlives(event.data))) {
    throw new ControlRefusal('conflict', `the key cannot be shown again to the key that asks: ${latest.because}`);
  }
}

/** When the key ends. Throws `validation_failed` for an end that is past, or later than it may be. */
function checkedEnd(read: Read, principal: string, command: AddKey): string | undefined {
  const { expires, at } = command;
  const latest = latestEnd(read, principal, command);
  if (expires === undefined) return latest?.at;
  if (Date.parse(expires) <= Date.parse(at)) {
    throw refusedEnd('the key would be worth nothing', 'must be in the future');
  }
  if (latest && Date.parse(expires) > Date.parse(latest.at)) {
    throw refusedEnd('the key would live too long', `must be ${latest.at} at the latest: ${latest.because}`);
  }
  return expires;
}

function refusedEnd(message: string, reason: string): ControlRefusal {
  return new ControlRefusal('validation_failed', message, [{ pointer: '/expires', reason }]);
}

export interface RemoveKey extends Occasion {
  readonly holder: KeyHolder;
  /** Of the key. */
  readonly keyId: string;
}

export function decideRemoveKey(read: Read, command: RemoveKey): ControlEvent[] {
  const { holder, keyId, at } = command;
  const { org, kind } = holder;
  const events = keysRevoked(read, keyHolderLink(read, holder), auditIds(command), keyId);
  if (events.length === 0) throw new ControlRefusal('not_found', `the ${kindOf(kind).noun} has no such key`);
  keepSuperuserKey(read, org, at, events);
  return [...events, authzChanged(org)];
}
