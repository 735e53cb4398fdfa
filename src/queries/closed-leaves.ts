import { turnOfTheLoop } from '../platform/waiting.js';
import { type Nodes, perfectSubtrees } from '../tlog/merkle.js';
import { type ClosedReasons, closedLine } from '../tlog/sidecar.js';
import { TILE_WIDTH } from '../tlog/tile.js';

/**
 * Why a caller gets no event for a leaf. Claims of the service: nothing proves them. `filter`: the export has filters, and says
 * nothing more. `context`: the caller may not read all contexts. `unindexed`: the record is among the dead letters.
 * `duplicate`: its identifier is that of an earlier record, whose event the export has.
 */
export type Reason = 'filter' | 'context' | 'expired' | 'unindexed' | 'duplicate';

/** The leaves of a tree that an export does not open: a bit a leaf, whatever order events come in. */
export class ClosedLeaves {
  private readonly opened: Uint8Array;

  constructor(
    private readonly size: number,
    private readonly nodes: Nodes,
    /** One for all of them, or by leaf. */
    private readonly reason: Reason | ((index: number) => Promise<Reason>),
    /** No run goes on from before this leaf: so the root of a smaller tree follows from the runs too. */
    private readonly split = 0,
  ) {
    this.opened = new Uint8Array(Math.ceil(size / 8));
  }

  open(index: number): void {
    const byte = Math.floor(index / 8);
    this.opened[byte] = (this.opened[byte] ?? 0) | (1 << (index % 8));
  }

  /** A line for each run of closed leaves, in order, so many lines at a time. */
  async *pages(limit: number): AsyncGenerator<string[]> {
    let lines: string[] = [];
    for (let from = this.next(0, false); from < this.size; ) {
      const next = this.next(from, true);
      const end = from < this.split && this.split < next ? this.split : next;
      lines.push(await this.line(from, end - from));
      if (lines.length === limit) {
        yield lines;
        lines = [];
      }
      from = this.next(end, false);
    }
    if (lines.length > 0) yield lines;
  }

  private async line(from: number, count: number): Promise<string> {
    const hashes: Buffer[] = [];
    for (const { level, index } of perfectSubtrees(from, count)) hashes.push(await this.nodes(level, index));
    return closedLine({ from, count, hashes, reasons: await this.reasons(from, count) });
  }

  private async reasons(from: number, count: number): Promise<ClosedReasons> {
    if (typeof this.reason === 'string') return { [this.reason]: count };
    const reasons: Partial<Record<Reason, number>> = {};
    for (let index = from; index < from + count; index += 1) {
      const reason = await this.reason(index);
      reasons[reason] = (reasons[reason] ?? 0) + 1;
      if (index % TILE_WIDTH === 0) await turnOfTheLoop();
    }
    return reasons;
  }

  /** The first leaf from here on that is opened, or not; the size if there is none. */
  private next(from: number, isOpened: boolean): number {
    const skipped = isOpened ? 0x00 : 0xff;
    let index = from;
    while (index < this.size) {
      const bits = this.opened[Math.floor(index / 8)] ?? 0;
      if (index % 8 === 0 && bits === skipped) index += 8;
      else if (((bits >> (index % 8)) & 1) === (isOpened ? 1 : 0)) return index;
      else index += 1;
    }
    return this.size;
  }
}
