import { HASH_BYTES, sha256, writeSha256 } from './hash.js';

/** Which record an event comes from. */
export interface LeafPlace {
  readonly topic: 'audit' | 'control';
  readonly partition: number;
  readonly offset: number;
  /** Among the events that the record derives, from 0. */
  readonly rank: number;
}

export const SALT_BYTES = 16;

/** Format, time, commitment. */
export const ENTRY_BYTES = 1 + 8 + HASH_BYTES;

const COMMITMENT_AT = 1 + 8;

const FORMAT = 0x01;
const TOPICS = { audit: 1, control: 2 } as const;
const SALT_LABEL = 'control leaf salt v1\n';
const HIGH_WORD = 2 ** 32;

const place = Buffer.alloc(HASH_BYTES + 1 + 2 + 8 + 2);
let committed = Buffer.alloc(4096);

/** What the salts of one organization come from. `secret` is that of the log's genesis. */
export function orgSecret(secret: Uint8Array, org: string): Buffer {
  return sha256(Buffer.concat([Buffer.from(SALT_LABEL), secret, Buffer.from(org)]));
}

export function saltOf(secret: Uint8Array, of: LeafPlace): Buffer {
  return sha256(salting(secret, of)).subarray(0, SALT_BYTES);
}

/** Of the exact bytes of an event's line in an export. Hides them from all who lack the salt. */
export function commitmentOf(salt: Uint8Array, text: Uint8Array): Buffer {
  reserve(text.length);
  committed.set(salt);
  committed.set(text, SALT_BYTES);
  return sha256(committed.subarray(0, SALT_BYTES + text.length));
}

/** What the tree holds of an event: the time at which the log took it, in clear, and the commitment. */
export function entryOf(time: number, commitment: Uint8Array): Buffer {
  const entry = entryAt(time);
  entry.set(commitment, COMMITMENT_AT);
  return entry;
}

/** The entry of a text in two pieces, the second one ASCII: `entryOf`, `commitmentOf` and `saltOf` without buffers between them. */
export function sealedEntry(
  secret: Uint8Array,
  of: LeafPlace,
  time: number,
  [text, end]: readonly [Uint8Array, string],
): Buffer {
  reserve(text.length + end.length);
  // The text replaces the second half of the hash.
  writeSha256(committed, 0, salting(secret, of));
  committed.set(text, SALT_BYTES);
  const length = SALT_BYTES + text.length + committed.write(end, SALT_BYTES + text.length, 'latin1');
  const entry = entryAt(time);
  writeSha256(entry, COMMITMENT_AT, committed.subarray(0, length));
  return entry;
}

function salting(secret: Uint8Array, { topic, partition, offset, rank }: LeafPlace): Buffer {
  place.set(secret);
  place[HASH_BYTES] = TOPICS[topic];
  place.writeUInt16BE(partition, HASH_BYTES + 1);
  writeUInt64(place, offset, HASH_BYTES + 3);
  place.writeUInt16BE(rank, HASH_BYTES + 11);
  return place;
}

function reserve(length: number): void {
  const most = SALT_BYTES + Math.max(length, HASH_BYTES);
  if (most > committed.length) committed = Buffer.alloc(2 * most);
}

/** Without its commitment. */
function entryAt(time: number): Buffer {
  const entry = Buffer.allocUnsafe(ENTRY_BYTES);
  entry[0] = FORMAT;
  writeUInt64(entry, time, 1);
  return entry;
}

function writeUInt64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / HIGH_WORD), at);
  bytes.writeUInt32BE(value % HIGH_WORD, at + 4);
}
