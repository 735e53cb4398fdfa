import { HASH_BYTES, nodeHash } from '../tlog/hash.js';
import { CompactRange, inclusionPath, perfectSubtrees } from '../tlog/merkle.js';

/** The tree over the checkpoints of all organizations, in memory: 64 bytes an organization. Leaves may be replaced. */
export class Directory {
  /** By level: the hashes of the complete subtrees. */
  private readonly levels: Buffer[] = [];
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Sets the leaf of an organization; a new one gets the next number. */
  set(number: number, leaf: Buffer): void {
    if (number > this.count) throw new RangeError(`the directory has no organization ${this.count} yet, but ${number}`);
    this.count = Math.max(this.count, number + 1);
    this.put(0, number, leaf);
    for (let [level, index] = [1, number >> 1]; (index + 1) * 2 ** level <= this.count; level += 1, index >>= 1) {
      this.put(level, index, nodeHash(this.node(level - 1, 2 * index), this.node(level - 1, 2 * index + 1)));
    }
  }

  leaf(number: number): Buffer {
    return Buffer.from(this.node(0, number));
  }

  root(): Buffer {
    const nodes = perfectSubtrees(0, this.count).map(({ level, index }) => this.node(level, index));
    return new CompactRange(this.count, nodes).root();
  }

  path(number: number): Promise<Buffer[]> {
    return inclusionPath(number, this.count, (level, index) => Buffer.from(this.node(level, index)));
  }

  copy(): Directory {
    const copy = new Directory();
    copy.count = this.count;
    copy.levels.push(...this.levels.map((level) => Buffer.from(level)));
    return copy;
  }

  private node(level: number, index: number): Buffer {
    const hashes = this.levels[level] ?? Buffer.alloc(0);
    return hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
  }

  private put(level: number, index: number, hash: Buffer): void {
    const hashes = this.levels[level] ?? Buffer.alloc(0);
    const end = (index + 1) * HASH_BYTES;
    if (end > hashes.byteLength) this.levels[level] = Buffer.concat([hashes], Math.max(2 * hashes.byteLength, end));
    this.levels[level]?.set(hash, index * HASH_BYTES);
  }
}
