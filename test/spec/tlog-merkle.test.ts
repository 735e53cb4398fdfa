import { createHash } from 'node:crypto';
import { EMPTY_ROOT, leafHash, nodeHash } from '../../src/tlog/hash.js';
import {
  CompactRange,
  consistencyPath,
  inclusionPath,
  type Nodes,
  ProofInvalid,
  perfectSubtrees,
  rootAt,
  verifyConsistency,
  verifyInclusion,
} from '../../src/tlog/merkle.js';
import { seeded } from '../property/arbitraries.js';
import fc from '../support/fast-check.js';
import { grown, VECTORS } from '../support/tlog-vectors.js';

const { sizes, pairs } = VECTORS;

const small = grown(sizes.length - 1);

function digest(hashes: readonly Buffer[]): string {
  return createHash('sha256').update(Buffer.concat(hashes)).digest('base64');
}

const text = (hash: Buffer) => hash.toString('base64');

test('every tree of up to 300 leaves has the root, the inclusion and the consistency paths of x/mod/sumdb/tlog', async () => {
  expect(sizes).toHaveLength(301);
  for (const { size, root, inclusion, consistency } of sizes) {
    expect(text(await rootAt(size, small.nodes))).toBe(root);
    const inclusions: Buffer[] = [];
    const consistencies: Buffer[] = [];
    for (let index = 0; index < size; index += 1) {
      inclusions.push(...(await inclusionPath(index, size, small.nodes)));
      consistencies.push(...(await consistencyPath(index + 1, size, small.nodes)));
    }
    expect([digest(inclusions), digest(consistencies)]).toEqual([inclusion, consistency]);
  }
});

test('every path in the trees of up to 300 leaves verifies', async () => {
  const roots = sizes.map(({ root }) => Buffer.from(root, 'base64'));
  for (const [size, root] of roots.entries()) {
    for (let index = 0; index < size; index += size > 64 ? 7 : 1) {
      const leaf = await small.nodes(0, index);
      verifyInclusion(leaf, index, size, await inclusionPath(index, size, small.nodes), root);
    }
    for (const [from, fromRoot] of roots.slice(0, size + 1).entries()) {
      verifyConsistency(from, fromRoot, size, root, await consistencyPath(from, size, small.nodes));
    }
  }
});

test('200 pairs of trees of up to 1,000,000 leaves have the paths of x/mod/sumdb/tlog', async () => {
  expect(pairs).toHaveLength(200);
  const large = grown(Math.max(...pairs.map(({ size }) => size)));
  for (const { size, root, index, inclusion, from, fromRoot, consistency } of pairs) {
    expect(text(await rootAt(size, large.nodes))).toBe(root);
    expect(text(await rootAt(from, large.nodes))).toBe(fromRoot);
    const [path, between] = [
      await inclusionPath(index, size, large.nodes),
      await consistencyPath(from, size, large.nodes),
    ];
    expect(digest(path)).toBe(inclusion);
    expect(digest(between)).toBe(consistency);
    const [to, earlier] = [Buffer.from(root, 'base64'), Buffer.from(fromRoot, 'base64')];
    verifyInclusion(await large.nodes(0, index), index, size, path, to);
    verifyConsistency(from, earlier, size, to, between);
  }
});

test('a compact range has the root of its leaves at each size, and goes on from its nodes', async () => {
  let range = new CompactRange();
  expect(range.root()).toEqual(EMPTY_ROOT);
  for (const { size, root } of sizes) {
    expect([range.size, text(range.root())]).toEqual([size, root]);
    range = new CompactRange(range.size, range.nodes);
    if (size < small.size) range.append(await small.nodes(0, size));
  }
});

test('a compact range reports every subtree once, when it is complete', () => {
  const reported = new Map<string, string>();
  const range = new CompactRange();
  for (let index = 0; index < 21; index += 1) {
    range.append(leafHash(Buffer.of(index)), (level, at, hash) => {
      expect(reported.has(`${level}/${at}`)).toBe(false);
      expect((at + 1) * 2 ** level).toBe(index + 1);
      reported.set(`${level}/${at}`, text(hash));
    });
  }
  expect(reported.size).toBe(21 + 10 + 5 + 2 + 1);
});

test('a compact range built of subtrees has the root of one built of leaves', () => {
  const trees = fc.tuple(fc.nat({ max: 300 }), fc.nat({ max: 300 })).filter(([from, to]) => from <= to);
  fc.assert(
    fc.property(trees, ([from, to]) => {
      const range = new CompactRange();
      for (const { level, index } of [...perfectSubtrees(0, from), ...perfectSubtrees(from, to - from)]) {
        range.appendSubtree(level, small.node(level, index));
      }
      expect(text(range.root())).toBe(sizes[to]?.root);
    }),
    seeded(500),
  );
});

test('a compact range takes no subtree where none begins', () => {
  const range = new CompactRange();
  range.append(EMPTY_ROOT);
  expect(() => range.appendSubtree(1, EMPTY_ROOT)).toThrow('no subtree of level 1 begins at leaf 1');
  expect(() => new CompactRange(3, [EMPTY_ROOT])).toThrow('1 nodes for 3 leaves');
});

/** Changes that a proof can have: a bit of a hash, one hash less, one more, two in the other order. */
const changes = fc.oneof(
  fc.record({ kind: fc.constant('bit'), at: fc.nat(), bit: fc.nat({ max: 255 }) }),
  fc.record({ kind: fc.constantFrom('drop', 'repeat', 'swap'), at: fc.nat(), bit: fc.constant(0) }),
);

function changed(path: readonly Buffer[], { kind, at, bit }: { kind: string; at: number; bit: number }): Buffer[] {
  const index = at % path.length;
  if (kind === 'drop') return path.filter((_, position) => position !== index);
  if (kind === 'repeat') return [...path.slice(0, index), path[index] ?? EMPTY_ROOT, ...path.slice(index)];
  const copy = [...path];
  if (kind === 'bit') copy[index] = flipped(path[index] ?? EMPTY_ROOT, bit);
  else
    [copy[index], copy[(index + 1) % path.length]] = [
      path[(index + 1) % path.length] ?? EMPTY_ROOT,
      path[index] ?? EMPTY_ROOT,
    ];
  return copy;
}

function flipped(hash: Buffer, bit: number): Buffer {
  const copy = Buffer.from(hash);
  const byte = bit >> 3;
  copy[byte] = (copy[byte] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

const isSame = (a: readonly Buffer[], b: readonly Buffer[]) => Buffer.concat(a).equals(Buffer.concat(b));

test('a changed inclusion path, leaf, index, size or root is refused', async () => {
  const cases = fc.record({
    size: fc.integer({ min: 2, max: 300 }),
    at: fc.nat(),
    change: changes,
    bit: fc.nat({ max: 255 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ size, at, change, bit }) => {
      const index = at % size;
      const [leaf, root] = [await small.nodes(0, index), await rootAt(size, small.nodes)];
      const path = await inclusionPath(index, size, small.nodes);
      const refused = (...proof: Parameters<typeof verifyInclusion>) =>
        expect(() => verifyInclusion(...proof)).toThrow(ProofInvalid);
      const other = changed(path, change);
      if (!isSame(other, path)) refused(leaf, index, size, other, root);
      refused(flipped(leaf, bit), index, size, path, root);
      refused(leaf, index, size, path, flipped(root, bit));
      refused(leaf, (index + 1) % size, size, path, root);
      refused(leaf, index, index, path, root);
      // A node is no leaf: the root of the first two leaves, and the path without the first hash.
      refused(nodeHash(leaf, path[0] ?? leaf), index, size, path, root);
    }),
    seeded(1_000),
  );
});

test('a changed consistency path, size or root is refused', async () => {
  const cases = fc.record({
    to: fc.integer({ min: 2, max: 300 }),
    at: fc.nat(),
    change: changes,
    bit: fc.nat({ max: 255 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ to, at, change, bit }) => {
      const from = 1 + (at % (to - 1));
      const [fromRoot, toRoot] = [await rootAt(from, small.nodes), await rootAt(to, small.nodes)];
      const path = await consistencyPath(from, to, small.nodes);
      const refused = (...proof: Parameters<typeof verifyConsistency>) =>
        expect(() => verifyConsistency(...proof)).toThrow(ProofInvalid);
      const other = changed(path, change);
      if (!isSame(other, path)) refused(from, fromRoot, to, toRoot, other);
      refused(from, flipped(fromRoot, bit), to, toRoot, path);
      refused(from, fromRoot, to, flipped(toRoot, bit), path);
      refused(to + 1, fromRoot, to, toRoot, path);
      refused(from, fromRoot, from, toRoot, []);
      refused(0, fromRoot, to, toRoot, []);
      refused(to, fromRoot, to, toRoot, []);
    }),
    seeded(1_000),
  );
});

test('there is no path for a leaf or a tree that does not exist', async () => {
  const nodes: Nodes = () => EMPTY_ROOT;
  expect(() => inclusionPath(3, 3, nodes)).toThrow('no leaf 3 in a tree of 3');
  expect(() => consistencyPath(4, 3, nodes)).toThrow('a tree of 3 does not extend one of 4');
});
