import type { Logger } from 'pino';
import { ControlError } from '../../contract/errors.js';
import { type Offsets, type Topic } from '../../event-log/event-log.js';
import { type Clock, systemClock } from '../../platform/clock.js';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { isAdded, KINDS_VERSION, neededBy } from '../kinds.js';
import { GenerationLost, type NextGeneration, type Progress, type ReadModel } from '../read-model.js';
import { KEEP_ALL, type Retention } from '../retention.js';
import { checkLast, checkSearch, type Filter } from '../search.js';
import { Catalog } from './catalog.js';
import { Elasticsearch, type ElasticsearchConnection, ElasticsearchFault, isFault } from './client.js';
import { ElasticsearchGeneration } from './generation.js';
import { type Identity, isUsable, kindsIn, MAPPING_VERSION, unusable } from './mapping.js';
import { Names } from './names.js';
import { type Reader, Served, steadyRead } from './reader.js';
import { lastReceived, searchReceived } from './received.js';
import { countByValue, getDocument, searchByField } from './search.js';
import { type Nexts, nextsOf } from './state.js';
import { Succession } from './succession.js';

export interface ElasticsearchReadModelOptions extends ElasticsearchConnection {
  /** The name of every index and alias begins with it, so that several services can share a cluster. */
  readonly indexPrefix?: string;
  /** The log that the documents come from. */
  readonly logId: string;
  /**
   * Where that log ends. A read model that is created because there is none is read only once it has come this far.
   * Absent: it is read at once.
   */
  readonly head?: (topic: Topic) => Promise<Offsets>;
  readonly retention?: Retention;
  /** Primary shards of each month made from now on. */
  readonly shards?: number;
  readonly replicas?: number;
  /**
   * Also opens if the live generation is unusable because it was made from another log or by another version: then
   * everything but `begin` and `close` throws `StoreUnusable`, until a generation begun here is promoted.
   */
  readonly forRebuild?: boolean;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** Callers retry soon, and report why Elasticsearch is not available yet. */
const OPEN_MS = 5_000;

const MOST_ATTEMPTS = 20;

/** The topics that the documents come from. */
const PROJECTED: readonly Topic[] = ['audit', 'control'];

const DEFAULTS = { indexPrefix: 'control-', shards: 1, replicas: 1, retention: KEEP_ALL, clock: systemClock };

/** The read model in Elasticsearch, shared by any number of processes. */
export class ElasticsearchReadModel implements ReadModel {
  /** A refresh creates a segment in every index written to: cheap ten times a second, not a thousand times. */
  static readonly refreshMs = { waited: 100, idle: 1_000 };
  readonly refreshMs = ElasticsearchReadModel.refreshMs;

  /**
   * Rejects soon with a `ControlError` if Elasticsearch is unreachable or refuses the credentials. Throws `StoreUnusable` if
   * the live generation cannot be used.
   */
  static async open(options: ElasticsearchReadModelOptions): Promise<ElasticsearchReadModel> {
    const { logId, shards, replicas, indexPrefix, retention, clock } = { ...DEFAULTS, ...options };
    const es = new Elasticsearch(options);
    const identity = { logId, version: MAPPING_VERSION };
    const catalog = new Catalog(es, new Names(indexPrefix), identity, { shards, replicas }, clock);
    const reader = { es, catalog, retention, served: new Served(catalog) };
    const model = new ElasticsearchReadModel(reader, options, clock);
    try {
      await model.adopt(OPEN_MS);
      return model;
    } catch (error) {
      if (options.forRebuild && error instanceof StoreUnusable) return model;
      await es.close();
      throw isFault(error) ? new ControlError('read_model_unavailable', error.message, {}, { cause: error }) : error;
    }
  }

  private current: ElasticsearchGeneration | undefined;
  /** The version of the kinds of the live generation, when this process last looked it up. */
  private kinds = KINDS_VERSION;
  private unusable: StoreUnusable | undefined;
  private readonly lost = new WeakSet<ElasticsearchGeneration>();

  private constructor(
    private readonly reader: Reader,
    private readonly options: ElasticsearchReadModelOptions,
    private readonly clock: Clock,
  ) {}

  get: ReadModel['get'] = (...args) => this.read([], (reader) => getDocument(reader, ...args));
  count: ReadModel['count'] = (...args) => this.read([], (reader) => countByValue(reader, ...args));

  search: ReadModel['search'] = async (kind, query) => {
    checkSearch(kind, query);
    const { order } = query;
    return this.read(query.filters, (reader) =>
      order === 'received' ? searchReceived(reader, kind, query) : searchByField(reader, kind, query, order),
    );
  };

  last: ReadModel['last'] = async (kind, query) => {
    checkLast(kind, query);
    return this.read(query.filters, (reader) => lastReceived(reader, kind, query));
  };

  apply: ReadModel['apply'] = (...args) => this.write((live) => live.apply(...args));
  refresh: ReadModel['refresh'] = () => this.write((live) => live.refresh());
  sweep: ReadModel['sweep'] = (...args) => this.write((live) => live.sweep(...args));
  overwrite: ReadModel['overwrite'] = (...args) => this.write((live) => live.overwrite(...args));
  remove: ReadModel['remove'] = (...args) => this.write((live) => live.remove(...args));
  scan: ReadModel['scan'] = async (...args) => this.usable().scan(...args);
  strays: ReadModel['strays'] = async (...args) => this.usable().strays(...args);

  /** From now on this process writes to the live generation; if there is none, it creates an empty one. */
  async progress(topic: Topic): Promise<Progress> {
    for (let attempt = 1; ; attempt += 1) {
      await this.adopt();
      try {
        return await this.write((live) => live.progress(topic));
      } catch (error) {
        if (!(error instanceof GenerationLost) || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }

  async begin(): Promise<NextGeneration> {
    const { es, catalog } = this.reader;
    const number = await catalog.create((this.current?.number ?? 0) + 1);
    await catalog.deleteLeftovers(number);
    const next = new ElasticsearchGeneration(this.reader, number, false, this.clock);
    const succession = new Succession(es, catalog, number, this.clock);
    return Object.assign(next, {
      seal: (leaseMs: number) => succession.sealLive(leaseMs),
      promote: async () => {
        await succession.promote();
        next.end();
        await this.adopt();
      },
      discard: async () => {
        next.end();
        await catalog.discard(number);
      },
    });
  }

  async close(): Promise<void> {
    await this.reader.es.close();
  }

  /** Whether an earlier version made the live generation: it serves, with fewer filters, until a new one is filled. */
  get isOutdated(): boolean {
    return this.kinds < KINDS_VERSION;
  }

  private async read<Result>(filters: readonly Filter[], work: (reader: Reader) => Promise<Result>): Promise<Result> {
    this.usable();
    await this.requireFields(filters);
    return steadyRead(() => work(this.reader));
  }

  /**
   * Rejects filters by fields that the live generation does not index: it would find nothing. Looks it up each time, because
   * another process may have filled a new generation, or one of the earlier version created one after a loss.
   */
  private async requireFields(filters: readonly Filter[]): Promise<void> {
    if (!filters.some(({ field }) => isAdded(field))) return;
    await steadyRead(() => this.adopt());
    const filter = filters.find(({ field }) => neededBy(field) > this.kinds);
    if (!filter) return;
    const message = `the read model is being filled anew and cannot filter by ${filter.field} yet; list without it, or retry later`;
    throw new ControlError('read_model_unavailable', message);
  }

  /** After a loss the state of the generation is forgotten, even if one of the same number exists. */
  private async write<Result>(work: (generation: ElasticsearchGeneration) => Promise<Result>): Promise<Result> {
    const generation = this.usable();
    try {
      return await work(generation);
    } catch (error) {
      if (error instanceof GenerationLost) this.lost.add(generation);
      throw error;
    }
  }

  private usable(): ElasticsearchGeneration {
    if (this.current) return this.current;
    throw this.unusable ?? new Error('the read model is not open');
  }

  /** The live generation, created if there is none. Throws `StoreUnusable` if it was made from another log or layout. */
  private async adopt(timeoutMs?: number): Promise<ElasticsearchGeneration> {
    const { catalog } = this.reader;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const live = await catalog.liveIdentity(timeoutMs);
      if (!live) await this.createFirst();
      else if (isUsable(live.identity, catalog.identity)) return this.switchTo(live.generation, live.identity.version);
      else throw this.refuse(live.identity);
    }
    throw new ElasticsearchFault(
      'no read model could be created in Elasticsearch: other processes kept changing it',
      409,
      'first_contended',
    );
  }

  private async createFirst(): Promise<void> {
    const { catalog } = this.reader;
    const goal = await this.ends();
    const number = await catalog.create((this.current?.number ?? 0) + 1, goal);
    if (await catalog.promoteFirst(number, Object.keys(goal).length > 0)) {
      this.options.logger.warn({ generation: number }, 'Elasticsearch has no read model; filling one from the log');
    } else await catalog.discard(number);
  }

  /** Where the log ends in each partition that has records. */
  private async ends(): Promise<Nexts> {
    const { head } = this.options;
    if (!head) return {};
    const ends = await Promise.all(PROJECTED.map(async (topic) => Object.entries(nextsOf(topic, await head(topic)))));
    return Object.fromEntries(ends.flat().filter(([, next]) => next > 0));
  }

  private switchTo(generation: number, version?: string): ElasticsearchGeneration {
    this.kinds = kindsIn(version) ?? KINDS_VERSION;
    if (this.current?.number === generation && !this.lost.has(this.current)) return this.current;
    this.current = new ElasticsearchGeneration(this.reader, generation, true, this.clock);
    this.unusable = undefined;
    return this.current;
  }

  private refuse(found: Partial<Identity>): StoreUnusable {
    const { indexPrefix } = { ...DEFAULTS, ...this.options };
    this.current = undefined;
    this.unusable = unusable(indexPrefix, found, this.reader.catalog.identity);
    return this.unusable;
  }
}
