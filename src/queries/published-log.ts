import { ControlError } from '../contract/errors.js';
import { requireSealing, type SealedHistory } from '../sealing/history.js';
import { type Checkpoint, parseCheckpoint } from '../tlog/checkpoint.js';
import { HASH_BYTES, leafHash } from '../tlog/hash.js';
import type { Nodes } from '../tlog/merkle.js';
import { splitNote } from '../tlog/note.js';
import { entryBundle, parseEntryBundle, TILE_WIDTH, type Tile, tilePath } from '../tlog/tile.js';
import { tileNodes } from '../tlog/tile-nodes.js';
import type { Tree, TreeStore } from '../tree-store/tree-store.js';

/** A tree as far as its published checkpoint covers it. Nothing behind that is shown to anybody. */
export interface PublishedLog extends Checkpoint {
  readonly tree: Tree;
  /** The signed checkpoint. */
  readonly note: string;
  readonly nodes: Nodes;
}

/**
 * The log of an organization, or of the service. Throws `not_integrated` before its first checkpoint, and `not_sealed` if
 * there will be none.
 */
export async function publishedLog(history: SealedHistory, org?: string): Promise<PublishedLog> {
  const { store } = history;
  const tree = org === undefined ? 'service' : (await store.head(org))?.number;
  const published = tree === undefined ? undefined : await store.published(tree);
  if (tree === undefined || !published) {
    requireSealing(history);
    const whose = org === undefined ? 'of the service' : `of organization ${org}`;
    throw new ControlError('not_integrated', `no checkpoint ${whose} is published yet; try again`);
  }
  const { note } = published;
  const checkpoint = parseCheckpoint(splitNote(note).text);
  const { size } = checkpoint;
  const nodes = tileNodes(size, async (tile) => {
    const hashes = await tileOf(store, { tree, size }, tile);
    if (hashes) return hashes;
    throw new Error(`the tree store lacks ${tilePath(tile)} of ${checkpoint.origin}`);
  });
  return { ...checkpoint, tree, note, nodes };
}

/** The bytes of a tile; undefined if the published tree does not have all of it. */
export async function tileOf(
  store: TreeStore,
  { tree, size }: Pick<PublishedLog, 'tree' | 'size'>,
  { level, index, width }: Tile,
): Promise<Buffer | undefined> {
  const height = level === 'entries' ? 0 : level;
  if (index * TILE_WIDTH + width > Math.floor(size / TILE_WIDTH ** height)) return undefined;
  if (height > 0) {
    return (await store.tile(tree, height, index))?.subarray(0, width * HASH_BYTES);
  }
  const bundle = await store.bundle(tree, index);
  const entries = bundle && parseEntryBundle(bundle).slice(0, width);
  if (!entries) return undefined;
  return level === 'entries' ? entryBundle(entries) : Buffer.concat(entries.map(leafHash));
}
