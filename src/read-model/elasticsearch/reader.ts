import { ControlError } from '../../contract/errors.js';
import { type Elasticsearch, ElasticsearchFault, isFault, isMissing } from '../../platform/elasticsearch.js';
import { untilDone } from '../../platform/retry.js';
import type { KindName } from '../kinds.js';
import type { Retention } from '../retention.js';
import type { Catalog } from './catalog.js';
import { type Examined, LiveExaminer } from './intact.js';
import { isMonthly, type Names } from './names.js';
import type { Manifest } from './state.js';

/** The type of the fault of an incomplete read model. */
const FILLING = 'generation_filling';

/** The parts that generations share. */
export interface Parts {
  readonly es: Elasticsearch;
  readonly catalog: Catalog;
  readonly retention: Retention;
}

/** The generation that one read sees. Whatever the read learns from an index that it names here is checked afterwards. */
export class View {
  readonly touched = new Set<string>();
  private seesMonths = false;
  /** Set when the result holds even if something was lost: a document that was found and never changes. */
  isCertain = false;

  constructor(
    readonly es: Elasticsearch,
    readonly names: Names,
    readonly retention: Retention,
    readonly generation: number,
    private readonly months: readonly string[],
  ) {}

  /** All indices of the kind. */
  indicesOf(kind: KindName): string[] {
    this.seesMonths ||= isMonthly(kind);
    const { names, generation } = this;
    const indices = isMonthly(kind)
      ? this.months.map((month) => names.month(generation, month))
      : [names.kind(generation, kind)];
    return indices.map((index) => this.touch(index));
  }

  touch(index: string): string {
    this.touched.add(index);
    return index;
  }

  /** Whether the generation has months that the read did not look in. */
  misses({ months }: Manifest): boolean {
    return this.seesMonths && months.some((month) => !this.months.includes(month));
  }

  /** Those that the read relied on. A month may also be absent because it has no documents, or none any more. */
  lostOf({ lost, manifest }: Examined): string[] {
    return [this.names.progress(this.generation), ...this.touched].filter((index) => {
      const month = this.names.monthOf(this.generation, index);
      return lost.has(index) && (month === undefined || !manifest || manifest.months.includes(month));
    });
  }
}

interface Known {
  readonly generation: number;
  readonly manifest: Manifest;
}

/**
 * Runs reads of the live generation, and checks each afterwards, against what the generation had then. Its manifest and the
 * marks of its indices are never restored, so what is there after the read was there during the read. A result from a
 * generation that lost something, or is filled, would deny events that were acknowledged.
 */
export class Served {
  private known: Known | undefined;
  private readonly examiner: LiveExaminer;

  constructor(
    private readonly parts: Parts,
    /** Called with what a live generation turned out to lack. */
    private readonly onLost: (generation: number, lost: readonly string[]) => Promise<void>,
  ) {
    this.examiner = new LiveExaminer(parts.es, parts.catalog.names);
  }

  /** Rejects with status 404 if the read must be repeated, with 503 if the generation is lost or filled. */
  async read<Result>(work: (view: View) => Promise<Result>): Promise<Result> {
    const { generation, manifest } = this.known ?? (await this.look());
    const { es, catalog, retention } = this.parts;
    const view = new View(es, catalog.names, retention, generation, manifest.months);
    try {
      const result = await work(view);
      if (!view.isCertain) await this.vouch(view);
      return result;
    } catch (error) {
      this.known = undefined;
      if (isMissing(error)) await this.vouch(view);
      throw error;
    }
  }

  private async look(): Promise<Known> {
    const { generation, manifest } = await this.examiner.examine([]);
    if (!manifest) return this.refuse(generation, [this.parts.catalog.names.progress(generation)]);
    if (!manifest.isOpen) throw filling(manifest);
    this.known = { generation, manifest };
    return this.known;
  }

  private async vouch(view: View): Promise<void> {
    const found = await this.examiner.examine([...view.touched]);
    const { generation, manifest } = found;
    if (generation !== view.generation || (manifest && view.misses(manifest))) throw replaced();
    const lost = view.lostOf(found);
    if (lost.length > 0) await this.refuse(generation, lost);
  }

  private async refuse(generation: number, lost: readonly string[]): Promise<never> {
    await this.onLost(generation, lost);
    throw new ElasticsearchFault(`the read model lost ${lost.join(', ')}`, 503, 'index_lost');
  }
}

/** Why a generation that is being filled cannot be read. */
function filling({ reason }: Manifest): ElasticsearchFault {
  const because = reason === undefined ? '' : `, because ${reason}`;
  return new ElasticsearchFault(`it is being filled from the log${because}`, 503, FILLING);
}

const REPLACED = 'generation_replaced';

/** The read did not see all of the live generation, and must be repeated. */
export function replaced(): ElasticsearchFault {
  return new ElasticsearchFault('the live generation is another one, or has more months', 404, REPLACED);
}

/** How long a read waits for a shard that is starting: one of a new month, or one that moves to another node. */
const SHARD_PATIENCE = { first: 50, most: 800, attempts: 6 };

/**
 * Runs a read, and repeats it if its generation was removed meanwhile or a shard is starting. Rejects with
 * `read_model_unavailable` if Elasticsearch fails, and with another error for a fault of the program.
 */
export async function steadyRead<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  try {
    return await read().catch((error) => (mayBeSwapped(error) ? readWhenStarted(read) : Promise.reject(error)));
  } catch (error) {
    if (!isFault(error) || (error.status === 400 && error.type !== 'index_closed_exception')) throw error;
    const why = error.type === FILLING ? `: ${error.message}` : '';
    throw new ControlError(
      'read_model_unavailable',
      `the read model cannot be read at the moment${why}`,
      {},
      { cause: error },
    );
  }
}

async function readWhenStarted<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  const refuseOthers = (error: unknown) => {
    if (!isStarting(error)) throw error;
  };
  // Without an abort there is a result.
  return (await untilDone(undefined, read, refuseOthers, SHARD_PATIENCE)) as Answer;
}

/** Another generation or month follows within moments, or a shard starts. */
function isStarting(error: unknown): boolean {
  return isFault(error) && (error.type === REPLACED || (error.status === 503 && STARTING.includes(error.type)));
}

const STARTING = ['search_phase_execution_exception', 'no_shard_available_action_exception'];

function mayBeSwapped(error: unknown): boolean {
  return isFault(error) && (error.status === 404 || error.status >= 500);
}
