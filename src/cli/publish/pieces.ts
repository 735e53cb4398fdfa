import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  END,
  isSpace,
  JsonTokens,
  OPEN_ARRAY,
  skipSpace,
} from '../../contract/json-tokens.js';
import { LIMITS } from '../../contract/limits.js';

/** The longest piece: no request takes more, and a file without line ends must not fill the memory. */
export const LARGEST_PIECE = LIMITS.bulkBytes / 2;

/** One event's bytes in the input, and the line it begins on; or why there is none. */
export interface Piece {
  line: number;
  bytes?: Buffer;
  fault?: string;
}

const TOO_LARGE = `larger than ${LARGEST_PIECE / 1024 / 1024} MiB`;
const [LF, CR] = [0x0a, 0x0d];

/** Cuts bytes into pieces as they come. */
interface Splitter {
  push(chunk: Buffer): Generator<Piece>;
  end(): Generator<Piece>;
}

/**
 * The events of a file, unchanged: the lines of NDJSON, the elements of a JSON array, or else JSON documents one after
 * another. Memory stays flat, also for endless input.
 */
export async function* readPieces(input: AsyncIterable<Buffer | string>): AsyncGenerator<Piece> {
  let head: Buffer = Buffer.alloc(0);
  let splitter: Splitter | undefined;
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (splitter) {
      yield* splitter.push(bytes);
      continue;
    }
    head = head.length > 0 ? Buffer.concat([head, bytes]) : bytes;
    splitter = chooseSplitter(head, false);
    if (splitter) yield* splitter.push(withoutMark(head));
  }
  if (!splitter) {
    splitter = chooseSplitter(head, true);
    if (splitter) yield* splitter.push(withoutMark(head));
  }
  if (splitter) yield* splitter.end();
}

/** The splitter for a file that begins so; undefined if more of the file is needed to decide. */
function chooseSplitter(head: Buffer, ended: boolean): Splitter | undefined {
  const text = withoutMark(head);
  const start = skipSpace(text, 0);
  if (start === text.length) return undefined;
  if (text[start] === OPEN_ARRAY) return new ValueSplitter(true);
  const end = text.indexOf(LF, start);
  if (end < 0 && !ended && text.length < LARGEST_PIECE) return undefined;
  const line = text.subarray(start, end < 0 ? text.length : end);
  // An object that goes on after its first line is a document laid out for people.
  return end >= 0 && isOpen(line) ? new ValueSplitter(false) : new LineSplitter();
}

const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

function isOpen(line: Buffer): boolean {
  const tokens = new JsonTokens(line);
  while (tokens.next() !== END);
  return tokens.depth > 0 && !tokens.isCut;
}

/** Collects the bytes of one piece over chunks, but not more than a piece may have. */
class Collector {
  #parts: Buffer[] = [];
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  add(part: Buffer): void {
    this.#size += part.length;
    if (this.#size <= LARGEST_PIECE) this.#parts.push(part);
    else this.#parts = [];
  }

  take(line: number): Piece {
    const piece = this.#size > LARGEST_PIECE ? { line, fault: TOO_LARGE } : { line, bytes: Buffer.concat(this.#parts) };
    this.#parts = [];
    this.#size = 0;
    return piece;
  }
}

class LineSplitter implements Splitter {
  #line = 1;
  readonly #collector = new Collector();

  *push(chunk: Buffer): Generator<Piece> {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#collector.add(chunk.subarray(start, end));
      yield* this.#take();
      this.#line++;
      start = end + 1;
    }
    if (start < chunk.length) this.#collector.add(chunk.subarray(start));
  }

  *end(): Generator<Piece> {
    yield* this.#take();
  }

  /** A line without its end; blank lines are nothing. */
  *#take(): Generator<Piece> {
    const { line, bytes, fault } = this.#collector.take(this.#line);
    if (fault !== undefined) yield { line, fault };
    if (bytes === undefined) return;
    const text = bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
    if (skipSpace(text, 0) < text.length) yield { line, bytes: text };
  }
}

/** The elements of one array, or values that follow one another with white space between them. */
class ValueSplitter implements Splitter {
  #line = 1;
  /** The line on which the piece begins, once it has. */
  #begin: number | undefined;
  #opened = false;
  #closed = false;
  #elements = 0;
  readonly #tokens = new JsonTokens();
  readonly #collector = new Collector();

  constructor(readonly inArray: boolean) {}

  *push(chunk: Buffer): Generator<Piece> {
    const tokens = this.#tokens;
    tokens.feed(chunk);
    /** Of the piece, in this chunk. */
    let start = 0;
    for (let counted = 0; ; counted = tokens.start) {
      const { end: before, depth } = tokens;
      const token = tokens.next();
      this.#line += linesIn(chunk.subarray(counted, tokens.start));
      const isApart = !this.inArray && depth === 0 && tokens.start > before;
      if (isApart && this.#begin !== undefined) yield this.#piece(chunk.subarray(start, before));
      if (token === END) break;
      if (this.inArray && this.#isOutside(token, depth)) {
        yield* this.#outside(token, chunk.subarray(start, tokens.start));
        start = tokens.end;
        continue;
      }
      if (this.#begin === undefined) [this.#begin, start] = [this.#line, tokens.start];
      const isWhole = !this.inArray && tokens.depth === 0 && (token === CLOSE_OBJECT || token === CLOSE_ARRAY);
      if (isWhole) yield this.#piece(chunk.subarray(start, tokens.end));
    }
    if (this.#begin !== undefined) this.#collector.add(chunk.subarray(start));
  }

  *end(): Generator<Piece> {
    if (this.inArray && !this.#closed) {
      yield { line: this.#line, fault: 'the file ends before the array is closed' };
    } else if (this.#begin !== undefined) yield this.#piece(Buffer.alloc(0));
  }

  /** Whether the token belongs to no element; `depth` is the depth before it. */
  #isOutside(token: number, depth: number): boolean {
    return !this.#opened || this.#closed || (depth === 1 && (token === COMMA || token === CLOSE_ARRAY));
  }

  /** Reads the brackets of the array and its commas. Text after the closing bracket is one fault. */
  *#outside(token: number, rest: Buffer): Generator<Piece> {
    if (this.#closed) {
      if (this.#elements >= 0) yield { line: this.#line, fault: 'there is text after the end of the array' };
      this.#elements = -1;
      return;
    }
    if (!this.#opened) {
      this.#opened = true;
      return;
    }
    this.#closed = token === CLOSE_ARRAY;
    if (this.#begin !== undefined) yield this.#piece(rest);
    else if (!this.#closed || this.#elements > 0) {
      yield { line: this.#line, fault: 'an element is missing before this comma or bracket' };
    }
    this.#elements += 1;
  }

  #piece(rest: Buffer): Piece {
    this.#collector.add(rest);
    const piece = trimmed(this.#collector.take(this.#begin ?? this.#line));
    this.#begin = undefined;
    return piece;
  }
}

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) lines += 1;
  return lines;
}

/** Without trailing white space. */
function trimmed({ bytes, ...piece }: Piece): Piece {
  if (!bytes) return piece;
  let end = bytes.length;
  while (end > 0 && isSpace(bytes[end - 1] as number)) end--;
  return { ...piece, bytes: bytes.subarray(0, end) };
}
