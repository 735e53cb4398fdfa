import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { member } from '../../contract/json-text.js';
import type { Piece } from './pieces.js';

const START_SIZE = 1 << 12;

/** One event to publish: its JSON text from the file, and the key that makes publishing it again harmless. */
export interface Item {
  line: number;
  event: string;
  key: string;
}

/** A piece of the input that is no event. */
export interface Fault {
  line: number;
  fault: string;
}

/**
 * Turns pieces into items. A key is the SHA-256 of the piece's bytes and the number of its occurrence in this file: the
 * same file published again adds nothing, and equal lines of one file are still events of their own.
 */
export async function* readItems(pieces: AsyncIterable<Piece>): AsyncGenerator<Item | Fault> {
  const occurrences = new Occurrences();
  for await (const { line, bytes, fault } of pieces) {
    const read = bytes ? readEvent(bytes) : { fault: fault ?? 'empty' };
    if ('fault' in read) {
      yield { line, fault: read.fault };
      continue;
    }
    const hash = createHash('sha256')
      .update(bytes as Buffer)
      .digest();
    yield { line, event: read.event, key: `${hash.toString('hex')}-${occurrences.next(hash)}` };
  }
}

/** The event's own text: the piece itself, or the member `event` of the form `{source, event}`. */
function readEvent(bytes: Buffer): { event: string } | { fault: string } {
  if (!isUtf8(bytes)) return { fault: 'not UTF-8' };
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `not JSON: ${(error as Error).message}` };
  }
  if (!isObject(value)) return { fault: 'not a JSON object' };
  const wrapped = isObject(value.event) && value.resource === undefined;
  return { event: wrapped ? (member(text, 'event') ?? text) : text };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The item as one line of a bulk request. A line feed within JSON text is always between tokens, where a space means
 * the same.
 */
export const bulkLine = ({ key, event }: Item): string =>
  `{"idempotencyKey":${JSON.stringify(key)},"event":${event.replace(/[\r\n]/g, ' ')}}\n`;

/**
 * Counts how often each hash occurred, in 12 bytes a hash, so that a file of many million lines can be counted. It knows
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
