import { hash } from 'node:crypto';

/** A third of the time of `'buffer'` and of `createHash`, for short inputs. */
export function sha256(bytes: Uint8Array): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');
}

/** As `sha256`, into place. */
export function writeSha256(into: Buffer, at: number, bytes: Uint8Array): void {
  into.write(hash('sha256', bytes, 'binary'), at, 'latin1');
}

/** Of a tree without leaves (RFC 6962, 2.1). */
export const EMPTY_ROOT: Buffer = sha256(Buffer.alloc(0));

export const HASH_BYTES = 32;

const [LEAF_PREFIX, NODE_PREFIX] = [0x00, 0x01];

const node = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX);
/** Of the length that was used last: all entries of an organization have the same. */
let leaf = Buffer.alloc(1, LEAF_PREFIX);

/** RFC 6962, 2.1: the prefixes keep a leaf from being taken for a node. */
export function leafHash(entry: Uint8Array): Buffer {
  if (leaf.length !== 1 + entry.length) leaf = Buffer.alloc(1 + entry.length, LEAF_PREFIX);
  leaf.set(entry, 1);
  return sha256(leaf);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return sha256(node);
}
