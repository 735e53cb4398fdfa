import {
  type AppliedCut,
  type OrgHead,
  type Progress,
  type PublishedNote,
  type Tree,
  TreeDiverged,
} from '../tree-store.js';

/** One field of base64: Elasticsearch neither parses nor indexes it. */
export interface CellDocument {
  readonly bytes: string;
}

/** Which organization has a number. */
export interface OrgDocument {
  readonly org: string;
}

/**
 * A value as of the last cut that changed it, which may not count yet for readers, and the one before. A cut, or a
 * publication, of which only a part was stored thus shows nothing.
 */
export interface Dated<Value extends { readonly cut: number }> {
  readonly now: Value;
  readonly before?: Value | undefined;
}

type HeadValue = Omit<OrgHead, 'org' | 'number' | 'root'> & { readonly root: string };
export type HeadDocument = Dated<HeadValue> & { readonly number: number };
export type NoteDocument = Dated<PublishedNote>;
export type ProgressDocument = Omit<Progress, 'hash' | 'log'> & { readonly hash: string };

/** What a writer wants of one document. */
export interface Change {
  readonly id: string;
  /** What to store in place of what is stored; undefined if nothing. Throws `TreeDiverged`, or `Ahead`. */
  over(stored: object | undefined): object | undefined;
}

/** What is stored is of a later cut than what was to be stored: another writer came first. */
export class Ahead extends Error {
  override readonly name = 'Ahead';
}

export const PROGRESS = 'progress';
export const cellId = (tree: Tree, level: number, n: number) =>
  level === 0 ? `e/${tree}/${n}` : `t/${tree}/${level}/${n}`;
export const pageId = (topic: string, partition: number, page: number) => `p/${topic}/${partition}/${page}`;
export const headId = (org: string) => `h/${org}`;
export const orgId = (number: number) => `o/${number}`;
export const noteId = (tree: Tree) => `n/${tree}`;

/** As of the cut. What came before is always of a cut that counts. */
export function asOf<Value extends { readonly cut: number }>(
  { now, before }: Dated<Value>,
  cut: number,
): Value | undefined {
  return now.cut <= cut ? now : before;
}

/** All that a cut changes but the progress, over a store that has the cut `applied`. */
export function changesOf(cut: AppliedCut, applied: number): Change[] {
  return [
    ...cut.bundles.map(({ tree, n, bytes }) => cellChange(cellId(tree, 0, n), bytes)),
    ...cut.tiles.map(({ tree, level, n, bytes }) => cellChange(cellId(tree, level, n), bytes)),
    ...cut.places.map(({ topic, partition, page, bytes }) => cellChange(pageId(topic, partition, page), bytes)),
    ...cut.heads.map(orgChange),
    ...cut.heads.map((head) => headChange(head, applied)),
  ];
}

function cellChange(id: string, bytes: Uint8Array): Change {
  return {
    id,
    over(stored: CellDocument | undefined) {
      const old = Buffer.from(stored?.bytes ?? '', 'base64');
      const common = Math.min(old.length, bytes.length);
      if (Buffer.compare(old.subarray(0, common), bytes.subarray(0, common)) !== 0) {
        throw new TreeDiverged(`${id} is not as it was`);
      }
      if (old.length > bytes.length) throw new Ahead(`${id} has ${old.length} bytes, not ${bytes.length}`);
      return stored && old.length === bytes.length ? undefined : { bytes: base64(bytes) };
    },
  };
}

function base64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

function orgChange({ number, org }: OrgHead): Change {
  return {
    id: orgId(number),
    over(stored: OrgDocument | undefined) {
      if (stored && stored.org !== org) throw new TreeDiverged(`organization ${number} is ${stored.org}, not ${org}`);
      return stored ? undefined : { org };
    },
  };
}

function headChange({ org, number, root, ...rest }: OrgHead, applied: number): Change {
  const now: HeadValue = { ...rest, root: root.toString('base64') };
  return {
    id: headId(org),
    over(stored: HeadDocument | undefined) {
      if (!stored) return { number, now };
      const old = stored.now;
      if (stored.number !== number) throw new TreeDiverged(`${org} is organization ${stored.number}, not ${number}`);
      if (old.cut > now.cut) throw new Ahead(`${org} is of cut ${old.cut}, not ${now.cut}`);
      const isSame = old.size === now.size && old.root === now.root;
      if (old.cut === now.cut && isSame) return undefined;
      if (old.cut === now.cut || old.size > now.size) {
        throw new TreeDiverged(`${org} has size ${old.size} as of cut ${old.cut}, not ${now.size}`);
      }
      return { number, now, before: asOf(stored, applied) };
    },
  };
}

/** Replaces no note of a later cut. `served` is the last published cut. */
export function noteChange(tree: Tree, now: PublishedNote, served: number): Change {
  return {
    id: noteId(tree),
    over(stored: NoteDocument | undefined) {
      if (!stored) return { now };
      if (stored.now.cut > now.cut || (stored.now.cut === now.cut && stored.now.note === now.note)) return undefined;
      return { now, before: stored.now.cut < now.cut ? asOf(stored, served) : stored.before };
    },
  };
}

export function headOf(org: string, { number, ...dated }: HeadDocument, applied: number): OrgHead | undefined {
  const value = asOf(dated, applied);
  return value && { org, number, ...value, root: Buffer.from(value.root, 'base64') };
}
