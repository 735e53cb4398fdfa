import type { Position, Topic } from '../event-log/event-log.js';
import type { ProgressFeed, ProgressUpdate, RecordOutcome } from './progress-feed.js';

/**
 * The outcome of a record: searchable as its own document, one of the other outcomes, or not known in time.
 * `unconfirmed`: a projector indexed it, and may have died before it announced the outcome.
 */
export type Indexed = { readonly code: 'searchable' | 'unconfirmed' | 'timeout' } | RecordOutcome;

/** Whether searches find a record that always becomes a document of its own, as those of `control` do. */
export function isFound({ code }: Indexed): boolean {
  return code === 'searchable' || code === 'unconfirmed';
}

interface Waiter {
  readonly offset: number;
  readonly release: (indexed: Indexed) => void;
}

interface Watermark {
  generation: number;
  searchable: number;
  /** Outcomes before this offset may be unknown. */
  confirmedFrom: number;
  readonly waiters: Set<Waiter>;
  /** Kept because an outcome may be announced before the caller knows the position. The oldest are forgotten. */
  readonly outcomes: Map<number, RecordOutcome>;
}

const OUTCOMES_KEPT = 20_000;

/**
 * Lets a caller wait until its record is searchable. One watermark a partition releases all callers below it, so the cost
 * does not grow with the number of processes, and the next update replaces a lost one.
 */
export class Waiters {
  private readonly watermarks = new Map<string, Watermark>();
  private readonly stop: () => void;
  private closed = false;

  constructor(feed: ProgressFeed) {
    this.stop = feed.subscribe((update) => this.advance(update));
  }

  /** Never rejects. After `timeout` the outcome of the record is unknown. */
  waitFor(topic: Topic, position: Position, timeoutMs: number): Promise<Indexed> {
    const watermark = this.watermark(topic, position.partition);
    if (position.offset < watermark.searchable) {
      return Promise.resolve(outcomeOf(watermark, position.offset));
    }
    if (this.closed) return Promise.resolve({ code: 'timeout' });
    return new Promise((resolve) => {
      const waiter: Waiter = {
        offset: position.offset,
        release: (indexed) => {
          clearTimeout(timer);
          watermark.waiters.delete(waiter);
          resolve(indexed);
        },
      };
      const timer = setTimeout(() => waiter.release({ code: 'timeout' }), timeoutMs);
      watermark.waiters.add(waiter);
    });
  }

  /** As `waitFor`, for many records that one caller waits for. */
  async waitForAll(topic: Topic, positions: readonly Position[], timeoutMs: number): Promise<readonly Indexed[]> {
    const [only] = positions;
    if (only && positions.length === 1) return [await this.waitFor(topic, only, timeoutMs)];
    const last = new Map<number, Position>();
    for (const position of positions) {
      if (position.offset >= (last.get(position.partition)?.offset ?? 0)) last.set(position.partition, position);
    }
    await Promise.all([...last.values()].map((position) => this.waitFor(topic, position, timeoutMs)));
    return positions.map(({ partition, offset }) => {
      const watermark = this.watermark(topic, partition);
      return offset < watermark.searchable ? outcomeOf(watermark, offset) : { code: 'timeout' };
    });
  }

  /** Ends every wait with `timeout`, now and from now on: the process is stopping. */
  close(): void {
    this.closed = true;
    this.stop();
    for (const { waiters } of this.watermarks.values()) {
      for (const waiter of [...waiters]) waiter.release({ code: 'timeout' });
    }
  }

  private advance(update: ProgressUpdate): void {
    const watermark = this.watermark(update.topic, update.partition);
    if (update.generation < watermark.generation) return;
    if (update.generation > watermark.generation) {
      watermark.generation = update.generation;
      watermark.searchable = 0;
    }
    const { since = 0 } = update;
    if (since > watermark.searchable) watermark.confirmedFrom = Math.max(watermark.confirmedFrom, since);
    for (const outcome of update.outcomes) watermark.outcomes.set(outcome.offset, outcome);
    forgetOldest(watermark.outcomes);
    watermark.searchable = Math.max(watermark.searchable, update.searchable);
    for (const waiter of [...watermark.waiters]) {
      if (waiter.offset >= watermark.searchable) continue;
      waiter.release(outcomeOf(watermark, waiter.offset));
    }
  }

  private watermark(topic: Topic, partition: number): Watermark {
    const key = `${topic}/${partition}`;
    const found = this.watermarks.get(key);
    if (found) return found;
    const made = {
      generation: 0,
      searchable: 0,
      confirmedFrom: 0,
      waiters: new Set<Waiter>(),
      outcomes: new Map<number, RecordOutcome>(),
    };
    this.watermarks.set(key, made);
    return made;
  }
}

/** The outcome of a record before the watermark. */
function outcomeOf({ outcomes, confirmedFrom }: Watermark, offset: number): Indexed {
  return outcomes.get(offset) ?? { code: offset < confirmedFrom ? 'unconfirmed' : 'searchable' };
}

function forgetOldest(outcomes: Map<number, RecordOutcome>): void {
  for (const offset of outcomes.keys()) {
    if (outcomes.size <= OUTCOMES_KEPT) return;
    outcomes.delete(offset);
  }
}
