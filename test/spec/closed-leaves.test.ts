import { ClosedLeaves } from '../../src/queries/closed-leaves.js';
import { leafHash, nodeHash } from '../../src/tlog/hash.js';
import { perfectSubtrees } from '../../src/tlog/merkle.js';
import { parseSidecarLine } from '../../src/tlog/sidecar.js';

const leaf = (index: number): Buffer => leafHash(Buffer.from(`entry ${index}`));

function node(level: number, index: number): Buffer {
  return level === 0 ? leaf(index) : nodeHash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1));
}

async function runsOf(closed: ClosedLeaves, limit = 100) {
  const runs = [];
  for await (const lines of closed.pages(limit)) {
    expect(lines.length).toBeLessThanOrEqual(limit);
    for (const line of lines) runs.push(parseSidecarLine(line));
  }
  return runs.map((run) => (run.kind === 'closed' ? run : undefined));
}

test.each([1, 7, 8, 9, 64, 300])('every leaf of %i is opened or in one run', async (size) => {
  for (const isOpened of [() => false, () => true, (at: number) => at % 3 === 0, (at: number) => at % 17 < 9]) {
    const closed = new ClosedLeaves(size, node, 'filter');
    const left = new Set(Array.from({ length: size }, (_, index) => index));
    for (let index = size - 1; index >= 0; index -= 1) {
      if (!isOpened(index)) continue;
      closed.open(index);
      left.delete(index);
    }
    const runs = await runsOf(closed, 2);
    const inRuns = runs.flatMap((run) => Array.from({ length: run?.count ?? 0 }, (_, at) => (run?.from ?? 0) + at));
    expect(inRuns).toEqual([...left]);
    expect(runs.map((run) => run?.reasons)).toEqual(runs.map((run) => ({ filter: run?.count })));
  }
});

test('a run has the hashes of its fewest complete subtrees', async () => {
  const closed = new ClosedLeaves(100, node, 'context');
  for (const index of [0, 50]) closed.open(index);
  for (const run of await runsOf(closed)) {
    const subtrees = perfectSubtrees(run?.from ?? 0, run?.count ?? 0);
    expect(run?.hashes).toEqual(subtrees.map(({ level, index }) => node(level, index)));
  }
});

test('a run ends at the size of the earlier checkpoint', async () => {
  const closed = new ClosedLeaves(100, node, 'filter', 41);
  closed.open(60);
  const runs = await runsOf(closed);
  expect(runs.map((run) => [run?.from, run?.count])).toEqual([
    [0, 41],
    [41, 19],
    [61, 39],
  ]);
});

test('each leaf of a run is counted under its own reason', async () => {
  const closed = new ClosedLeaves(10, node, async (index) => (index < 4 ? 'expired' : 'unindexed'));
  expect((await runsOf(closed)).map((run) => run?.reasons)).toEqual([{ expired: 4, unindexed: 6 }]);
});
