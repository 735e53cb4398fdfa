import { SEED } from '../support/random.js';

/** How much the tests of this folder do: `HARDENING_SCALE` is a factor (1: the usual figures), or `full`. */
const SCALE = process.env.HARDENING_SCALE || '1';
export const FULL = SCALE === 'full';
if (!(FULL || Number(SCALE) > 0)) throw new Error('HARDENING_SCALE must be a number above 0, or "full"');

/** How many of something: `normal` in every run, `full` in a full one. */
export function scaled(normal: number, full: number): number {
  return FULL ? full : Math.max(1, Math.min(full, Math.round(normal * Number(SCALE))));
}

/** A line of the run's own report; a number that nobody sees persuades nobody. */
export function tell(line: string): void {
  process.stdout.write(`${line} (seed ${SEED}, scale ${SCALE})\n`);
}

/** Counts by name, in the order of their first appearance. */
export class Tally {
  readonly counts = new Map<string, number>();

  add(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  toString(): string {
    return [...this.counts].map(([name, count]) => `${count} ${name}`).join(', ');
  }
}
