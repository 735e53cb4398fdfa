import { Slices } from '../platform/slices.js';
import { checkpointText } from '../tlog/checkpoint.js';
import { leafHash, sha256 } from '../tlog/hash.js';
import { nextHash, parseServiceEntry, serviceEntryText } from '../tlog/service-entry.js';
import { type AppliedCut, type OrgHead, PLACE_BYTES, TreeDiverged, type TreeStore } from '../tree-store/tree-store.js';
import type { ChainState, Cut } from './chain.js';
import { Directory } from './directory.js';
import { GrowingTree } from './growing-tree.js';
import type { Origins } from './history.js';
import { serviceEntry } from './known-history.js';
import type { Sealable } from './leaves.js';

/** Organizations whose trees stay in memory between two cuts. */
const KEPT_TREES = 2_000;
/** Records of a page of places. */
const PAGE = 256;
const RECORDS_A_STEP = 16;

/** What is to be sealed of one partition, in order. */
export interface Sealing {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly Sealable[];
}

/** When a cut is made, and where it ends. */
export interface CutPlan {
  readonly n: number;
  readonly at: number;
  readonly complete: number;
  /** Of all partitions. */
  readonly next: Readonly<Record<string, number>>;
}

/** What a cut records of the trees. */
type CutRoots = Pick<Cut, 'orgs' | 'directory' | 'digest' | 'unreadable' | 'size' | 'root'>;

export interface SealedCut {
  readonly roots: CutRoots;
  readonly changes: Pick<AppliedCut, 'heads' | 'bundles' | 'tiles' | 'places'>;
}

interface OrgTree {
  readonly number: number;
  readonly tree: GrowingTree;
}

/**
 * All trees, up to the last sealed cut: the directory and the growing end of each. A cut changes them at once, before it is
 * stored or even counts; if it does not, they must be loaded anew.
 */
export class Trees {
  private readonly orgs = new Map<string, OrgTree>();
  private readonly changed = new Map<string, OrgTree>();

  private constructor(
    private readonly store: TreeStore,
    readonly origins: Origins,
    readonly directory: Directory,
    private readonly service: GrowingTree,
  ) {}

  /** As of the last cut that the store has. Throws `TreeDiverged` if what is stored is not what that cut recorded. */
  static async load(
    store: TreeStore,
    origins: Origins,
    { n, root, since }: Pick<ChainState, 'n' | 'root' | 'since'>,
  ): Promise<Trees> {
    const directory = new Directory();
    const slices = new Slices();
    for await (const head of store.heads()) {
      directory.set(head.number, headLeaf(origins, head));
      await slices.pause();
    }
    const service = await GrowingTree.load(store, 'service', n);
    if (n > 0) {
      const recorded = parseServiceEntry(await serviceEntry(store, n));
      requireRoot('of the service log', service.root(), Buffer.from(root, 'base64'));
      // The first cut of another epoch follows one with other names.
      if (n > since) requireRoot('over all organizations', directory.root(), recorded.directory);
    }
    return new Trees(store, origins, directory, service);
  }

  /** The same records always give the same, whatever else the process does. Lets the event loop go on meanwhile. */
  async seal({ n, at, complete, next }: CutPlan, partitions: readonly Sealing[]): Promise<SealedCut> {
    const slices = new Slices();
    const places: AppliedCut['places'][number][] = [];
    const digests: Buffer[] = [];
    let unreadable = 0;
    for (const partition of partitions) {
      places.push(...(await this.addPartition(partition, slices)));
      for (const record of partition.records) {
        if (record.digest) digests.push(record.digest);
        if (record.isUnreadable) unreadable += 1;
      }
    }
    const heads = await this.changedHeads({ cut: n, at, complete }, slices);
    const [digest, directory] = [sha256(Buffer.concat(digests)), this.directory.root()];
    const orgs = this.directory.size;
    const entry = serviceEntryText({ n, at, orgs, directory, next: nextHash(next), digest, complete });
    this.service.append(Buffer.from(entry));
    const { size } = this.service;
    const changes = { heads, ...(await this.takeCells(slices)), places };
    const text = (hash: Buffer) => hash.toString('base64');
    const root = text(this.service.root());
    return { roots: { orgs, directory: text(directory), digest: text(digest), unreadable, size, root }, changes };
  }

  /** Returns the pages that have changed. */
  private async addPartition({ topic, partition, records }: Sealing, slices: Slices): Promise<AppliedCut['places']> {
    const pages: Page[] = [];
    let page: Page | undefined;
    for (const { offset, leaves } of records) {
      const number = Math.floor(offset / PAGE);
      if (page?.number !== number) {
        page = new Page(number, await this.store.page(topic, partition, number));
        pages.push(page);
      }
      const [first] = leaves;
      const of = first && (this.changed.get(first.org) ?? (await this.treeOf(first.org)));
      page.put(offset, of);
      for (const { org, entry } of leaves) {
        const { tree } = this.changed.get(org) ?? (await this.treeOf(org));
        tree.append(entry);
      }
      if (offset % RECORDS_A_STEP === 0) await slices.pause();
    }
    return pages.map(({ number, bytes }) => ({ topic, partition, page: number, bytes }));
  }

  private async treeOf(org: string): Promise<OrgTree> {
    const found = this.orgs.get(org) ?? (await this.loaded(org));
    this.orgs.delete(org);
    this.orgs.set(org, found);
    this.changed.set(org, found);
    return found;
  }

  /** A new organization gets the next number. */
  private async loaded(org: string): Promise<OrgTree> {
    const head = await this.store.head(org);
    if (head) {
      const tree = await GrowingTree.load(this.store, head.number, head.size);
      requireRoot(`of organization ${head.number}`, tree.root(), head.root);
      return { number: head.number, tree };
    }
    const number = this.directory.size;
    // Its leaf is set when the cut is complete.
    this.directory.set(number, sha256(Buffer.alloc(0)));
    return { number, tree: new GrowingTree(number) };
  }

  private async changedHeads(cut: Pick<OrgHead, 'cut' | 'at' | 'complete'>, slices: Slices): Promise<OrgHead[]> {
    const heads: OrgHead[] = [];
    for (const [org, { number, tree }] of this.changed) {
      const head = { org, number, size: tree.size, root: tree.root(), ...cut };
      this.directory.set(number, headLeaf(this.origins, head));
      heads.push(head);
      await slices.pause();
    }
    return heads;
  }

  private async takeCells(slices: Slices): Promise<Pick<AppliedCut, 'bundles' | 'tiles'>> {
    const trees = [this.service, ...Array.from(this.changed.values(), ({ tree }) => tree)];
    const cells: Pick<AppliedCut, 'bundles' | 'tiles'>[] = [];
    for (const tree of trees) {
      cells.push(tree.takeCells());
      await slices.pause();
    }
    this.changed.clear();
    for (const [org] of this.orgs) if (this.orgs.size > KEPT_TREES) this.orgs.delete(org);
    return { bundles: cells.flatMap(({ bundles }) => bundles), tiles: cells.flatMap(({ tiles }) => tiles) };
  }
}

function requireRoot(of: string, found: Buffer, recorded: Buffer): void {
  if (found.equals(recorded)) return;
  throw new TreeDiverged(
    `the stored tree ${of} is not as it was sealed: it was altered. Remove the stored trees to have them made from the log again`,
  );
}

/** The text of an organization's checkpoint: what the directory commits to. */
export function headText(origins: Origins, { org, size, root, cut, complete, at }: OrgHead): string {
  return checkpointText({ origin: origins.org(org), size, root, cut: { n: cut, complete, at } });
}

export function headLeaf(origins: Origins, head: OrgHead): Buffer {
  return leafHash(Buffer.from(headText(origins, head)));
}

/** Places of 256 records: where the first leaf of each is. */
class Page {
  private readonly places = Buffer.alloc(PAGE * PLACE_BYTES);
  private end: number;

  constructor(
    readonly number: number,
    stored: Uint8Array = Buffer.alloc(0),
  ) {
    this.places.set(stored);
    this.end = stored.byteLength;
  }

  get bytes(): Uint8Array {
    return this.places.subarray(0, this.end);
  }

  /** Places that are left out stay zero: there are no such records. */
  put(offset: number, of: OrgTree | undefined): void {
    const at = (offset % PAGE) * PLACE_BYTES;
    if (of) {
      this.places.writeUInt32BE(of.number + 1, at);
      this.places.writeUIntBE(of.tree.size, at + 4, 6);
    }
    this.end = at + PLACE_BYTES;
  }
}
