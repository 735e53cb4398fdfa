import { type Offsets, type Topic, UnreadableRecord } from '../../event-log/event-log.js';
import { untilDone } from '../../platform/retry.js';
import { GenerationLost, GenerationSealed, type ReadModel } from '../../read-model/read-model.js';

/** Reports progress: `done` of `total` records in this phase, as far as is known. */
export type Tell = (phase: string, done: number, total: number) => void;

/** Positions in the log: next offsets by topic. */
export type Ends = Readonly<Partial<Record<Topic, Offsets>>>;

/** How many records there are about; offsets are nearly dense. */
export function distance(from: Ends, to: Ends): number {
  let sum = 0;
  for (const [topic, offsets] of Object.entries(to)) {
    for (const [partition, end] of Object.entries(offsets)) {
      sum += Math.max(0, end - (from[topic as Topic]?.[Number(partition)] ?? 0));
    }
  }
  return sum;
}

/** The progress of the read model: everything before it is indexed. */
export async function indexedEnds(
  model: Pick<ReadModel, 'progress'>,
  topics: readonly Topic[],
  signal: AbortSignal,
): Promise<Ends> {
  const ends = topics.map(async (topic) => [topic, (await patiently(signal, () => model.progress(topic))).next]);
  return Object.fromEntries(await Promise.all(ends));
}

/**
 * How many writes a slice has, and how many reads are under way at once. Few, and one, if the store shares this process's
 * thread; otherwise a single read would queue behind all other readers of the store.
 */
export function paceOf({ refreshMs }: Pick<ReadModel, 'refreshMs'>): {
  readonly slice: number;
  readonly atOnce: number;
} {
  return refreshMs.waited === 0 ? { slice: 100, atOnce: 1 } : { slice: 1_000, atOnce: 6 };
}

/** About 15 seconds in all. */
const PATIENCE = { first: 100, most: 5_000, attempts: 8 };

/**
 * Retries idempotent work, because a store may be away for a moment during hours of work. Throws the last fault, at once if
 * no retry can help, and throws when the signal aborts.
 */
export async function patiently<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  const refuseFinal = (error: unknown) => {
    if ([GenerationLost, GenerationSealed, UnreadableRecord].some((kind) => error instanceof kind)) throw error;
  };
  const result = await untilDone(signal, work, refuseFinal, PATIENCE);
  // Without an abort there is a result.
  signal.throwIfAborted();
  return result as Result;
}

/** Does the work for each item, up to `most` at a time. Rejects with the first failure, and then begins no more. */
export async function eachAtOnce<Item>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  try {
    await Promise.all(Array.from({ length: most }, worker));
  } finally {
    left.length = 0;
  }
}

/** The result of the work on each item, in order; the work on up to `most` more items is under way meanwhile. */
export async function* readAhead<Item, Result>(
  items: AsyncIterable<Item>,
  most: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const ahead: Promise<Result>[] = [];
  for await (const item of items) {
    const result = work(item);
    // A failure is thrown when its turn comes.
    result.catch(() => undefined);
    ahead.push(result);
    if (ahead.length > most) yield await (ahead.shift() as Promise<Result>);
  }
  for (const result of ahead) yield await result;
}
