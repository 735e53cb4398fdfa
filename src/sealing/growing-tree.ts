import { HASH_BYTES, leafHash } from '../tlog/hash.js';
import { CompactRange, perfectSubtrees } from '../tlog/merkle.js';
import { entryBundle, parseEntryBundle, TILE_HEIGHT, TILE_WIDTH } from '../tlog/tile.js';
import { nodesOf } from '../tree-store/tree-nodes.js';
import type { AppliedCut, Tree, TreeStore } from '../tree-store/tree-store.js';

type Cells = Pick<AppliedCut, 'bundles' | 'tiles'>;

/** The growing end of a stored tree: what is appended becomes cells. */
export class GrowingTree {
  private readonly bundles: AppliedCut['bundles'][number][] = [];
  private readonly tiles: AppliedCut['tiles'][number][] = [];
  /** Whether the last bundle, and the last tile of each level, have grown since the cells were taken. */
  private readonly grown = new Set<number>();

  /** A tree without leaves; `load` makes the others. */
  constructor(
    private readonly tree: Tree,
    private readonly range = new CompactRange(),
    /** Those of the last bundle, if it is not full. */
    private entries: Uint8Array[] = [],
    /** By level from 1 on, those of the last tile, if it is not full. */
    private readonly hashes: Buffer[][] = [],
  ) {}

  static async load(store: TreeStore, tree: Tree, size: number): Promise<GrowingTree> {
    const nodes = nodesOf(store, tree, size);
    const complete = await Promise.all(perfectSubtrees(0, size).map(({ level, index }) => nodes(level, index)));
    const last = await store.bundle(tree, Math.floor(size / TILE_WIDTH));
    const entries = last ? parseEntryBundle(last).slice(0, size % TILE_WIDTH) : [];
    const hashes: Buffer[][] = [];
    for (let [level, count] = [1, Math.floor(size / TILE_WIDTH)]; count > 0; level += 1) {
      const tile = (await store.tile(tree, level, Math.floor(count / TILE_WIDTH))) ?? Buffer.alloc(0);
      hashes[level] = Array.from({ length: count % TILE_WIDTH }, (_, at) =>
        tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
      );
      count = Math.floor(count / TILE_WIDTH);
    }
    return new GrowingTree(tree, new CompactRange(size, complete), entries, hashes);
  }

  get size(): number {
    return this.range.size;
  }

  root(): Buffer {
    return this.range.root();
  }

  append(entry: Uint8Array): void {
    this.entries.push(entry);
    this.grown.add(0);
    this.range.append(leafHash(entry), (level, _index, hash) => {
      if (level > 0 && level % TILE_HEIGHT === 0) this.complete(level / TILE_HEIGHT, hash);
    });
  }

  /** A tile of the level below is full. */
  private complete(level: number, hash: Buffer): void {
    const [tree, n] = [this.tree, Math.floor((this.size - 1) / TILE_WIDTH ** level)];
    if (level === 1) {
      this.bundles.push({ tree, n, bytes: entryBundle(this.entries) });
      this.entries = [];
    } else {
      this.tiles.push({ tree, level: level - 1, n, bytes: Buffer.concat(this.hashes[level - 1] ?? []) });
      this.hashes[level - 1] = [];
    }
    this.grown.delete(level - 1);
    const hashes = this.hashes[level] ?? [];
    this.hashes[level] = hashes;
    hashes.push(hash);
    this.grown.add(level);
  }

  /** What has changed since this was called last. */
  takeCells(): Cells {
    const { tree, size } = this;
    for (const level of this.grown) {
      const n = Math.floor(size / TILE_WIDTH ** (level + 1));
      if (level === 0) this.bundles.push({ tree, n, bytes: entryBundle(this.entries) });
      else this.tiles.push({ tree, level, n, bytes: Buffer.concat(this.hashes[level] ?? []) });
    }
    this.grown.clear();
    return { bundles: this.bundles.splice(0), tiles: this.tiles.splice(0) };
  }
}
