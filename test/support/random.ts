/**
 * Every random choice of a test follows from this number, so `SEED=7 npm test -- ...` repeats a run and another number tries
 * other choices. It does not repeat when the machine carries them out.
 */
export const SEED = Number(process.env.SEED || 1);
if (!Number.isInteger(SEED)) throw new Error(`SEED must be a whole number, not "${process.env.SEED}"`);

/** Random choices that a seed repeats. */
export interface Random {
  /** From 0 to below 1. */
  (): number;
  /** Whole, from `least` to `most`. */
  whole(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** True with this probability. */
  chance(probability: number): boolean;
  bytes(length: number): Buffer;
}

/** The choices of one purpose, from `SEED`: one more choice for one purpose changes no other. */
export function randomFor(purpose: string): Random {
  let mixed = SEED;
  for (const char of purpose) mixed = (Math.imul(mixed, 31) + (char.codePointAt(0) ?? 0)) >>> 0;
  return randomOf(mixed);
}

/** mulberry32: small, and good enough for choosing. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return Object.assign(next, {
    whole: (least: number, most: number) => least + Math.floor(next() * (most - least + 1)),
    pick<Item>(items: readonly Item[]): Item {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
    chance: (probability: number) => next() < probability,
    bytes: (length: number) => Buffer.from(Uint8Array.from({ length }, () => next() * 256)),
  });
}
