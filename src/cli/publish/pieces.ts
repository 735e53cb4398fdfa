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
const [LF, CR, TAB, SPACE] = [0x0a, 0x0d, 0x09, 0x20];
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = [0x5b, 0x5d, 0x7b, 0x7d];

const isSpace = (byte: number): boolean => byte === SPACE || byte === LF || byte === CR || byte === TAB;

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
  const start = text.findIndex((byte) => !isSpace(byte));
  if (start < 0) return undefined;
  if (text[start] === OPEN_LIST) return new ValueSplitter(true);
  const end = text.indexOf(LF, start);
  if (end < 0 && !ended && text.length < LARGEST_PIECE) return undefined;
  const line = text.subarray(start, end < 0 ? text.length : end);
  // An object that goes on after its first line is a document laid out for people.
  return end >= 0 && isOpen(line) ? new ValueSplitter(false) : new LineSplitter();
}

const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

function isOpen(line: Buffer): boolean {
  const scan = new Scan();
  for (const byte of line) scan.step(byte);
  return scan.depth > 0 && !scan.inString;
}

/** How deep in brackets, and whether in a string, a place in JSON text is. */
class Scan {
  depth = 0;
  inString = false;
  #escaped = false;

  step(byte: number): void {
    if (this.inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.inString = false;
    } else if (byte === QUOTE) this.inString = true;
    else if (byte === OPEN_MAP || byte === OPEN_LIST) this.depth++;
    else if (byte === CLOSE_MAP || byte === CLOSE_LIST) this.depth--;
  }
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
    if (!text.every(isSpace)) yield { line, bytes: text };
  }
}

/** The elements of one array, or values that follow one another with white space between them. */
class ValueSplitter implements Splitter {
  #line = 1;
  #begin = 1;
  #scan = new Scan();
  #opened = false;
  #closed = false;
  #elements = 0;
  readonly #collector = new Collector();

  constructor(readonly inArray: boolean) {}

  *push(chunk: Buffer): Generator<Piece> {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      const outside = this.#scan.depth === 0 && !this.#scan.inString;
      const isBegin = this.#collector.isEmpty && start === i;
      if (byte === LF) this.#line++;
      if (outside && isBegin && (isSpace(byte) || this.#closed || !this.#isOpened())) {
        if (!isSpace(byte)) yield* this.#bracket(byte);
        start = i + 1;
      } else if (outside && this.inArray && (byte === COMMA || byte === CLOSE_LIST)) {
        this.#collector.add(chunk.subarray(start, i));
        yield* this.#element(byte === COMMA);
        start = i + 1;
      } else {
        if (isBegin) this.#begin = this.#line;
        this.#scan.step(byte);
        if (this.inArray || this.#scan.depth !== 0 || this.#scan.inString || !this.#endsValue(byte)) continue;
        this.#collector.add(chunk.subarray(start, i + 1));
        yield trimmed(this.#collector.take(this.#begin));
        this.#scan = new Scan();
        start = i + 1;
      }
    }
    if (start < chunk.length) this.#collector.add(chunk.subarray(start));
  }

  *end(): Generator<Piece> {
    if (this.inArray && !this.#closed) {
      yield { line: this.#line, fault: 'the file ends before the array is closed' };
    } else if (!this.#collector.isEmpty) yield trimmed(this.#collector.take(this.#begin));
  }

  #isOpened(): boolean {
    return this.#opened || !this.inArray;
  }

  #endsValue(byte: number): boolean {
    return byte === CLOSE_MAP || byte === CLOSE_LIST || isSpace(byte);
  }

  /** Reads the bracket that opens the array. Text after the one that closes it is a fault, reported once. */
  *#bracket(byte: number): Generator<Piece> {
    if (!this.#closed) this.#opened = byte === OPEN_LIST;
    else if (this.#elements >= 0) {
      this.#elements = -1;
      yield { line: this.#line, fault: 'there is text after the end of the array' };
    }
  }

  *#element(more: boolean): Generator<Piece> {
    if (!more) this.#closed = true;
    if (this.#collector.isEmpty && !more && this.#elements === 0) return;
    this.#elements++;
    if (this.#collector.isEmpty)
      yield { line: this.#line, fault: 'an element is missing before this comma or bracket' };
    else yield trimmed(this.#collector.take(this.#begin));
    this.#scan = new Scan();
  }
}

/** Without trailing white space. */
function trimmed({ bytes, ...piece }: Piece): Piece {
  if (!bytes) return piece;
  let end = bytes.length;
  while (end > 0 && isSpace(bytes[end - 1] as number)) end--;
  return { ...piece, bytes: bytes.subarray(0, end) };
}
