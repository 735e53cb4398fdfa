import { emptyFold } from '../control/fold.js';
import type { SkippedRecords } from '../control/skipped.js';
import type { EventLog } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import { Slices } from '../platform/slices.js';
import { parseCheckpoint } from '../tlog/checkpoint.js';
import { parseEntryBundle, TILE_WIDTH } from '../tlog/tile.js';
import { type AppliedCut, type OrgHead, type Tree, TreeDiverged, type TreeStore } from '../tree-store/tree-store.js';
import { type ChainState, type Cut, counted, originsOf } from './chain.js';
import { LeafMaker, type Sealable } from './leaves.js';
import { requireSame, requireThere } from './term.js';
import { type Sealing, Trees } from './trees.js';

export interface CheckParts {
  readonly log: EventLog;
  readonly store: TreeStore;
  readonly skipped?: SkippedRecords | undefined;
}

/** What was recomputed, and the first place where log and trees are not as they were sealed. */
export interface CheckReport {
  readonly kind: 'tlogcheck';
  readonly cuts: number;
  readonly records: number;
  readonly orgs: number;
  readonly divergence: string | null;
}

/**
 * Makes all trees anew from the log, by the recorded cuts, and compares them with what was recorded, stored and published.
 * Reads only. Resolves with the first divergence, or null. Needs no memory for leaves, but the state of `control`.
 */
export async function checkTrees(
  parts: CheckParts,
  tell: (phase: string, done: number, total: number) => void,
  signal: AbortSignal,
): Promise<CheckReport> {
  const check = new TreesCheck(parts, tell, signal);
  let divergence: string | null = null;
  try {
    await check.run();
  } catch (error) {
    if (!(error instanceof TreeDiverged)) throw error;
    divergence = error.message;
  }
  const { cuts, records, orgs } = check;
  return { kind: 'tlogcheck', cuts, records, orgs, divergence };
}

class TreesCheck {
  cuts = 0;
  records = 0;
  private readonly heads = new Map<string, OrgHead>();
  private leaves: LeafMaker | undefined;

  constructor(
    private readonly parts: CheckParts,
    private readonly tell: (phase: string, done: number, total: number) => void,
    private readonly signal: AbortSignal,
  ) {}

  get orgs(): number {
    return this.heads.size;
  }

  async run(): Promise<void> {
    const { log, store } = this.parts;
    const progress = await store.progress();
    if (!progress) return;
    const end = Math.min(progress.offset + 1, (await log.head('checkpoints'))[0] ?? 0);
    const total = Object.values(progress.next).reduce((sum, end) => sum + end, 0);
    let state: ChainState | undefined;
    let trees: Trees | undefined;
    for await (const { records } of readRange(log, 'checkpoints', {}, { 0: end }, this.signal)) {
      for (const record of records) {
        const found = counted(state, record);
        if (!found) continue;
        if (state?.epoch !== found.state.epoch) {
          trees = await Trees.load(this.scratch(), originsOf(found.state), { ...found.state, n: this.cuts });
        }
        if (found.record.kind === 'cut' && trees) {
          await this.recompute(found.record, state?.next ?? {}, found.state, trees);
          this.tell('recomputing', this.records, total);
        }
        state = found.state;
      }
    }
    await requireThere(log, { ...progress.next, 'checkpoints/0': progress.offset + 1 });
    if (state?.n !== progress.n || state.last !== progress.hash.toString('base64')) {
      throw new TreeDiverged(`the log has ${state?.n ?? 0} cuts, but cut ${progress.n} was applied`);
    }
  }

  private async recompute(
    cut: Cut,
    from: ChainState['next'],
    { genesis, next, root }: ChainState,
    trees: Trees,
  ): Promise<void> {
    await requireThere(this.parts.log, next);
    this.leaves ??= new LeafMaker(Buffer.from(genesis.secret, 'base64'), emptyFold(), this.parts.skipped);
    const { n, at, complete } = cut;
    const sealed = await trees.seal({ n, at, complete, next }, await this.covered(this.leaves, from, next));
    for (const head of sealed.changes.heads) this.heads.set(head.org, head);
    await this.compareCells(n, sealed.changes);
    requireSame(cut, sealed.roots);
    await this.comparePublished(n, root);
    this.cuts = n;
  }

  /** The records of a cut, in its order. */
  private async covered(leaves: LeafMaker, from: ChainState['next'], next: ChainState['next']): Promise<Sealing[]> {
    const sealings = new Map<string, { topic: string; partition: number; records: Sealable[] }>();
    const slices = new Slices();
    for (const topic of ['control', 'audit'] as const) {
      const [start, end] = [offsetsOf(topic, from), offsetsOf(topic, next)];
      for await (const { partition, records } of readRange(this.parts.log, topic, start, end, this.signal)) {
        const into = sealings.get(`${topic}/${partition}`) ?? { topic, partition, records: [] };
        sealings.set(`${topic}/${partition}`, into);
        for (const record of records) {
          into.records.push(leaves.of(record));
          await slices.pause();
        }
        this.records += records.length;
      }
    }
    const rank = ({ topic, partition }: Sealing) => (topic === 'control' ? -1 : partition);
    return [...sealings.values()].sort((one, other) => rank(one) - rank(other));
  }

  /** Of a cell that differs from what is stored, names the organization and the leaf. */
  private async compareCells(
    n: number,
    { bundles, tiles, places }: Pick<AppliedCut, 'bundles' | 'tiles' | 'places'>,
  ): Promise<void> {
    const { store } = this.parts;
    for (const cell of bundles) {
      const stored = await store.bundle(cell.tree, cell.n);
      if (isPrefix(cell.bytes, stored)) continue;
      const leaf = cell.n * TILE_WIDTH + firstDifference(cell.bytes, stored);
      throw new TreeDiverged(`cut ${n}: leaf ${leaf} of ${this.nameOf(cell.tree)} is not what the log gives`);
    }
    for (const { tree, level, n: index, bytes } of tiles) {
      if (isPrefix(bytes, await store.tile(tree, level, index))) continue;
      throw new TreeDiverged(`cut ${n}: tile ${level}/${index} of ${this.nameOf(tree)} is not what the log gives`);
    }
    for (const { topic, partition, page, bytes } of places) {
      if (isPrefix(bytes, await store.page(topic, partition, page))) continue;
      throw new TreeDiverged(`cut ${n}: places ${page} of ${topic}/${partition} are not what the log gives`);
    }
  }

  private async comparePublished(n: number, root: string): Promise<void> {
    const published = await this.parts.store.published('service');
    if (published?.cut !== n) return;
    const checkpoint = parseCheckpoint(published.note.slice(0, published.note.indexOf('\n\n') + 1));
    if (checkpoint.size === n && checkpoint.root.toString('base64') === root) return;
    throw new TreeDiverged(`cut ${n} was published as size ${checkpoint.size} with another root than the log gives`);
  }

  private nameOf(tree: Tree): string {
    if (tree === 'service') return 'the service log';
    for (const { org, number } of this.heads.values()) if (number === tree) return org;
    return `organization ${tree}`;
  }

  /** The heads as of the cut that was recomputed last, and the cells that are stored: each begins with what these heads need. */
  private scratch(): TreeStore {
    const { heads } = this;
    return Object.assign(Object.create(this.parts.store) as TreeStore, {
      bundle: (tree: Tree, n: number) => this.parts.store.bundle(tree, n),
      tile: (tree: Tree, level: number, n: number) => this.parts.store.tile(tree, level, n),
      page: (topic: string, partition: number, page: number) => this.parts.store.page(topic, partition, page),
      head: async (org: string) => heads.get(org),
      heads: async function* () {
        yield* [...heads.values()].sort((one, other) => one.number - other.number);
      },
    });
  }
}

function offsetsOf(topic: string, next: ChainState['next']): Record<number, number> {
  const offsets: Record<number, number> = {};
  for (const [name, end] of Object.entries(next)) {
    const [of, partition] = name.split('/');
    if (of === topic) offsets[Number(partition)] = end;
  }
  return offsets;
}

function isPrefix(bytes: Uint8Array, stored: Uint8Array | undefined): boolean {
  return stored !== undefined && Buffer.compare(bytes, stored.subarray(0, bytes.byteLength)) === 0;
}

/** The first entry of a bundle that differs. */
function firstDifference(bytes: Uint8Array, stored: Buffer = Buffer.alloc(0)): number {
  const [expected, found] = [parseEntryBundle(Buffer.from(bytes)), parseEntryBundle(stored)];
  return expected.findIndex((entry, at) => !found[at]?.equals(entry));
}
