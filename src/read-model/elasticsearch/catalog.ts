import type { Clock } from '../../platform/clock.js';
import {
  type Elasticsearch,
  ElasticsearchFault,
  isConflict,
  isFault,
  isMissing,
} from '../../platform/elasticsearch.js';
import { KIND_NAMES } from '../kinds.js';
import { GenerationLost } from '../read-model.js';
import { examine, MARK } from './intact.js';
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
  /** Aliases of the index of its progress. */
  readonly aliases: readonly string[];
}

const MOST_ATTEMPTS = 20;

type AliasAnswer = Readonly<Record<string, { readonly aliases: Readonly<Record<string, unknown>> }>>;

/**
 * The generations of a read model in the cluster state: which exist, and which is live. Aliases hold that. A change of aliases is atomic and can depend on an alias, so of several processes that attempt the
 * same change, one succeeds.
 */
export class Catalog {
  /** Of the last examination: the next one examines them without reading the manifest first. */
  private examinedMonths: readonly string[] = [];

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

  /** Rejects if no generation is live. */
  async requireLive(): Promise<number> {
    return ((await this.live()) ?? noGeneration()).generation;
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
   * `goal`: what it must contain before it is read.
   */
  async create(atLeast: number, goal: Nexts, reason?: string): Promise<number> {
    const known = (await this.entries()).map(({ generation }) => generation);
    let generation = Math.max(this.clock.now(), atLeast, ...known.map((one) => one + 1));
    while (!(await this.createProgress(generation))) generation += 1;
    await writeFirstStates(this.es, this.names, generation, goal, reason);
    const single = SINGLE_KINDS.map((kind) =>
      this.createMarked(this.names.kind(generation, kind), documentIndex(kind, this.settings)),
    );
    await Promise.all([...single, this.createMarked(this.names.keys(generation), keysIndex(this.settings))]);
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

  /**
   * Creates the index of a month, with its mark, unless it exists, and resolves when it can be searched. Only for a month
   * that is not in the manifest: the mark of one that was lost must not come back.
   */
  async createMonth(generation: number, month: string): Promise<void> {
    const kind = KIND_NAMES.find(isMonthly);
    if (!kind) return;
    const index = this.names.month(generation, month);
    await this.createMarked(index, documentIndex(kind, this.settings));
    const query = { wait_for_status: 'yellow', timeout: '20s' };
    await this.es.request('GET', `/_cluster/health/${index}`, { query });
  }

  private async createMarked(index: string, made: object): Promise<void> {
    await this.createIndex(index, made);
    try {
      const path = `/${this.names.writer(index)}/_create/${MARK}`;
      await this.es.request('PUT', path, { body: {}, query: { require_alias: true } });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  /** Makes a generation live if none is, and returns whether it did; one of several concurrent calls succeeds. */
  async promoteFirst(generation: number): Promise<boolean> {
    const { names } = this;
    try {
      return await this.tryChange([{ drop: names.building, on: names.progress(generation) }, this.goLive(generation)]);
    } catch (error) {
      // An alias has at most one write index: Elasticsearch calls a second one an illegal state.
      if (isFault(error) && error.type.startsWith('illegal_')) return false;
      throw error;
    }
  }

  /** The step that makes a complete generation live. */
  goLive(generation: number): Step {
    return { add: this.names.liveProgress, on: this.names.progress(generation), only: true };
  }

  /** Steps that change nothing, and fail if the alias is not on the index. */
  requiring(alias: string, index: string): Step[] {
    return [
      { drop: alias, on: index },
      { add: alias, on: index },
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

  /** Removes all indices of a generation at once, so that no write to it succeeds any more. */
  async delete(generation: number): Promise<void> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const indices = [...(await this.indices(generation)).keys()];
      // No effect if one was created or removed meanwhile.
      if (indices.length === 0 || (await this.tryChange(indices.map((index) => ({ delete: index }))))) return;
    }
    throw new ElasticsearchFault(`generation ${generation} could not be removed`, 409, 'removal_contended');
  }

  /** Removes what is left of earlier generations: of replaced ones and, if so asked, of those that are being built. */
  async deleteLeftovers(before: number, which: 'replaced' | 'and built'): Promise<void> {
    const answer = await this.aliasesOf(`/${this.names.every}/_alias`);
    const found = new Set(Object.keys(answer).flatMap((index) => this.names.generationIn(index) ?? []));
    for (const generation of [...found].filter((one) => one < before)) {
      const entry = await this.entry(generation);
      if (!entry?.isBuilding && !entry?.isLive) await this.delete(generation);
      else if (entry.isBuilding && which === 'and built') await this.discard(generation);
    }
  }

  /** The indices that a generation should have and lacks. */
  async lostOf(generation: number): Promise<readonly string[]> {
    const { names } = this;
    const progress = names.progress(generation);
    try {
      for (;;) {
        const examined = this.examinedMonths;
        const months = examined.map((month) => names.month(generation, month));
        const { lost, manifest } = await examine(this.es, names, progress, [...names.fixed(generation), ...months]);
        const listed = manifest?.months ?? examined;
        this.examinedMonths = listed;
        // Months may have been added since, or dropped.
        if (listed.some((month) => !examined.includes(month))) continue;
        const isListed = (index: string) => {
          const month = names.monthOf(generation, index);
          return month === undefined || listed.includes(month);
        };
        return [...lost].filter(isListed);
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
      return [progress];
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
    return [{ generation, isLive: has(names.liveProgress), isBuilding: has(names.building), aliases }];
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
