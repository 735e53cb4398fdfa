import type { Offsets, Topic } from '../../event-log/event-log.js';
import { UnreadableRecord } from '../../event-log/record-schema.js';
import { untilDone } from '../../platform/retry.js';
import { GenerationLost, GenerationSealed, type ReadModel } from '../../read-model/read-model.js';

/** How far a long work is: `done` of `total` records in this phase, as far as is known. */
export type Tell = (phase: string, done: number, total: number) => void;

/** Places in the log: next offsets by topic. */
export type Ends = Readonly<Partial<Record<Topic, Offsets>>>;

/** Offsets are dense enough to be counted. */
export function distance(from: Ends, to: Ends): number {
  let sum = 0;
  for (const [topic, offsets] of Object.entries(to)) {
    for (const [partition, end] of Object.entries(offsets)) {
      sum += Math.max(0, end - (from[topic as Topic]?.[Number(partition)] ?? 0));
    }
  }
  return sum;
}

/**
 * How much is taken at once. Where the store shares this process's one thread, that is little, and one after the other;
 * elsewhere a single one would wait for all readers that keep the store busy.
 */
export function paceOf({ refreshMs }: Pick<ReadModel, 'refreshMs'>): {
  readonly slice: number;
  readonly atOnce: number;
} {
  return refreshMs.waited === 0 ? { slice: 100, atOnce: 1 } : { slice: 1_000, atOnce: 6 };
}

/** About a quarter of a minute in all. */
const PATIENCE = { first: 100, most: 5_000, attempts: 8 };

/**
 * Repeats work that changes nothing when it is repeated, because a store may be away for a moment in the middle of hours.
 * Throws what still fails then, and at once what will not pass; throws when the signal aborts.
 */
export async function patiently<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  const refuseFinal = (error: unknown) => {
    if ([GenerationLost, GenerationSealed, UnreadableRecord].some((kind) => error instanceof kind)) throw error;
  };
  const result = await untilDone(signal, work, refuseFinal, PATIENCE);
  // Only then is there no result.
  signal.throwIfAborted();
  return result as Result;
}

/** Does the work for each, so many at a time. Rejects with the first failure, and begins nothing more then. */
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

/** What the work makes of each, in order; the work of so many more is under way meanwhile. */
export async function* readAhead<Item, Result>(
  items: AsyncIterable<Item>,
  most: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const ahead: Promise<Result>[] = [];
  for await (const item of items) {
    const result = work(item);
    // It is told when its turn comes.
    result.catch(() => undefined);
    ahead.push(result);
    if (ahead.length > most) yield await (ahead.shift() as Promise<Result>);
  }
  for (const result of ahead) yield await result;
}
