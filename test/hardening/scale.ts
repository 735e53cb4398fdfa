import { type Random, randomOf } from '../faults/random.js';

/**
 * How much the tests of this folder do: `HARDENING_SCALE` is a factor (1: what fits into every run), or `full`. The
 * choices repeat with `HARDENING_SEED`.
 */
const SCALE = process.env.HARDENING_SCALE || '1';
export const FULL = SCALE === 'full';
export const SEED = Number(process.env.HARDENING_SEED || 1);
if (!Number.isInteger(SEED) || !(FULL || Number(SCALE) > 0)) {
  throw new Error('HARDENING_SCALE is a number above 0 or "full", HARDENING_SEED a whole number');
}

/** How many of something: `normal` in every run, `full` in a full one. */
export function scaled(normal: number, full: number): number {
  return FULL ? full : Math.max(1, Math.min(full, Math.round(normal * Number(SCALE))));
}

/** Chance of its own for each purpose, so that one more choice in one test changes no other. */
export function randomFor(purpose: string): Random {
  let mixed = SEED;
  for (const char of purpose) mixed = (Math.imul(mixed, 31) + (char.codePointAt(0) ?? 0)) >>> 0;
  return randomOf(mixed);
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
