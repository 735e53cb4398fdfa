import type { KeyState, Read } from './control-events.js';
import { ControlRefusal } from './refusal.js';
import type { Occasion } from './resource.js';
import { keyStream } from './streams.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Whether the key is worth something at that time, in milliseconds. */
export function isLive({ expires }: Pick<KeyState, 'expires'>, now: number): boolean {
  return expires === undefined || now < Date.parse(expires);
}

/** When a key is asked for, by whom, and by which key. */
interface Asking extends Pick<Occasion, 'at' | 'granter'> {
  /** SHA-256, in hex. */
  readonly askingKey?: string;
  /** The longest life of a key; absent: no limit. */
  readonly mostDays?: number | undefined;
}

/** The last instant at which a new key may end, and what says so. */
export interface LatestEnd {
  readonly at: string;
  readonly because: string;
}

/**
 * How long a new key of the principal may live; undefined: for ever. A key that the principal issues to itself ends with
 * the key that asks for it at the latest, so that a stolen key cannot be turned into one that lives longer.
 */
export function latestEnd(
  read: Read,
  principal: string,
  { at, granter, askingKey, mostDays }: Asking,
): LatestEnd | undefined {
  const ends: LatestEnd[] = [];
  if (mostDays !== undefined) {
    ends.push({ at: endAfter(at, mostDays), because: `keys of this service live at most ${daysText(mostDays)}` });
  }
  const own = granter === principal && askingKey !== undefined ? endOfAskingKey(read, askingKey) : undefined;
  if (own !== undefined) {
    ends.push({ at: own, because: 'a key that you issue to yourself may not outlive the key that you ask with' });
  }
  return ends.sort((one, other) => Date.parse(one.at) - Date.parse(other.at))[0];
}

/** The end of a key that is issued at that instant and lives so many days. */
export function endAfter(at: string, days: number): string {
  return new Date(Date.parse(at) + days * DAY_MS).toISOString();
}

/** Throws `conflict` where the key was removed since the request was let in. */
function endOfAskingKey(read: Read, keyHash: string): string | undefined {
  const key = read(keyStream(keyHash));
  if (key) return key.expires;
  throw new ControlRefusal('conflict', 'the key that asks was removed meanwhile; ask with another');
}

function daysText(days: number): string {
  return days === 1 ? '1 day' : `${days} days`;
}
