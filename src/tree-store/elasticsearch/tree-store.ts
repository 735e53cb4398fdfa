import { ControlError } from '../../contract/errors.js';
import {
  type AppliedCut,
  type OrgHead,
  type Progress,
  type PublishedNote,
  type Tree,
  TreeDiverged,
  type TreeStore,
  TreesLost,
} from '../tree-store.js';
import {
  Ahead,
  asOf,
  type CellDocument,
  type Change,
  cellId,
  changesOf,
  type HeadDocument,
  headId,
  headOf,
  type NoteDocument,
  noteChange,
  noteId,
  type OrgDocument,
  orgId,
  PROGRESS,
  type ProgressDocument,
  pageId,
} from './documents.js';
import { type Found, TreeIndex, type TreeIndexOptions, type Write } from './tree-index.js';

interface ElasticsearchTreeStoreOptions extends TreeIndexOptions {
  /**
   * Makes this a store of readers alone: whether the log has cuts. Then trees that nobody published are being made again, and
   * are not new.
   */
  readonly hasCuts?: () => Promise<boolean>;
}

const MOST_ATTEMPTS = 20;
const HEADS_AT_ONCE = 250;

/**
 * The trees in one index of Elasticsearch, shared by any number of processes. Every read is by identifier, so nothing waits
 * for a refresh. Every write requires the version that it was made over, so a late writer replaces nothing.
 */
export class ElasticsearchTreeStore implements TreeStore {
  private readonly index: TreeIndex;
  /** What this process has seen stored: less than that was lost. */
  private seen = { applied: 0, published: 0 };

  constructor(private readonly options: ElasticsearchTreeStoreOptions) {
    this.index = new TreeIndex(options);
  }

  /** Makes the index if there is none, unless this store only reads. Whatever was lost before is forgotten. */
  async progress(): Promise<Progress | undefined> {
    if (!this.options.hasCuts) await this.index.prepare();
    const stored = await this.stored<ProgressDocument>(PROGRESS);
    this.seen = { applied: stored?.document.n ?? 0, published: 0 };
    if (!stored) return undefined;
    const { hash, ...rest } = stored.document;
    return { ...rest, log: await this.options.log(), hash: Buffer.from(hash, 'base64') };
  }

  async apply(cut: AppliedCut): Promise<void> {
    if (this.seen.applied === 0) await this.index.prepare();
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const last = await this.lastApplied();
      const applied = last?.document.n ?? 0;
      const isAgain = cut.n === applied && last?.document.hash === cut.hash.toString('base64');
      if (cut.n > applied + 1 || (cut.n === applied && !isAgain)) {
        throw new TreeDiverged(`cut ${cut.n} does not follow cut ${applied}`);
      }
      const isPast = cut.n <= applied;
      const writes = await this.writesFor(changesOf(cut, applied), isPast, applied);
      if (writes && (await this.index.write(writes)) && (isPast || (await this.move(cut, last)))) return;
    }
    throw contended();
  }

  /** The writes that carry the changes out; undefined if another writer came first. */
  private async writesFor(changes: readonly Change[], isPast: boolean, applied: number): Promise<Write[] | undefined> {
    const writes: Write[] = [];
    for (let start = 0; start < changes.length; start += CHANGES_AT_ONCE) {
      const part = changes.slice(start, start + CHANGES_AT_ONCE);
      const stored = await this.index.read(part.map(({ id }) => id));
      for (const { id, over } of part) {
        const found = stored.get(id);
        try {
          const document = over(found?.document);
          if (document) writes.push({ id, document, over: found?.version });
        } catch (error) {
          if (!(error instanceof Ahead)) throw error;
          if (isPast) continue;
          const now = (await this.lastApplied())?.document.n ?? 0;
          if (now === applied) throw new TreeDiverged(error.message);
          return undefined;
        }
      }
    }
    return writes;
  }

  private async move(cut: AppliedCut, last: Found | undefined): Promise<boolean> {
    const { n, hash, next, offset, memo } = cut;
    const document: ProgressDocument = { n, hash: hash.toString('base64'), next, offset, memo };
    const isMoved = await this.index.write([{ id: PROGRESS, document, over: last?.version }]);
    if (isMoved) this.seen.applied = n;
    return isMoved;
  }

  private async lastApplied(): Promise<Found<ProgressDocument> | undefined> {
    const stored = await this.stored<ProgressDocument>(PROGRESS);
    this.appliedIn(stored);
    return stored;
  }

  private appliedIn(progress: Found<ProgressDocument> | undefined): number {
    const applied = progress?.document.n ?? 0;
    if (applied < this.seen.applied) throw new TreesLost(`the trees had cut ${this.seen.applied}, and have ${applied}`);
    return applied;
  }

  async *heads(): AsyncGenerator<OrgHead> {
    for (let from = 0; ; from += HEADS_AT_ONCE) {
      const numbers = Array.from({ length: HEADS_AT_ONCE }, (_, at) => orgId(from + at));
      const orgs = await this.index.read(numbers);
      const names = numbers.flatMap((id) => (orgs.get(id)?.document as OrgDocument | undefined)?.org ?? []);
      for (const head of await this.headsOf(names)) if (head) yield head;
      if (names.length < HEADS_AT_ONCE) return;
    }
  }

  async head(org: string): Promise<OrgHead | undefined> {
    return (await this.headsOf([org]))[0];
  }

  private async headsOf(orgs: readonly string[]): Promise<(OrgHead | undefined)[]> {
    const stored = await this.index.read([PROGRESS, ...orgs.map(headId)]);
    const applied = this.appliedIn(stored.get(PROGRESS) as Found<ProgressDocument> | undefined);
    return orgs.map((org) => {
      const document = stored.get(headId(org))?.document as HeadDocument | undefined;
      return document && headOf(org, document, applied);
    });
  }

  bundle(tree: Tree, n: number): Promise<Buffer | undefined> {
    return this.bytes(cellId(tree, 0, n));
  }

  tile(tree: Tree, level: number, n: number): Promise<Buffer | undefined> {
    return this.bytes(cellId(tree, level, n));
  }

  page(topic: string, partition: number, page: number): Promise<Buffer | undefined> {
    return this.bytes(pageId(topic, partition, page));
  }

  /** The note of the service log is written last: those of the others show nothing before it does. */
  async publish(cut: number, notes: ReadonlyMap<Tree, string>): Promise<void> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const served = (await this.stored<NoteDocument>(noteId('service')))?.document.now.cut ?? 0;
      if (served > cut) return;
      const [last, others] = [notes.get('service'), [...notes].filter(([tree]) => tree !== 'service')];
      const changes = others.map(([tree, note]) => noteChange(tree, { note, cut }, served));
      if (!(await this.carryOut(changes))) continue;
      if (last === undefined || (await this.carryOut([noteChange('service', { note: last, cut }, served)]))) return;
    }
    throw contended();
  }

  private async carryOut(changes: readonly Change[]): Promise<boolean> {
    const writes = await this.writesFor(changes, false, 0);
    return writes !== undefined && this.index.write(writes);
  }

  /** Rejects while trees that were lost are made again: a history that is shorter than one that was seen is none. */
  async published(tree: Tree): Promise<PublishedNote | undefined> {
    const stored = await this.index.read([noteId('service'), noteId(tree)]).catch(nothingIfLost);
    const service = stored.get(noteId('service'))?.document as NoteDocument | undefined;
    const cut = service?.now.cut ?? 0;
    if (cut < this.seen.published || (cut === 0 && (await this.options.hasCuts?.()))) {
      throw new TreesLost('the trees are being made from the log again');
    }
    this.seen.published = cut;
    const note = stored.get(noteId(tree))?.document as NoteDocument | undefined;
    return note && asOf(note, cut);
  }

  async close(): Promise<void> {}

  /** Gives all trees another name, under which nobody uses them; resolves with it, or undefined if there are none. */
  setAside(): Promise<string | undefined> {
    return this.index.setAside();
  }

  private async bytes(id: string): Promise<Buffer | undefined> {
    const stored = await this.stored<CellDocument>(id);
    return stored && Buffer.from(stored.document.bytes, 'base64');
  }

  private async stored<Document extends object>(id: string): Promise<Found<Document> | undefined> {
    return (await this.index.read([id])).get(id) as Found<Document> | undefined;
  }
}

/** Whether it is lost, or was never made, the caller says. */
function nothingIfLost(error: unknown): ReadonlyMap<string, Found> {
  if (error instanceof TreesLost) return new Map();
  throw error;
}

/** The bytes that are stored of so many cells are read at once. */
const CHANGES_AT_ONCE = 256;

function contended(): ControlError {
  return new ControlError('read_model_unavailable', 'other processes kept changing the trees over the log');
}
