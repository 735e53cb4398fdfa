import { createHash, randomBytes } from 'node:crypto';
import { stringify, v7 } from 'uuid';
import type { Clock } from './clock.js';

/** Makes identifiers. */
export interface Ids {
  /**
   * A new UUIDv7 (RFC 9562 section 5.7), lower case. Its leading 48 bits are the clock's time; within one process each
   * is greater than the one before as long as the clock does not go backward.
   */
  next(): string;
  /** 256 random bits as 43 base64url characters. */
  secret(): string;
}

/** Under this token Nest injects the `Ids`. */
export const IDS = Symbol('Ids');

/** Random bytes are drawn in bulk: a draw of its own for each identifier costs more than all else about it. */
const POOL_BYTES = 4096;

function randomPool(): (count: number) => Buffer {
  let pool = randomBytes(POOL_BYTES);
  let used = 0;
  return (count) => {
    if (used + count > pool.length) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    used += count;
    return pool.subarray(used - count, used);
  };
}

export function systemIds(clock: Clock): Ids {
  const state = { ms: -1, seq: 0 };
  const random = randomPool();
  return {
    next() {
      const now = clock.now();
      if (now === state.ms) {
        state.seq += 1;
      } else {
        state.ms = now;
        state.seq = random(4).readUInt32BE() >>> 1;
      }
      return v7({ msecs: now, seq: state.seq, random: random(16) });
    },
    secret: () => randomBytes(32).toString('base64url'),
  };
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Nobody made an identifier before the first, or makes one after the second: a time outside is not that of an event. */
const [FIRST_TIME, END_TIME] = [Date.UTC(2020), Date.UTC(2050)];

/**
 * Whether it is a UUIDv7, which begins with its time, and the time can be right. Foreign records may have any until the year
 * 10889, and each month of such times takes an index.
 */
export function hasTime(id: string): boolean {
  return UUID_V7.test(id) && timeOf(id) >= FIRST_TIME && timeOf(id) < END_TIME;
}

/** The time in a UUIDv7, in milliseconds. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/**
 * The identifier derived from a caller's key: UUIDv8 (RFC 9562 section 5.8) over SHA-256 of the parts. Each part is
 * preceded by its length, so no two lists of parts meet; the same parts give the same identifier on every instance.
 */
export function keyedId(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`);
  const bytes = hash.digest().subarray(0, 16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x80;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  return stringify(bytes);
}
