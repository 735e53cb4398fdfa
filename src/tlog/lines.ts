import { VerificationFailed } from './failure.js';

const NEWLINE = 0x0a;
/** An event has at most 256 KiB. */
const LONGEST_LINE = 16 * 2 ** 20;

/** The lines of a file that comes in chunks, without their newlines; the last one may lack its own. */
export class Lines {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #at = 0;
  #isOver = false;
  #read = 0;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Bytes of all chunks until now. */
  get bytes(): number {
    return this.#read;
  }

  /** The next line if it is there already: waiting for each line would cost more than to hash it. */
  take(): Buffer | undefined {
    const end = this.#rest.indexOf(NEWLINE, this.#at);
    if (end < 0) return undefined;
    const line = this.#rest.subarray(this.#at, end);
    this.#at = end + 1;
    return line;
  }

  /** Undefined after the last line. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const line = this.take();
      if (line) return line;
      if (this.#isOver) return this.#last();
      await this.#fill();
    }
  }

  async #fill(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) {
      this.#isOver = true;
      return;
    }
    this.#read += value.length;
    const rest = this.#rest.subarray(this.#at);
    if (rest.length > LONGEST_LINE)
      throw new VerificationFailed('format', `A line is longer than ${LONGEST_LINE} bytes.`);
    this.#rest = rest.length ? Buffer.concat([rest, value]) : value;
    this.#at = 0;
  }

  #last(): Buffer | undefined {
    const line = this.#rest.subarray(this.#at);
    this.#at = this.#rest.length;
    return line.length ? line : undefined;
  }
}
