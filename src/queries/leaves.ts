import type { Document, Position } from '../read-model/document.js';
import { commitmentOf, entryOf, saltOf } from '../tlog/leaf.js';
import { parseEntryBundle, TILE_WIDTH } from '../tlog/tile.js';
import { PLACE_BYTES, type Tree, type TreeStore } from '../tree-store/tree-store.js';

/** The leaf of an event. */
export interface Leaf {
  readonly index: number;
  /** What opens the leaf: only who may read the event gets it. */
  readonly salt: Buffer;
  readonly entry: Buffer;
}

const PAGE_RECORDS = 256;

/** Partitions whose last page is kept while events come in the order of the log. */
const KEPT_PAGES = 64;

/** Finds the leaves of one organization's events in its tree. */
export class Leaves {
  private readonly pages = new Map<string, Buffer | undefined>();
  private bundle: { readonly n: number; readonly entries: readonly Buffer[] } | undefined;

  constructor(
    private readonly store: TreeStore,
    private readonly tree: Tree,
    /** Of the published tree: what is behind it has no leaf yet. */
    private readonly size: number,
    private readonly secret: Buffer,
  ) {}

  /** `later`: only a later checkpoint covers it. Undefined if the trees have no leaf of this organization for the record. */
  async of({ place, source }: Pick<Document, 'place' | 'source'>): Promise<Leaf | 'later' | undefined> {
    const first = await this.firstOf(place);
    if (first === undefined) return undefined;
    if (first >= this.size) return 'later';
    if (place.topic === 'audit') return this.leaf(place, first, 0);
    // A change may be several events, at consecutive leaves. Which is which only the text says.
    for (let rank = 0; rank <= place.ordinal && first + rank < this.size; rank += 1) {
      const leaf = await this.leaf(place, first, rank);
      if (leaf.entry.equals(entryOf(place.time, commitmentOf(leaf.salt, Buffer.from(source))))) return leaf;
    }
    // An altered text is nobody's leaf: whoever verifies it finds that out.
    return this.leaf(place, first, 0);
  }

  private async leaf({ topic, partition, offset }: Position, first: number, rank: number): Promise<Leaf> {
    if (topic !== 'audit' && topic !== 'control') throw new Error(`records of ${topic} have no leaves`);
    const salt = saltOf(this.secret, { topic, partition, offset, rank });
    return { index: first + rank, salt, entry: await this.entry(first + rank) };
  }

  /** When the log took the leaf's record, in milliseconds. */
  async timeOf(index: number): Promise<number> {
    return Number((await this.entry(index)).readBigUInt64BE(1));
  }

  private async entry(index: number): Promise<Buffer> {
    const n = Math.floor(index / TILE_WIDTH);
    if (this.bundle?.n !== n) {
      const bundle = await this.store.bundle(this.tree, n);
      this.bundle = { n, entries: bundle ? parseEntryBundle(bundle) : [] };
    }
    const entry = this.bundle.entries[index % TILE_WIDTH];
    if (!entry) throw new Error(`the tree store lacks the entry of leaf ${index}`);
    return entry;
  }

  /** The first leaf of the record, if it gave this organization any. */
  async firstOf({
    topic,
    partition,
    offset,
  }: Pick<Position, 'topic' | 'partition' | 'offset'>): Promise<number | undefined> {
    const page = Math.floor(offset / PAGE_RECORDS);
    const key = `${topic}/${partition}/${page}`;
    if (!this.pages.has(key)) {
      const [oldest] = this.pages.keys();
      if (this.pages.size >= KEPT_PAGES && oldest !== undefined) this.pages.delete(oldest);
      this.pages.set(key, await this.store.page(topic, partition, page));
    }
    const bytes = this.pages.get(key);
    const at = (offset % PAGE_RECORDS) * PLACE_BYTES;
    if (!bytes || at + PLACE_BYTES > bytes.length) return undefined;
    return bytes.readUInt32BE(at) - 1 === this.tree ? bytes.readUIntBE(at + 4, 6) : undefined;
  }
}
