import { ControlError } from '../contract/errors.js';
import type { Offsets, Topic } from '../event-log/event-log.js';
import { BackgroundConnect } from '../platform/background-connect.js';
import type { Document, Outcome, StoredDocument, Write } from './document.js';
import type { KindName } from './kinds.js';
import type { NextGeneration, Progress, ReadModel, ScanRange, StrayPage, StrayRange } from './read-model.js';
import type { LastPage, LastQuery, Page, SearchQuery } from './search.js';

/**
 * A read model that may not be reachable yet. Until it is, everything asked of it is refused, and `missing` says why. For
 * one that can be reached and cannot be used, `opened` rejects.
 */
export class ConnectingReadModel implements ReadModel {
  private readonly opening: BackgroundConnect<ReadModel>;

  constructor(
    name: string,
    readonly refreshMs: ReadModel['refreshMs'],
    open: () => Promise<ReadModel>,
  ) {
    this.opening = new BackgroundConnect(name, open);
  }

  get opened(): Promise<ReadModel> {
    return this.opening.opened;
  }

  /** Why the read model cannot be used at the moment; undefined when it can. */
  get missing(): string | undefined {
    return this.opening.missing;
  }

  async get(kind: KindName, org: string, id: string): Promise<Document | undefined> {
    return this.now().get(kind, org, id);
  }

  async search(kind: KindName, query: SearchQuery): Promise<Page> {
    return this.now().search(kind, query);
  }

  async last(kind: KindName, query: LastQuery): Promise<LastPage> {
    return this.now().last(kind, query);
  }

  async count(kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
    return this.now().count(kind, org);
  }

  async apply(topic: Topic, writes: readonly Write[], progress: Offsets, from?: Offsets): Promise<Outcome[]> {
    return this.now().apply(topic, writes, progress, from);
  }

  async progress(topic: Topic): Promise<Progress> {
    return this.now().progress(topic);
  }

  async refresh(): Promise<number> {
    return this.now().refresh();
  }

  async sweep(signal: AbortSignal): Promise<number> {
    return this.now().sweep(signal);
  }

  async scan(kind: KindName, range: ScanRange): Promise<readonly StoredDocument[]> {
    return this.now().scan(kind, range);
  }

  async strays(kind: KindName, ends: Readonly<Partial<Record<Topic, Offsets>>>, range: StrayRange): Promise<StrayPage> {
    return this.now().strays(kind, ends, range);
  }

  async overwrite(write: Write): Promise<void> {
    return this.now().overwrite(write);
  }

  async remove(kind: KindName, document: StoredDocument): Promise<void> {
    return this.now().remove(kind, document);
  }

  async begin(): Promise<NextGeneration> {
    return this.now().begin();
  }

  close(): Promise<void> {
    return this.opening.close();
  }

  private now(): ReadModel {
    if (this.opening.store) return this.opening.store;
    throw new ControlError('read_model_unavailable', this.missing ?? 'the read model is closed');
  }
}
