const START_SIZE = 1 << 12;

/**
 * Counts how often each hash came by, in 12 bytes a hash, so that a file of many million lines can be counted. It knows
 * a hash by its first 64 bits. Should two ever share them, the second line merely gets a higher number, and the same
 * one on every run: keys stay unique and repeatable, because they carry the whole hash beside the number.
 */
export class Occurrences {
  #size = START_SIZE;
  #used = 0;
  #high = new Uint32Array(START_SIZE);
  #low = new Uint32Array(START_SIZE);
  #count = new Uint32Array(START_SIZE);

  /** The number of this occurrence, from 1. */
  next(hash: Buffer): number {
    if (this.#used * 3 > this.#size * 2) this.#grow();
    const slot = this.#slot(hash.readUInt32BE(0), hash.readUInt32BE(4));
    const count = (this.#count[slot] ?? 0) + 1;
    if (count === 1) this.#used++;
    this.#count[slot] = count;
    return count;
  }

  /** The hash's place, taken for it if it is new: open addressing, linear probing. */
  #slot(high: number, low: number): number {
    let slot = low & (this.#size - 1);
    while (this.#count[slot] !== 0 && (this.#high[slot] !== high || this.#low[slot] !== low)) {
      slot = (slot + 1) & (this.#size - 1);
    }
    this.#high[slot] = high;
    this.#low[slot] = low;
    return slot;
  }

  #grow(): void {
    const [high, low, count] = [this.#high, this.#low, this.#count];
    this.#size *= 2;
    this.#high = new Uint32Array(this.#size);
    this.#low = new Uint32Array(this.#size);
    this.#count = new Uint32Array(this.#size);
    count.forEach((times, old) => {
      if (times > 0) this.#count[this.#slot(high[old] ?? 0, low[old] ?? 0)] = times;
    });
  }
}
