import { leafHash, nodeHash } from '../../src/tlog/hash.js';
import {
  CompactRange,
  consistencyPath,
  inclusionPath,
  verifyConsistency,
  verifyInclusion,
} from '../../src/tlog/merkle.js';
import { TILE_WIDTH, type Tile } from '../../src/tlog/tile.js';
import { tileNodes } from '../../src/tlog/tile-nodes.js';

const leaf = (index: number): Buffer => leafHash(Buffer.from(`entry ${index}`));
const known = new Map<string, Buffer>();

function node(level: number, index: number): Buffer {
  const key = `${level}/${index}`;
  const hash =
    known.get(key) ??
    (level === 0 ? leaf(index) : nodeHash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1)));
  known.set(key, hash);
  return hash;
}

/** The tile of a tree of this size; none that goes beyond it. */
async function tileOf(size: number, { level, index, width }: Tile): Promise<Buffer> {
  if (level === 'entries') throw new Error('hashes are asked for, not entries');
  const first = index * TILE_WIDTH;
  if (width < 1 || first + width > Math.floor(size / TILE_WIDTH ** level))
    throw new Error(`no tile ${level}/${index}.p/${width}`);
  return Buffer.concat(Array.from({ length: width }, (_, at) => node(8 * level, first + at)));
}

function rootOf(size: number): Buffer {
  const range = new CompactRange();
  for (let index = 0; index < size; index += 1) range.append(leaf(index));
  return range.root();
}

const SIZES = [1, 2, 255, 256, 257, 700, 65_536, 66_000];

test.each(SIZES)('proofs of a tree of %i leaves follow from its tiles alone', async (size) => {
  const nodes = tileNodes(size, (tile) => tileOf(size, tile));
  const root = rootOf(size);
  for (const index of new Set([0, Math.floor(size / 2), Math.floor(size / 3), size - 1])) {
    verifyInclusion(leaf(index), index, size, await inclusionPath(index, size, nodes), root);
  }
  for (const from of SIZES.filter((one) => one <= size)) {
    verifyConsistency(from, rootOf(from), size, root, await consistencyPath(from, size, nodes));
  }
});

test('a tile is read once while the leaves of it are asked for', async () => {
  const read: Tile[] = [];
  const nodes = tileNodes(600, (tile) => {
    read.push(tile);
    return tileOf(600, tile);
  });
  for (let index = 0; index < 300; index += 1) await nodes(0, index);
  expect(read).toHaveLength(2);
});
