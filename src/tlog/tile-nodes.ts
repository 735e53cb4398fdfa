import { HASH_BYTES, nodeHash } from './hash.js';
import type { Nodes } from './merkle.js';
import { TILE_HEIGHT, TILE_WIDTH, type Tile, tilePath } from './tile.js';

/** Tiles that are kept: the path of one leaf needs a tile a level, and the next leaf's mostly the same. */
const KEPT_TILES = 16;

/** The nodes of a tree of this size, from its tiles. `read` rejects if there is no such tile. */
export function tileNodes(size: number, read: (tile: Tile) => Promise<Buffer>): Nodes {
  const kept = new Map<string, Promise<Buffer>>();
  const hashesOf = (tile: Tile): Promise<Buffer> => {
    const path = tilePath(tile);
    const known = kept.get(path);
    if (known) return known;
    const hashes = read(tile);
    const [oldest] = kept.keys();
    if (kept.size >= KEPT_TILES && oldest !== undefined) kept.delete(oldest);
    kept.set(path, hashes);
    return hashes;
  };
  return async (level, index) => {
    const height = Math.floor(level / TILE_HEIGHT);
    const count = 2 ** (level % TILE_HEIGHT);
    const first = index * count;
    const tile = Math.floor(first / TILE_WIDTH);
    const width = Math.min(TILE_WIDTH, Math.floor(size / TILE_WIDTH ** height) - tile * TILE_WIDTH);
    const hashes = await hashesOf({ level: height, index: tile, width });
    const at = (first % TILE_WIDTH) * HASH_BYTES;
    return folded(hashes.subarray(at, at + count * HASH_BYTES));
  };
}

/** The root of a complete subtree, from the hashes at its bottom. */
function folded(hashes: Buffer): Buffer {
  if (hashes.length === HASH_BYTES) return Buffer.from(hashes);
  const half = hashes.length / 2;
  return nodeHash(folded(hashes.subarray(0, half)), folded(hashes.subarray(half)));
}
