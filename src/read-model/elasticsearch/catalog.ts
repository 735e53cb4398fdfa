import type { Clock } from '../../platform/clock.js';
import { KIND_NAMES } from '../kinds.js';
import { GenerationLost } from '../read-model.js';
import { type Elasticsearch, ElasticsearchFault, FILLING, isFault, isMissing } from './client.js';
import { documentIndex, type Identity, type IndexSettings, keysIndex, progressIndex } from './mapping.js';
import { isMonthly, type Names, SINGLE_KINDS } from './names.js';
import { type Nexts, writeFirstStates } from './state.js';

/**
 * One step of a change of aliases. All steps of a change are done at once or none: `drop` fails where the alias is not on
 * the index, and so is what the whole change depends on.
 */
export type Step =
  | { readonly drop: string; readonly on: string }
  | { readonly add: string; readonly on: string; readonly only?: true }
  | { readonly remove: string; readonly on: string }
  | { readonly delete: string };

/** What the cluster says of one generation. */
export interface Entry {
  readonly generation: number;
  readonly isLive: boolean;
  /** Begun, and not promoted. */
  readonly isBuilding: boolean;
  /** Live, and not to be read yet. */
  readonly isFilling: boolean;
  /** Aliases of the index of its progress. */
  readonly aliases: readonly string[];
}

type AliasAnswer = Readonly<Record<string, { readonly aliases: Readonly<Record<string, unknown>> }>>;

/**
 * The generations of a read model, as they stand in the state of the cluster: which there are, which is live, which
 * months they have. The aliases say all that; changes of aliases are atomic and can depend on an alias being there, so
 * that of several processes that want to change the same, one does.
 */
export class Catalog {
  constructor(
    private readonly es: Elasticsearch,
    readonly names: Names,
    readonly identity: Identity,
    readonly settings: IndexSettings,
    private readonly clock: Clock,
  ) {}

  /** Undefined where nothing is live. */
  async live(): Promise<Entry | undefined> {
    return entriesIn(this.names, await this.aliasesOf(`/${this.names.liveProgress}/_alias`))[0];
  }

  /** Rejects where there is no live generation, or not this one any more. */
  async requireLive(expected?: number): Promise<number> {
    const { generation } = (await this.live()) ?? noGeneration();
    if (expected === undefined || generation === expected) return generation;
    throw new ElasticsearchFault('another generation has become the live one', 404, 'generation_replaced');
  }

  /** The live generation. Rejects where there is none, and while it is not to be read yet. */
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

  /** The aliases of an index; undefined where it is not there. */
  async aliasesOn(index: string): Promise<readonly string[] | undefined> {
    const { [index]: found } = await this.aliasesOf(`/${index}/_alias`);
    return found && Object.keys(found.aliases);
  }

  /**
   * Makes an empty generation that is not live. Its number is one that never was, also where everything else is lost.
   * `goal`: what it must have before it is read, where it is to become live as the first.
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

  /** Not while somebody else's index has the name. */
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

  /** Makes the index of a month, unless it is there. */
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
   * Makes a generation live where none is: whether it did. Of several at once one does. With `toBeFilled` it is not read
   * before it has reached its goal.
   */
  async promoteFirst(generation: number, toBeFilled: boolean): Promise<boolean> {
    const index = this.names.progress(generation);
    const closed: Step[] = toBeFilled ? [{ add: this.names.filling, on: index }] : [];
    try {
      await this.change([{ drop: this.names.building, on: index }, ...closed, ...this.goLive(generation)]);
      return true;
    } catch (error) {
      // Only one index may be the one that is written to under a name: Elasticsearch calls a second an illegal state.
      if (isMissing(error) || (isFault(error) && error.type.startsWith('illegal_'))) return false;
      throw error;
    }
  }

  /** The steps that make an otherwise complete generation live, its months besides. */
  goLive(generation: number): Step[] {
    const { names } = this;
    const progress: Step = { add: names.liveProgress, on: names.progress(generation), only: true };
    return [progress, ...names.fixed(generation).flatMap((index) => this.showing(generation, index))];
  }

  /** The steps after which reads of the live generation see the index. */
  showing(generation: number, index: string): Step[] {
    return this.names.liveAliases(generation, index).map((alias) => ({ add: alias, on: index }));
  }

  /** Steps that change nothing, and fail where the alias is not on the index. */
  requiring(alias: string, index: string, only?: true): Step[] {
    return [
      { drop: alias, on: index },
      { add: alias, on: index, ...(only && { only }) },
    ];
  }

  /** Rejects with a fault of status 404 where an alias or index is missing; then nothing has changed. */
  async change(steps: readonly Step[]): Promise<void> {
    const body = { actions: steps.map(actionOf) };
    await this.es.request('POST', '/_aliases', { body });
  }

  /** Takes from a generation that is not live the chance to become it, and removes it. Whether it was this that did. */
  async discard(generation: number): Promise<boolean> {
    try {
      await this.change([{ drop: this.names.building, on: this.names.progress(generation) }]);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    await this.delete(generation);
    return true;
  }

  /** Removes all indices of a generation at once. It must not be live, nor have the chance to become it. */
  async delete(generation: number): Promise<void> {
    const indices = [...(await this.indices(generation)).keys()];
    if (indices.length > 0) await this.change(indices.map((index) => ({ delete: index }))).catch(noneIfMissing);
  }

  /** Removes all generations before this one but the live one: what nobody finished, and what nobody removed. */
  async deleteLeftovers(before: number): Promise<void> {
    const answer = await this.aliasesOf(`/${this.names.every}/_alias`);
    const found = new Set(Object.keys(answer).flatMap((index) => this.names.generationIn(index) ?? []));
    for (const generation of [...found].filter((one) => one < before)) {
      const entry = await this.entry(generation);
      if (entry?.isBuilding) await this.discard(generation);
      else if (!entry?.isLive) await this.delete(generation);
    }
  }

  /** Throws `GenerationLost` where the generation is not there. */
  async require(generation: number): Promise<Entry> {
    const entry = await this.entry(generation);
    if (!entry) throw new GenerationLost(`generation ${generation} of the read model is not there any more`);
    return entry;
  }

  private async aliasesOf(path: string): Promise<AliasAnswer> {
    return (await this.es.request<AliasAnswer>('GET', path).catch(noneIfMissing)) ?? {};
  }
}

function noGeneration(): never {
  throw new ElasticsearchFault('the read model is not in Elasticsearch', 503, 'no_generation');
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
