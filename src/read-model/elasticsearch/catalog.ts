import type { Clock } from '../../platform/clock.js';
import { KIND_NAMES } from '../kinds.js';
import { GenerationLost } from '../read-model.js';
import { type Elasticsearch, ElasticsearchFault, FILLING, isFault, isMissing } from './client.js';
import { documentIndex, type Identity, type IndexSettings, keysIndex, progressIndex } from './mapping.js';
import { isMonthly, type Names, SINGLE_KINDS } from './names.js';
import { type Nexts, writeFirstStates } from './state.js';

/**
 * One step of a change of aliases. The steps of a change take effect together or not at all. `drop` fails if the alias is
 * not on the index, so the whole change depends on it.
 */
export type Step =
  | { readonly drop: string; readonly on: string }
  | { readonly add: string; readonly on: string; readonly only?: true }
  | { readonly remove: string; readonly on: string }
  | { readonly delete: string };

/** The state of one generation in the cluster. */
export interface Entry {
  readonly generation: number;
  readonly isLive: boolean;
  /** Begun, and not promoted. */
  readonly isBuilding: boolean;
  /** Live, but not open for reads yet. */
  readonly isFilling: boolean;
  /** Aliases of the index of its progress. */
  readonly aliases: readonly string[];
}

type AliasAnswer = Readonly<Record<string, { readonly aliases: Readonly<Record<string, unknown>> }>>;

/**
 * The generations of a read model in the cluster state: which exist, which is live, and which months they have. Aliases
 * hold all of that. A change of aliases is atomic and can depend on an alias, so of several processes that attempt the
 * same change, one succeeds.
 */
export class Catalog {
  constructor(
    private readonly es: Elasticsearch,
    readonly names: Names,
    readonly identity: Identity,
    readonly settings: IndexSettings,
    private readonly clock: Clock,
  ) {}

  /** Undefined if nothing is live. */
  async live(): Promise<Entry | undefined> {
    return entriesIn(this.names, await this.aliasesOf(`/${this.names.liveProgress}/_alias`))[0];
  }

  /** Rejects if no generation is live, or another than `expected`. */
  async requireLive(expected?: number): Promise<number> {
    const { generation } = (await this.live()) ?? noGeneration();
    if (expected === undefined || generation === expected) return generation;
    throw new ElasticsearchFault('another generation has become the live one', 404, 'generation_replaced');
  }

  /** The live generation. Rejects if there is none, or it is not open for reads yet. */
  async requireFilled(): Promise<number> {
    const { generation, isFilling } = (await this.live()) ?? noGeneration();
    if (!isFilling) return generation;
    throw new ElasticsearchFault('the read model is being filled from the log', 503, FILLING);
  }

  /** What the live generation was made from. */
  async liveIdentity(timeoutMs?: number): Promise<{ generation: number; identity: Partial<Identity> } | undefined> {
    type Mapping = Readonly<Record<string, { readonly mappings: { readonly _meta?: Partial<Identity> } }>>;
    const path = `/${this.names.liveProgress}/_mapping`;
    const answer = await this.es
      .request<Mapping>('GET', path, timeoutMs === undefined ? {} : { timeoutMs })
      .catch(noneIfMissing);
    const [index, mapping] = Object.entries(answer ?? {})[0] ?? [];
    const generation = index === undefined ? undefined : this.names.generationIn(index);
    return generation === undefined ? undefined : { generation, identity: mapping?.mappings._meta ?? {} };
  }

  async entries(): Promise<readonly Entry[]> {
    return entriesIn(this.names, await this.aliasesOf(`/${this.names.everyProgress}/_alias`));
  }

  async entry(generation: number): Promise<Entry | undefined> {
    const index = this.names.progress(generation);
    return entriesIn(this.names, await this.aliasesOf(`/${index}/_alias`)).find(
      (entry) => entry.generation === generation,
    );
  }

  /** All indices of a generation, with their aliases. */
  async indices(generation: number): Promise<ReadonlyMap<string, readonly string[]>> {
    const answer = await this.aliasesOf(`/${this.names.everyOf(generation)}/_alias`);
    const own = Object.entries(answer).filter(([index]) => this.names.generationIn(index) === generation);
    return new Map(own.map(([index, { aliases }]) => [index, Object.keys(aliases)]));
  }

  /** The aliases of an index; undefined if it does not exist. */
  async aliasesOn(index: string): Promise<readonly string[] | undefined> {
    const { [index]: found } = await this.aliasesOf(`/${index}/_alias`);
    return found && Object.keys(found.aliases);
  }

  /**
   * Creates an empty generation that is not live. Its number was never used before, even if everything else was lost.
   * `goal`: what it must contain before reads, if it is to become live empty.
   */
  async create(atLeast: number, goal: Nexts = {}): Promise<number> {
    const known = (await this.entries()).map(({ generation }) => generation);
    let generation = Math.max(this.clock.now(), atLeast, ...known.map((one) => one + 1));
    while (!(await this.createProgress(generation))) generation += 1;
    await writeFirstStates(this.es, this.names, generation, goal);
    const single = SINGLE_KINDS.map((kind) =>
      this.createIndex(this.names.kind(generation, kind), documentIndex(kind, this.settings)),
    );
    await Promise.all([...single, this.createIndex(this.names.keys(generation), keysIndex(this.settings))]);
    return generation;
  }

  private createProgress(generation: number): Promise<boolean> {
    const { names } = this;
    const aliases = [names.writer(names.progress(generation)), names.keeper(generation), names.building];
    return this.createIndex(names.progress(generation), progressIndex(this.identity, this.settings), aliases);
  }

  /** Returns false if the name is taken. */
  private async createIndex(index: string, made: object, aliases = [this.names.writer(index)]): Promise<boolean> {
    try {
      const body = { ...made, aliases: Object.fromEntries(aliases.map((alias) => [alias, {}])) };
      await this.es.request('PUT', `/${index}`, { body });
      return true;
    } catch (error) {
      if (isFault(error) && error.type === 'resource_already_exists_exception') return false;
      throw error;
    }
  }

  /** Creates the index of a month, unless it exists. */
  async createMonth(generation: number, month: string): Promise<void> {
    const kind = KIND_NAMES.find(isMonthly);
    if (kind) await this.createIndex(this.names.month(generation, month), documentIndex(kind, this.settings));
  }

  /** Waits until the index can be searched. */
  async awaitActive(index: string): Promise<void> {
    const query = { wait_for_status: 'yellow', timeout: '20s' };
    await this.es.request('GET', `/_cluster/health/${index}`, { query });
  }

  /**
   * Makes a generation live if none is, and returns whether it did; one of several concurrent calls succeeds. With
   * `toBeFilled` the generation is not open for reads until it reaches its goal.
   */
  async promoteFirst(generation: number, toBeFilled: boolean): Promise<boolean> {
    const index = this.names.progress(generation);
    const closed: Step[] = toBeFilled ? [{ add: this.names.filling, on: index }] : [];
    try {
      return await this.tryChange([{ drop: this.names.building, on: index }, ...closed, ...this.goLive(generation)]);
    } catch (error) {
      // An alias has at most one write index: Elasticsearch calls a second one an illegal state.
      if (isFault(error) && error.type.startsWith('illegal_')) return false;
      throw error;
    }
  }

  /** The steps that make a complete generation live, except those of its months. */
  goLive(generation: number): Step[] {
    const { names } = this;
    const progress: Step = { add: names.liveProgress, on: names.progress(generation), only: true };
    return [progress, ...names.fixed(generation).flatMap((index) => this.showing(generation, index))];
  }

  /** The steps that make the index visible to reads of the live generation. */
  showing(generation: number, index: string): Step[] {
    return this.names.liveAliases(generation, index).map((alias) => ({ add: alias, on: index }));
  }

  /** Steps that change nothing, and fail if the alias is not on the index. */
  requiring(alias: string, index: string, only?: true): Step[] {
    return [
      { drop: alias, on: index },
      { add: alias, on: index, ...(only && { only }) },
    ];
  }

  /** Rejects with status 404, and no effect, if an alias or index is missing. */
  async change(steps: readonly Step[]): Promise<void> {
    const body = { actions: steps.map(actionOf) };
    await this.es.request('POST', '/_aliases', { body });
  }

  /** As `change`; false, and no effect, if an alias or index is missing. */
  async tryChange(steps: readonly Step[]): Promise<boolean> {
    try {
      await this.change(steps);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** Removes a generation that is being built, unless it became live or was removed. */
  async discard(generation: number): Promise<void> {
    const dropped = await this.tryChange([{ drop: this.names.building, on: this.names.progress(generation) }]);
    if (dropped) await this.delete(generation);
  }

  /** Removes all indices of a generation at once. It must be neither live nor building. */
  async delete(generation: number): Promise<void> {
    const indices = [...(await this.indices(generation)).keys()];
    if (indices.length > 0) await this.tryChange(indices.map((index) => ({ delete: index })));
  }

  /** Removes all earlier generations but the live one: unfinished ones, and replaced ones that were not removed. */
  async deleteLeftovers(before: number): Promise<void> {
    const answer = await this.aliasesOf(`/${this.names.every}/_alias`);
    const found = new Set(Object.keys(answer).flatMap((index) => this.names.generationIn(index) ?? []));
    for (const generation of [...found].filter((one) => one < before)) {
      const entry = await this.entry(generation);
      if (entry?.isBuilding) await this.discard(generation);
      else if (!entry?.isLive) await this.delete(generation);
    }
  }

  /** Throws `GenerationLost` if the generation does not exist. */
  async require(generation: number): Promise<Entry> {
    const entry = await this.entry(generation);
    if (!entry) throw new GenerationLost(`generation ${generation} of the read model no longer exists`);
    return entry;
  }

  private async aliasesOf(path: string): Promise<AliasAnswer> {
    return (await this.es.request<AliasAnswer>('GET', path).catch(noneIfMissing)) ?? {};
  }
}

function noGeneration(): never {
  throw new ElasticsearchFault('Elasticsearch has no read model', 503, 'no_generation');
}

function entriesIn(names: Names, answer: AliasAnswer): Entry[] {
  return Object.entries(answer).flatMap(([index, { aliases: found }]) => {
    const generation = names.generationIn(index);
    if (generation === undefined) return [];
    const aliases = Object.keys(found);
    const has = (alias: string) => aliases.includes(alias);
    const { liveProgress, building, filling } = names;
    return [{ generation, isLive: has(liveProgress), isBuilding: has(building), isFilling: has(filling), aliases }];
  });
}

function noneIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

function actionOf(step: Step): object {
  if ('drop' in step) return { remove: { index: step.on, alias: step.drop, must_exist: true } };
  if ('remove' in step) return { remove: { index: step.on, alias: step.remove } };
  if ('delete' in step) return { remove_index: { index: step.delete } };
  return { add: { index: step.on, alias: step.add, ...(step.only && { is_write_index: true }) } };
}
