import type { Logger } from 'pino';
import { ControlError } from '../../contract/errors.js';
import { type Offsets, type Topic } from '../../event-log/event-log.js';
import { type Clock, systemClock } from '../../platform/clock.js';
import {
  Elasticsearch,
  type ElasticsearchConnection,
  ElasticsearchFault,
  isFault,
} from '../../platform/elasticsearch.js';
import { coalesced } from '../../platform/waiting.js';
import { KINDS_VERSION, neededBy, SERVED_SINCE, STATS_SINCE } from '../kinds.js';
import { GenerationLost, type NextGeneration, type Progress, type ReadModel } from '../read-model.js';
import { KEEP_ALL, type Retention } from '../retention.js';
import { checkLast, checkSearch, type Filter } from '../search.js';
import { checkStats } from '../stats.js';
import { Catalog } from './catalog.js';
import { ElasticsearchGeneration } from './generation.js';
import { type Identity, isEarlier, isUsable, kindsIn, MAPPING_VERSION, unusable } from './mapping.js';
import { Names } from './names.js';
import { type Parts, Served, steadyRead, type View } from './reader.js';
import { lastReceived, searchReceived } from './received.js';
import { countByValue, getDocument, searchByField } from './search.js';
import { type Nexts, nextsOf } from './state.js';
import { statsOf } from './stats.js';
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
   * Rejects soon with a `ControlError` if Elasticsearch is unreachable or refuses the credentials. Also opens if the live
   * generation was made from another log or by a later version: then `unusable` is the reason, and everything that needs
   * that generation is refused with it, until `replace`, or another process, puts another in its place.
   */
  static async open(options: ElasticsearchReadModelOptions): Promise<ElasticsearchReadModel> {
    const { logId, shards, replicas, indexPrefix, retention, clock } = { ...DEFAULTS, ...options };
    const es = new Elasticsearch(options);
    const identity = { logId, version: MAPPING_VERSION };
    const catalog = new Catalog(es, new Names(indexPrefix), identity, { shards, replicas }, clock);
    const model = new ElasticsearchReadModel({ es, catalog, retention }, options, clock);
    try {
      await model.adopt(OPEN_MS);
      return model;
    } catch (error) {
      if (model.unusable !== undefined) return model;
      await es.close();
      throw isFault(error) ? new ControlError('read_model_unavailable', error.message, {}, { cause: error }) : error;
    }
  }

  private current: ElasticsearchGeneration | undefined;
  /** The version of the kinds of the live generation, when this process last looked it up. */
  private kinds = KINDS_VERSION;
  /** Why the live generation cannot be used, when this process last looked it up. */
  unusable: string | undefined;
  private readonly lost = new WeakSet<ElasticsearchGeneration>();
  private readonly served: Served;
  private readonly mend = coalesced(() => this.mendOnce());

  private constructor(
    private readonly parts: Parts,
    private readonly options: ElasticsearchReadModelOptions,
    private readonly clock: Clock,
  ) {
    this.served = new Served(parts, () => this.mend());
  }

  get: ReadModel['get'] = (...args) => this.read([], (view) => getDocument(view, ...args));
  count: ReadModel['count'] = (...args) => this.read([], (view) => countByValue(view, ...args));

  search: ReadModel['search'] = async (kind, query) => {
    checkSearch(kind, query);
    const { order } = query;
    return this.read(query.filters, (view) =>
      order === 'received' ? searchReceived(view, kind, query) : searchByField(view, kind, query, order),
    );
  };

  last: ReadModel['last'] = async (kind, query) => {
    checkLast(kind, query);
    return this.read(query.filters, (view) => lastReceived(view, kind, query));
  };

  stats: ReadModel['stats'] = async (kind, query) => {
    checkStats(kind, query);
    const counting = {
      what: `count by ${query.by}`,
      remedy: 'list events instead, or retry later',
      since: STATS_SINCE,
    };
    return this.read(query.filters, (view) => statsOf(view, kind, query), [counting]);
  };

  apply: ReadModel['apply'] = (...args) => this.write((live) => live.apply(...args));
  refresh: ReadModel['refresh'] = () => this.write((live) => live.refresh());
  sweep: ReadModel['sweep'] = (...args) => this.write((live) => live.sweep(...args));
  overwrite: ReadModel['overwrite'] = (...args) => this.write((live) => live.overwrite(...args));
  remove: ReadModel['remove'] = (...args) => this.write((live) => live.remove(...args));
  scan: ReadModel['scan'] = async (...args) => this.usable().scan(...args);
  strays: ReadModel['strays'] = async (...args) => this.usable().strays(...args);

  /**
   * From now on this process writes to the live generation. If there is none, or it lost something, it creates an empty
   * one in its place.
   */
  async progress(topic: Topic): Promise<Progress> {
    for (let attempt = 1; ; attempt += 1) {
      await this.mend();
      try {
        return await this.write((live) => live.progress(topic));
      } catch (error) {
        if (!(error instanceof GenerationLost) || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }

  async begin(): Promise<NextGeneration> {
    const { es, catalog } = this.parts;
    const number = await catalog.create((this.current?.number ?? 0) + 1, await this.ends());
    await catalog.deleteLeftovers(number, 'and built');
    const next = new ElasticsearchGeneration(this.parts, number, this.clock);
    const succession = new Succession(es, catalog, number, this.clock);
    return Object.assign(next, {
      seal: (leaseMs: number) => succession.sealLive(leaseMs),
      promote: async () => {
        // Publishes that all of it is searchable, so that it is open when it is live.
        await next.refresh();
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

  /**
   * Removes a live generation that cannot be used, and puts an empty one in its place, which projectors fill. No effect if
   * it can be used. Resolves with the number of records that it will have before it is read.
   */
  async replace(): Promise<number> {
    const live = await this.parts.catalog.liveIdentity();
    if (live && !isUsable(live.identity, this.parts.catalog.identity)) {
      await this.removeFor(live.generation, 'an operator had the one before replaced');
    }
    await this.adopt();
    return Object.values(await this.ends()).reduce((sum, next) => sum + next, 0);
  }

  /** Looks the live generation up again if it could not be used. */
  async retry(): Promise<void> {
    if (this.unusable !== undefined) await this.adopt().catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.parts.es.close();
  }

  /** Of all processes. */
  get generations(): Pick<Catalog, 'entries' | 'discard' | 'delete'> {
    return this.parts.catalog;
  }

  /** Whether an earlier version made the live generation: it serves, with fewer filters, until a new one is filled. */
  get isOutdated(): boolean {
    return this.kinds < KINDS_VERSION;
  }

  private async read<Result>(
    filters: readonly Filter[],
    work: (view: View) => Promise<Result>,
    others: readonly Need[] = [],
  ): Promise<Result> {
    this.usable();
    await this.requireKinds([...filters.map(needOf), ...others]);
    return steadyRead(() => this.served.read(work));
  }

  /**
   * Rejects what the live generation has no index for: it would find nothing. Looks it up each time, because another process may
   * have filled a new generation, or one of the earlier version created one after a loss.
   */
  private async requireKinds(needs: readonly Need[]): Promise<void> {
    if (needs.every(({ since }) => since <= SERVED_SINCE)) return;
    await steadyRead(() => this.adopt());
    const need = needs.find(({ since }) => since > this.kinds);
    if (!need) return;
    const message = `the read model is being filled anew and cannot ${need.what} yet; ${need.remedy}`;
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
    throw new ControlError('read_model_unavailable', this.unusable ?? 'the read model is not open');
  }

  /**
   * The live generation, created if there is none or an earlier version made it. Rejects if it was made from another log
   * or by a later version.
   */
  private async adopt(timeoutMs?: number): Promise<ElasticsearchGeneration> {
    const { catalog } = this.parts;
    const { identity: own, names } = catalog;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const live = await catalog.liveIdentity(timeoutMs);
      if (!live) await this.createFirst(this.current && `${names.liveProgress} was lost`);
      else if (isUsable(live.identity, own)) return this.switchTo(live.generation, live.identity.version);
      else if (live.identity.logId === undefined) {
        await this.removeFor(live.generation, `${names.progress(live.generation)} was emptied`);
      } else if (isEarlier(live.identity, own)) {
        await this.removeFor(live.generation, `the one before has the earlier layout ${live.identity.version}`);
      } else throw this.refuse(live.identity);
    }
    throw new ElasticsearchFault(
      'no read model could be created in Elasticsearch: other processes kept changing it',
      409,
      'first_contended',
    );
  }

  /** Restores what can be restored of the live generation; if it lost documents, puts an empty one in its place. */
  private async mendOnce(): Promise<void> {
    const { catalog } = this.parts;
    const live = await this.adopt();
    const lost = await catalog.lostOf(live.number);
    if (lost.length === 0) return live.restoreAliases();
    // Another one may have become live meanwhile, and what was live be removed.
    if ((await catalog.live())?.generation !== live.number) return this.mendOnce();
    await this.removeFor(live.number, `${lost.join(', ')} of the one before was lost`);
    await this.adopt();
  }

  /**
   * Removes a live generation. All at once, so that no process writes or announces anything there any more: what it
   * announced before is in the log, and so in the goal of the next one, which is determined only then.
   */
  private async removeFor(generation: number, reason: string): Promise<void> {
    this.options.logger.error({ generation, reason }, 'the read model cannot be used; filling another from the log');
    await this.parts.catalog.delete(generation);
    await this.createFirst(reason);
  }

  private async createFirst(reason?: string): Promise<void> {
    const { catalog } = this.parts;
    const goal = await this.ends();
    const number = await catalog.create((this.current?.number ?? 0) + 1, goal, reason);
    if (!(await catalog.promoteFirst(number))) return catalog.discard(number);
    this.options.logger.warn(
      { generation: number, reason },
      'Elasticsearch has no read model; filling one from the log',
    );
    await catalog.deleteLeftovers(number, 'replaced');
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
    this.current = new ElasticsearchGeneration(this.parts, generation, this.clock);
    this.unusable = undefined;
    return this.current;
  }

  private refuse(found: Partial<Identity>): ControlError {
    const { indexPrefix } = { ...DEFAULTS, ...this.options };
    this.current = undefined;
    this.unusable = unusable(indexPrefix, found, this.parts.catalog.identity);
    return new ControlError('read_model_unavailable', this.unusable);
  }
}

/** What a read asks of the live generation, and the version of the kinds that can do it. */
interface Need {
  readonly what: string;
  readonly remedy: string;
  readonly since: number;
}

const needOf = ({ field }: Filter): Need => ({
  what: `filter by ${field}`,
  remedy: 'list without it, or retry later',
  since: neededBy(field),
});
