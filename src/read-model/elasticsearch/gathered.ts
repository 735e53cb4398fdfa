import type { OutcomeCode, Write } from '../document.js';

type Apply = (writes: readonly Write[]) => Promise<OutcomeCode[]>;

/** So many are under way at once: with each one's requests, that bounds the memory for their bodies. */
const MOST_RUNS = 4;

/** As many writes are a full run. A caller with more goes alone. */
const FULL = 1_000;

interface Caller {
  readonly writes: readonly Write[];
  readonly resolve: (codes: OutcomeCode[] | Promise<OutcomeCode[]>) => void;
}

/**
 * Applies the writes of callers that wait at the same time together. With many partitions each batch has few writes, and
 * Elasticsearch takes one request with a hundred documents for little more than one with a single one. Only one run that is
 * not full is under way: who comes meanwhile waits for it, and goes with the others. A caller's writes stay together and in
 * order; the writes of different callers have no order. When a run fails, each of its callers is tried alone, so that
 * writes that Elasticsearch refuses hold nobody else up.
 */
export class GatheredWrites {
  private waiting: Caller[] = [];
  private runs = 0;
  private isGathering = false;

  constructor(private readonly apply: Apply) {}

  add(writes: readonly Write[]): Promise<OutcomeCode[]> {
    return new Promise((resolve) => {
      this.waiting.push({ writes, resolve });
      this.start();
    });
  }

  private start(): void {
    while (this.runs < MOST_RUNS && this.waiting.length > 0) {
      const { callers, isFull } = this.next();
      if (!isFull && this.isGathering) return;
      this.waiting.splice(0, callers.length);
      this.runs += 1;
      this.isGathering ||= !isFull;
      void this.run(callers).finally(() => {
        this.runs -= 1;
        this.isGathering &&= isFull;
        this.start();
      });
    }
  }

  /** Full if no other of those that wait fits in. */
  private next(): { readonly callers: readonly Caller[]; readonly isFull: boolean } {
    let count = 0;
    const excess = this.waiting.findIndex(({ writes }, at) => {
      count += writes.length;
      return at > 0 && count > FULL;
    });
    return { callers: this.waiting.slice(0, excess < 0 ? undefined : excess), isFull: count >= FULL };
  }

  /** Never rejects. */
  private async run(callers: readonly Caller[]): Promise<void> {
    try {
      const codes = await this.apply(callers.flatMap(({ writes }) => writes));
      for (const { writes, resolve } of callers) resolve(codes.splice(0, writes.length));
    } catch (error) {
      for (const { writes, resolve } of callers) {
        const alone = callers.length === 1 ? Promise.reject(error) : this.apply(writes);
        resolve(alone);
        await alone.catch(() => undefined);
      }
    }
  }
}
