import { setTimeout as delay } from 'node:timers/promises';
import { ControlError } from '../errors.js';
import { type Offsets, StoreUnusable, type Topic } from '../event-log/event-log.js';
import type { KindName } from './kinds.js';
import type {
  Document,
  LastPage,
  LastQuery,
  NextGeneration,
  Outcome,
  Page,
  Progress,
  ReadModel,
  ScanRange,
  SearchQuery,
  StoredDocument,
  Write,
} from './read-model.js';

const RETRY_MS = 1_000;

/**
 * A read model that may not be reachable yet: opened in the background, again and again until it is. Meanwhile everything
 * asked of it is refused, and `missing` says why. One that can be reached and cannot be used is not waited for: `opened`
 * rejects.
 */
export class LateReadModel implements ReadModel {
  private model: ReadModel | undefined;
  private reason = 'not tried yet';
  private readonly stop = new AbortController();
  readonly opened: Promise<ReadModel>;

  constructor(
    private readonly name: string,
    readonly refreshMs: ReadModel['refreshMs'],
    open: () => Promise<ReadModel>,
  ) {
    this.opened = this.keepOpening(open);
    this.opened.catch(() => undefined);
  }

  private async keepOpening(open: () => Promise<ReadModel>): Promise<ReadModel> {
    for (;;) {
      this.stop.signal.throwIfAborted();
      try {
        const model = await open();
        if (this.stop.signal.aborted) await model.close();
        this.model = model;
        return model;
      } catch (error) {
        if (error instanceof StoreUnusable) throw error;
        this.reason = (error as Error).message;
      }
      await delay(RETRY_MS, undefined, { signal: this.stop.signal });
    }
  }

  /** Why the read model cannot be used at the moment; undefined when it can. */
  get missing(): string | undefined {
    return this.model ? undefined : `${this.name} cannot be reached: ${this.reason}`;
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

  async apply(topic: Topic, writes: readonly Write[], progress: Offsets): Promise<Outcome[]> {
    return this.now().apply(topic, writes, progress);
  }

  async progress(topic: Topic): Promise<Progress> {
    return this.now().progress(topic);
  }

  async refresh(): Promise<void> {
    return this.now().refresh();
  }

  async sweep(signal: AbortSignal): Promise<number> {
    return this.now().sweep(signal);
  }

  async scan(kind: KindName, range: ScanRange): Promise<readonly StoredDocument[]> {
    return this.now().scan(kind, range);
  }

  async strays(
    kind: KindName,
    ends: Readonly<Partial<Record<Topic, Offsets>>>,
    limit: number,
  ): Promise<readonly StoredDocument[]> {
    return this.now().strays(kind, ends, limit);
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

  async close(): Promise<void> {
    this.stop.abort();
    await this.opened.catch(() => undefined);
    await this.model?.close();
  }

  private now(): ReadModel {
    if (this.model) return this.model;
    throw new ControlError('read_model_unavailable', this.missing ?? 'the read model is closed');
  }
}
