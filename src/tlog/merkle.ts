import { EMPTY_ROOT, nodeHash } from './hash.js';

/** A proof that does not show what it claims. */
export class ProofInvalid extends Error {
  override readonly name = 'ProofInvalid';
}

/** The hash of the complete subtree of 2^level leaves that begins at leaf index * 2^level. */
export type Nodes = (level: number, index: number) => Buffer | Promise<Buffer>;

export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** Told of each subtree that an append completes, the leaf itself first. */
type Completed = (level: number, index: number, hash: Buffer) => void;

/** The leaves of a growing tree, as the roots of its largest complete subtrees, left to right. */
export class CompactRange {
  readonly #nodes: Buffer[];
  #size: number;

  /** `nodes` are those of a range of this size. */
  constructor(size = 0, nodes: readonly Buffer[] = []) {
    if (nodes.length !== perfectSubtrees(0, size).length)
      throw new RangeError(`${nodes.length} nodes for ${size} leaves`);
    this.#size = size;
    this.#nodes = [...nodes];
  }

  get size(): number {
    return this.#size;
  }

  get nodes(): readonly Buffer[] {
    return this.#nodes;
  }

  append(leaf: Buffer, completed?: Completed): void {
    this.appendSubtree(0, leaf, completed);
  }

  /** Appends 2^level leaves at once. The size must be a multiple of that. */
  appendSubtree(level: number, hash: Buffer, completed?: Completed): void {
    let index = this.#size / 2 ** level;
    if (!Number.isInteger(index)) throw new RangeError(`no subtree of level ${level} begins at leaf ${this.#size}`);
    this.#size += 2 ** level;
    completed?.(level, index, hash);
    let node = hash;
    for (let at = level + 1; index % 2 === 1; at += 1) {
      node = nodeHash(this.#nodes.pop() ?? EMPTY_ROOT, node);
      index = (index - 1) / 2;
      completed?.(at, index, node);
    }
    this.#nodes.push(node);
  }

  root(): Buffer {
    return foldRight(this.#nodes);
  }
}

/** The root of nodes, left to right, of decreasing levels. */
function foldRight(nodes: readonly Buffer[]): Buffer {
  return nodes.length ? nodes.reduceRight((right, left) => nodeHash(left, right)) : EMPTY_ROOT;
}

/** The fewest complete subtrees that together hold these leaves and no other, left to right. */
export function perfectSubtrees(from: number, count: number): Subtree[] {
  const subtrees: Subtree[] = [];
  const end = from + count;
  for (let at = from; at < end; ) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= end) level += 1;
    subtrees.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return subtrees;
}

/** The root of the first `size` leaves. */
export function rootAt(size: number, nodes: Nodes): Promise<Buffer> {
  return rangeHash(0, size, nodes);
}

/** Of leaves whose first stands where a subtree that could hold them all begins. */
async function rangeHash(from: number, to: number, nodes: Nodes): Promise<Buffer> {
  return foldRight(await Promise.all(perfectSubtrees(from, to - from).map(({ level, index }) => nodes(level, index))));
}

/** RFC 6962, 2.1.1: from the leaf's sibling up. */
export function inclusionPath(index: number, size: number, nodes: Nodes): Promise<Buffer[]> {
  if (!(index >= 0 && index < size)) throw new RangeError(`no leaf ${index} in a tree of ${size}`);
  const siblings: [number, number][] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + largestPowerBelow(to - from);
    siblings.unshift(index < middle ? [middle, to] : [from, middle]);
    if (index < middle) to = middle;
    else from = middle;
  }
  return Promise.all(siblings.map(([start, end]) => rangeHash(start, end, nodes)));
}

/** RFC 6962, 2.1.2. Empty if `from` is 0 or `to`. */
export function consistencyPath(from: number, to: number, nodes: Nodes): Promise<Buffer[]> {
  if (!(from >= 0 && from <= to)) throw new RangeError(`a tree of ${to} does not extend one of ${from}`);
  const ranges: [number, number][] = [];
  let [start, end] = [0, to];
  while (from > 0 && from !== end) {
    const middle = start + largestPowerBelow(end - start);
    ranges.unshift(from <= middle ? [middle, end] : [start, middle]);
    if (from <= middle) end = middle;
    else start = middle;
  }
  if (start > 0) ranges.unshift([start, end]);
  return Promise.all(ranges.map(([first, last]) => rangeHash(first, last, nodes)));
}

/** The largest power of two that is less than a count of at least two. */
function largestPowerBelow(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

/** RFC 9162, 2.1.3.2. Throws `ProofInvalid`. */
export function verifyInclusion(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
  root: Buffer,
): void {
  if (!(index >= 0 && index < size)) throw new ProofInvalid(`There is no leaf ${index} in a tree of ${size}.`);
  let [at, last, hash] = [index, size - 1, leaf];
  for (const sibling of path) {
    if (last === 0) throw new ProofInvalid(`The path of leaf ${index} in a tree of ${size} is too long.`);
    if (at % 2 === 1 || at === last) {
      hash = nodeHash(sibling, hash);
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, half(last)];
    } else hash = nodeHash(hash, sibling);
    [at, last] = [half(at), half(last)];
  }
  if (last > 0) throw new ProofInvalid(`The path of leaf ${index} in a tree of ${size} is too short.`);
  if (!hash.equals(root))
    throw new ProofInvalid(`The path of leaf ${index} leads to another root than that of the tree of ${size}.`);
}

/** RFC 9162, 2.1.4.2: the larger tree begins with the leaves of the smaller. Throws `ProofInvalid`. */
export function verifyConsistency(
  from: number,
  fromRoot: Buffer,
  to: number,
  toRoot: Buffer,
  path: readonly Buffer[],
): void {
  if (!(from >= 0 && from <= to)) throw new ProofInvalid(`A tree of ${to} leaves does not extend one of ${from}.`);
  const trees = `the trees of ${from} and ${to} leaves`;
  if (from === 0 || from === to) {
    const isSame = fromRoot.equals(from === 0 ? EMPTY_ROOT : toRoot);
    if (path.length || !isSame) throw new ProofInvalid(`Nothing shows that ${trees} are consistent.`);
    return;
  }
  let [at, last] = [from - 1, to - 1];
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  // The root of a complete smaller tree is a node of the larger one, and left out of the path.
  const [first, ...others] = at === 0 ? [fromRoot, ...path] : path;
  if (!first) throw new ProofInvalid(`The path between ${trees} is empty.`);
  let [older, newer] = [first, first];
  for (const node of others) {
    if (last === 0) throw new ProofInvalid(`The path between ${trees} is too long.`);
    if (at % 2 === 1 || at === last) {
      [older, newer] = [nodeHash(node, older), nodeHash(node, newer)];
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, half(last)];
    } else newer = nodeHash(newer, node);
    [at, last] = [half(at), half(last)];
  }
  if (last > 0) throw new ProofInvalid(`The path between ${trees} is too short.`);
  if (!older.equals(fromRoot))
    throw new ProofInvalid(`The first ${from} of ${to} leaves are others than those of the smaller tree.`);
  if (!newer.equals(toRoot))
    throw new ProofInvalid(`The path between ${trees} does not lead to the root of the larger one.`);
}

function half(value: number): number {
  return Math.floor(value / 2);
}
