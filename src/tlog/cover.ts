import { EMPTY_ROOT, nodeHash } from './hash.js';
import { perfectSubtrees } from './merkle.js';

/** Small, for leaves far apart: a page costs no more than the hash of its first leaf. */
const PAGE_BYTES = 64;
const PAGE_LEAVES = 8 * PAGE_BYTES;

/**
 * A tree whose leaves come in any order. Complete subtrees are merged at once: memory goes with the number of gaps, and one bit
 * for each leaf.
 */
export class Cover {
  /** By level and index: subtrees whose sibling is missing. */
  readonly #nodes: Map<number, Buffer>[] = [];
  readonly #seen = new Map<number, Uint8Array>();
  /** The pages that there are, in order; undefined after another one came. */
  #pages: number[] | undefined;
  readonly #marks: readonly number[];
  #count = 0;

  /** `marks` are sizes whose roots will be asked for beside that of the whole tree. */
  constructor(marks: readonly number[] = []) {
    this.#marks = marks;
  }

  /** How many leaves were added, by themselves or in subtrees. */
  get count(): number {
    return this.#count;
  }

  /** False if it was added before. */
  addLeaf(index: number, hash: Buffer): boolean {
    const [page, bit] = [this.#page(index), index % PAGE_LEAVES];
    const byte = page[bit >> 3] ?? 0;
    if (byte & (1 << (bit & 7))) return false;
    page[bit >> 3] = byte | (1 << (bit & 7));
    this.addSubtree(0, index, hash);
    return true;
  }

  /** The first leaf from `from` to before `to` that was added by itself. */
  firstLeaf(from: number, to: number): number | undefined {
    this.#pages ??= [...this.#seen.keys()].sort((a, b) => a - b);
    const pages = this.#pages;
    for (let at = firstFrom(pages, Math.floor(from / PAGE_LEAVES)); at < pages.length; at += 1) {
      const begin = (pages[at] ?? 0) * PAGE_LEAVES;
      if (begin >= to) return undefined;
      const page = this.#seen.get(pages[at] ?? 0);
      for (let bit = Math.max(0, from - begin); bit < Math.min(PAGE_LEAVES, to - begin); bit += 1) {
        if ((page?.[bit >> 3] ?? 0) & (1 << (bit & 7))) return begin + bit;
      }
    }
    return undefined;
  }

  /** Does not notice what was added before: `count` then is more than the size of the tree. */
  addSubtree(level: number, index: number, hash: Buffer): void {
    this.#count += 2 ** level;
    let [at, node, height] = [index, hash, level];
    for (;;) {
      const nodes = this.#nodes[height] ?? new Map<number, Buffer>();
      this.#nodes[height] = nodes;
      const sibling = at % 2 === 1 ? at - 1 : at + 1;
      const other = nodes.get(sibling);
      const parent = Math.floor(at / 2);
      if (!other || this.#holdsMark(height + 1, parent)) {
        nodes.set(at, node);
        return;
      }
      nodes.delete(sibling);
      node = at % 2 === 1 ? nodeHash(other, node) : nodeHash(node, other);
      [at, height] = [parent, height + 1];
    }
  }

  /** Of the first `size` leaves, or the first leaf that is missing among them. */
  root(size: number): Buffer | number {
    const nodes: Buffer[] = [];
    for (const { level, index } of perfectSubtrees(0, size)) {
      const node = this.#node(level, index);
      if (typeof node === 'number') return node;
      nodes.push(node);
    }
    return nodes.length ? nodes.reduceRight((right, left) => nodeHash(left, right)) : EMPTY_ROOT;
  }

  #node(level: number, index: number): Buffer | number {
    const node = this.#nodes[level]?.get(index);
    if (node || level === 0) return node ?? index;
    const left = this.#node(level - 1, 2 * index);
    const right = typeof left === 'number' ? left : this.#node(level - 1, 2 * index + 1);
    return typeof left === 'number' || typeof right === 'number' ? right : nodeHash(left, right);
  }

  /** Such a subtree is kept in parts, which the smaller tree needs. */
  #holdsMark(level: number, index: number): boolean {
    for (const mark of this.#marks) if (index * 2 ** level < mark && mark < (index + 1) * 2 ** level) return true;
    return false;
  }

  #page(index: number): Uint8Array {
    const at = Math.floor(index / PAGE_LEAVES);
    const known = this.#seen.get(at);
    if (known) return known;
    const page = new Uint8Array(PAGE_BYTES);
    this.#seen.set(at, page);
    this.#pages = undefined;
    return page;
  }
}

/** Where in the sorted list the first value stands that is not less. */
function firstFrom(sorted: readonly number[], value: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if ((sorted[middle] ?? 0) < value) from = middle + 1;
    else to = middle;
  }
  return from;
}
