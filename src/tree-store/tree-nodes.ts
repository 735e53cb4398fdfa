import { HASH_BYTES, leafHash } from '../tlog/hash.js';
import { CompactRange, type Nodes } from '../tlog/merkle.js';
import { parseEntryBundle, TILE_HEIGHT, TILE_WIDTH } from '../tlog/tile.js';
import type { Tree, TreeStore } from './tree-store.js';

/** Tiles that a proof, or the proofs of neighbours, read again. */
const KEPT = 64;

/** The nodes of a stored tree of so many leaves. Rejects with an `Error` that names the tile if one is missing. */
export function nodesOf(store: Pick<TreeStore, 'bundle' | 'tile'>, tree: Tree, size: number): Nodes {
  const kept = new Map<string, Promise<readonly Buffer[]>>();
  const hashes = (level: number, n: number): Promise<readonly Buffer[]> => {
    const key = `${level}/${n}`;
    const found = kept.get(key) ?? hashesOf(store, tree, level, n);
    kept.delete(key);
    kept.set(key, found);
    for (const [oldest] of kept) if (kept.size > KEPT) kept.delete(oldest);
    return found;
  };
  return async (level, index) => {
    const height = level % TILE_HEIGHT;
    const [first, count] = [index * 2 ** height, 2 ** height];
    if ((index + 1) * 2 ** level > size) throw new RangeError(`a tree of ${size} has no node ${level}/${index}`);
    const tile = Math.floor(first / TILE_WIDTH);
    const within = (await hashes(Math.floor(level / TILE_HEIGHT), tile)).slice(
      first - tile * TILE_WIDTH,
      first - tile * TILE_WIDTH + count,
    );
    if (within.length < count)
      throw new Error(`tree ${tree}: tile ${Math.floor(level / TILE_HEIGHT)}/${tile} is too short`);
    const range = new CompactRange();
    for (const hash of within) range.append(hash);
    return range.root();
  };
}

/** Of level 0, of the leaves. */
async function hashesOf(
  store: Pick<TreeStore, 'bundle' | 'tile'>,
  tree: Tree,
  level: number,
  n: number,
): Promise<readonly Buffer[]> {
  if (level === 0) return parseEntryBundle((await store.bundle(tree, n)) ?? Buffer.alloc(0)).map(leafHash);
  const tile = (await store.tile(tree, level, n)) ?? Buffer.alloc(0);
  return Array.from({ length: Math.floor(tile.byteLength / HASH_BYTES) }, (_, at) =>
    tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}
