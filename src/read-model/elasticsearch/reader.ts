import { ControlError } from '../../contract/errors.js';
import { untilDone } from '../../platform/retry.js';
import type { Retention } from '../retention.js';
import type { Catalog } from './catalog.js';
import { type Elasticsearch, ElasticsearchFault, FILLING, isFault } from './client.js';

/** The parts that reads of the live generation need. */
export interface Reader {
  readonly es: Elasticsearch;
  readonly catalog: Catalog;
  readonly retention: Retention;
  readonly served: Served;
}

/**
 * Resolves if the read saw everything: `index` is where it found something, absent if it found nothing. Rejects with
 * status 404 if that is not certain and the read must be repeated, with 503 if the generation is missing or incomplete.
 */
export type Vouch = (index?: string) => Promise<void>;

/**
 * Checks reads afterwards. A live generation that is being filled is incomplete, and one that was created after a loss
 * becomes live empty: a result from it would deny events that were acknowledged.
 */
export class Served {
  /** The live generation that was last seen complete; it stays complete. */
  private generation: number | undefined;

  constructor(private readonly catalog: Catalog) {}

  /** Call it before the read: a generation may be filled between a read and its check. */
  begin(): Vouch {
    const { generation } = this;
    return async (index) => {
      if (index !== undefined && this.catalog.names.generationIn(index) === generation) return;
      this.generation = await this.catalog.requireFilled();
      if (this.generation === generation) return;
      throw replaced();
    };
  }
}

/** The read saw two generations, and must be repeated. */
export function replaced(): ElasticsearchFault {
  return new ElasticsearchFault('another generation has become the live one', 404, 'generation_replaced');
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
    const why = error.type === FILLING ? ': it is being filled from the log' : '';
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

function isStarting(error: unknown): boolean {
  return isFault(error) && error.status === 503 && STARTING.includes(error.type);
}

const STARTING = ['search_phase_execution_exception', 'no_shard_available_action_exception'];

function mayBeSwapped(error: unknown): boolean {
  return isFault(error) && (error.status === 404 || error.status >= 500);
}
