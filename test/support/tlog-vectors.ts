import { readFileSync } from 'node:fs';
import { HASH_BYTES, leafHash } from '../../src/tlog/hash.js';
import { CompactRange, type Nodes } from '../../src/tlog/merkle.js';

interface Vectors {
  sizes: { size: number; root: string; inclusion: string; consistency: string }[];
  pairs: {
    size: number;
    root: string;
    index: number;
    inclusion: string;
    from: number;
    fromRoot: string;
    consistency: string;
  }[];
  notes: { signer: string; verifier: string; text: string; note: string }[];
}

/** Made by `test/interop/go/vectors`. */
export const VECTORS: Vectors = JSON.parse(
  readFileSync(new URL('../fixtures/tlog-vectors.json', import.meta.url), 'utf8'),
);

/** The tree of the vectors: entry i is i as eight bytes, big-endian. */
export function grown(size: number): { size: number; node(level: number, index: number): Buffer; nodes: Nodes } {
  const levels: Buffer[] = [];
  const range = new CompactRange();
  const entry = Buffer.alloc(8);
  for (let index = 0; index < size; index += 1) {
    entry.writeBigUInt64BE(BigInt(index));
    range.append(leafHash(entry), (level, at, hash) => {
      levels[level] ??= Buffer.alloc(HASH_BYTES * Math.floor(size / 2 ** level));
      levels[level].set(hash, HASH_BYTES * at);
    });
  }
  const node = (level: number, index: number) => {
    const hash = levels[level]?.subarray(HASH_BYTES * index, HASH_BYTES * (index + 1));
    if (hash?.length !== HASH_BYTES) throw new Error(`no node ${level}/${index}`);
    return hash;
  };
  return { size, node, nodes: node };
}
