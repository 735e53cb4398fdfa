import { hash } from 'node:crypto';

/** A text is identified by the first 128 bits of its SHA-256. Collisions are infeasible to find. */
export const WORDS = 4;
const SMALLEST = 64;

/** How full the table may get, of 8. */
const FULLEST = 7;

/** The rows of a table, one after the other. */
export interface TableImage {
  readonly digests: Uint32Array;
  readonly numbers: Float64Array;
}

/**
 * A few numbers for each text, in typed arrays: 16 bytes and 8 a number, whatever the text is, and outside the heap. The
 * texts are not kept, so they cannot be listed.
 *
 * Rows are not removed one by one. A table that is full drops those that `isKept` gives up, and grows only if most are left.
 */
export class DigestTable<Row extends readonly number[]> {
  /** Rows in use, among them those that `isKept` would give up. */
  private size = 0;
  private capacity = SMALLEST;
  private digests: Uint32Array;
  /** A free row has NaN as its first number. */
  private numbers: Float64Array;
  /** A text is mostly looked up again at once. */
  private last = '';
  private readonly lastDigest = digestInto(new Uint32Array(WORDS), '');

  constructor(
    private readonly width: Row['length'],
    private readonly isKept: (row: Row) => boolean = () => true,
  ) {
    this.digests = new Uint32Array(SMALLEST * WORDS);
    this.numbers = new Float64Array(SMALLEST * width).fill(Number.NaN);
  }

  get(text: string): Row | undefined {
    const at = this.placeOf(this.digest(text), 0);
    return this.isFree(at) ? undefined : this.rowAt(at);
  }

  /** Replaces what there is for the text. */
  set(text: string, row: Row): void {
    if (this.size * 8 >= this.capacity * FULLEST) this.renew();
    this.put(this.digest(text), 0, row);
  }

  image(): TableImage {
    const { size, width } = this;
    const digests = new Uint32Array(size * WORDS);
    const numbers = new Float64Array(size * width);
    for (let at = 0, row = 0; at < this.capacity; at += 1) {
      if (this.isFree(at)) continue;
      for (let word = 0; word < WORDS; word += 1) digests[row * WORDS + word] = this.digests[at * WORDS + word] ?? 0;
      for (let n = 0; n < width; n += 1) numbers[row * width + n] = this.numbers[at * width + n] ?? 0;
      row += 1;
    }
    return { digests, numbers };
  }

  /** Holds the rows of the image, and no others. */
  restore({ digests, numbers }: TableImage): void {
    const rows = digests.length / WORDS;
    this.clear(rows);
    for (let row = 0; row < rows; row += 1) {
      this.put(digests, row * WORDS, numbers.subarray(row * this.width, (row + 1) * this.width));
    }
  }

  private digest(text: string): Uint32Array {
    if (this.last !== text) digestInto(this.lastDigest, text);
    this.last = text;
    return this.lastDigest;
  }

  private put(digests: Uint32Array, from: number, row: ArrayLike<number>): void {
    const at = this.placeOf(digests, from);
    if (this.isFree(at)) {
      this.size += 1;
      for (let word = 0; word < WORDS; word += 1) this.digests[at * WORDS + word] = digests[from + word] ?? 0;
    }
    this.numbers.set(row, at * this.width);
  }

  /** The row of the digest, or the free one where it belongs. There is always a free one. */
  private placeOf(digests: Uint32Array, from: number): number {
    const mask = this.capacity - 1;
    let at = (digests[from] ?? 0) & mask;
    while (!this.isFree(at) && !this.isAt(at, digests, from)) at = (at + 1) & mask;
    return at;
  }

  private isAt(at: number, digests: Uint32Array, from: number): boolean {
    const mine = at * WORDS;
    for (let word = 0; word < WORDS; word += 1) {
      if (this.digests[mine + word] !== digests[from + word]) return false;
    }
    return true;
  }

  private isFree(at: number): boolean {
    return Number.isNaN(this.numbers[at * this.width]);
  }

  private rowAt(at: number): Row {
    const row: number[] = [];
    for (let n = at * this.width; row.length < this.width; n += 1) row.push(this.numbers[n] ?? 0);
    return row as unknown as Row;
  }

  private keptRows(): number[] {
    const kept: number[] = [];
    for (let at = 0; at < this.capacity; at += 1) if (!this.isFree(at) && this.isKept(this.rowAt(at))) kept.push(at);
    return kept;
  }

  /** Makes room for twice so many rows. */
  private clear(rows: number): void {
    this.capacity = SMALLEST;
    while (this.capacity < rows * 2) this.capacity *= 2;
    this.size = 0;
    this.digests = new Uint32Array(this.capacity * WORDS);
    this.numbers = new Float64Array(this.capacity * this.width).fill(Number.NaN);
  }

  private renew(): void {
    const { digests, numbers, width } = this;
    const kept = this.keptRows();
    this.clear(kept.length);
    for (const at of kept) this.put(digests, at * WORDS, numbers.subarray(at * width, (at + 1) * width));
  }
}

function digestInto(words: Uint32Array, text: string): Uint32Array {
  // A string of bytes is made in half of the time of a buffer.
  const bytes = hash('sha256', text, 'binary');
  for (let word = 0, at = 0; word < WORDS; word += 1, at += 4) {
    words[word] =
      (bytes.charCodeAt(at) << 24) |
      (bytes.charCodeAt(at + 1) << 16) |
      (bytes.charCodeAt(at + 2) << 8) |
      bytes.charCodeAt(at + 3);
  }
  return words;
}
