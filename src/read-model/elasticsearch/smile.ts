import { isUtf8 } from 'node:buffer';

/** The values of a document; undefined members are omitted. Bytes are the UTF-8 of a text. */
export type SmileValue = string | number | boolean | Uint8Array | SmileObject;

export interface SmileObject {
  readonly [name: string]: SmileValue | undefined;
}

const HEADER = Uint8Array.from([0x3a, 0x29, 0x0a, 0x00]);
const END_OF_DOCUMENT = 0xff;

const FALSE = 0x22;
const TRUE = 0x23;
const INT_32 = 0x24;
const INT_64 = 0x25;
const TEXT = 0xe4;
const END_OF_TEXT = 0xfc;
const OBJECT = 0xfa;
const END_OF_OBJECT = 0xfb;

/** The token, and at most ten bytes. */
const MOST_NUMBER_BYTES = 11;
const MOST_BYTES_A_UNIT = 3;
/** Up to this length, copying one character after the other is faster than a native call. */
const SHORT = 64;

const FIRST_SIZE = 1024 * 1024;

/** Buffers kept for reuse, about one for each request usually under way. */
const MOST_SPARE = 12;
const MOST_SPARE_BYTES = 2 * 1024 * 1024;

/**
 * Documents in SMILE 1.0, a binary form of JSON (https://github.com/FasterXML/smile-format-specification), each ended by a
 * byte that occurs nowhere else. SMILE contains a text unchanged; JSON would escape each quotation mark of a text that is
 * JSON itself. Buffers are reused, because touching new memory costs more than writing into it.
 */
export class SmileDocuments {
  private static readonly spare: Buffer[] = [];
  length = 0;

  private constructor(private buffer: Buffer) {}

  static empty(): SmileDocuments {
    return new SmileDocuments(SmileDocuments.spare.pop() ?? Buffer.allocUnsafe(FIRST_SIZE));
  }

  /** The bytes must not be used after this. */
  reuse(): void {
    const { spare } = SmileDocuments;
    if (this.buffer.length <= MOST_SPARE_BYTES && spare.length < MOST_SPARE) spare.push(this.buffer);
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /**
   * Throws for a number that is not a safe integer, a name that is not 1 to 64 characters of ASCII, and for bytes that are
   * not UTF-8: those could end the text that they stand for, and begin something else.
   */
  add(document: SmileObject): void {
    this.copy(HEADER);
    this.object(document);
    this.byte(END_OF_DOCUMENT);
  }

  private object(object: SmileObject): void {
    this.byte(OBJECT);
    for (const name in object) {
      const value = object[name];
      if (value === undefined) continue;
      this.copy(nameOf(name));
      this.value(value);
    }
    this.byte(END_OF_OBJECT);
  }

  private value(value: SmileValue): void {
    if (typeof value === 'string') this.text(value);
    else if (typeof value === 'number') this.integer(value);
    else if (typeof value === 'boolean') this.byte(value ? TRUE : FALSE);
    else if (value instanceof Uint8Array) this.textOf(value);
    else this.object(value);
  }

  private text(text: string): void {
    this.reserve(text.length * MOST_BYTES_A_UNIT + 2);
    this.buffer[this.length++] = TEXT;
    if (text.length > SHORT || !this.ascii(text)) this.length += this.buffer.write(text, this.length);
    this.buffer[this.length++] = END_OF_TEXT;
  }

  /** Returns false, and leaves `length` unchanged, if the text is not ASCII. */
  private ascii(text: string): boolean {
    const { buffer, length } = this;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit > 0x7f) return false;
      buffer[length + index] = unit;
    }
    this.length += text.length;
    return true;
  }

  private textOf(utf8: Uint8Array): void {
    if (!isUtf8(utf8)) throw new Error('a text of a document is UTF-8');
    this.reserve(utf8.length + 2);
    this.buffer[this.length++] = TEXT;
    this.buffer.set(utf8, this.length);
    this.length += utf8.length;
    this.buffer[this.length++] = END_OF_TEXT;
  }

  /** Zigzag; seven bits a byte, the highest first, and six in the last, which alone has its highest bit set. */
  private integer(number: number): void {
    if (!Number.isSafeInteger(number)) throw new Error('a number of a document is a safe integer');
    const sign = number < 0 ? 1 : 0;
    const size = sign ? -1 - number : number;
    this.reserve(MOST_NUMBER_BYTES);
    this.buffer[this.length++] = number === (number | 0) ? INT_32 : INT_64;
    const start = this.length;
    for (let rest = Math.floor(size / 32); rest > 0; rest = Math.floor(rest / 128)) this.length += 1;
    this.buffer[this.length] = 0x80 | ((size % 32) * 2 + sign);
    let rest = Math.floor(size / 32);
    for (let at = this.length - 1; at >= start; at -= 1, rest = Math.floor(rest / 128)) this.buffer[at] = rest % 128;
    this.length += 1;
  }

  private byte(byte: number): void {
    this.reserve(1);
    this.buffer[this.length++] = byte;
  }

  private copy(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    const { buffer, length } = this;
    for (let index = 0; index < bytes.length; index += 1) buffer[length + index] = bytes[index] as number;
    this.length += bytes.length;
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.length + bytes, 2 * this.buffer.length));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}

const names = new Map<string, Uint8Array>();

/** Cached: documents have few distinct names. */
function nameOf(name: string): Uint8Array {
  const known = names.get(name);
  if (known) return known;
  if (!/^[\x21-\x7e]{1,64}$/.test(name)) throw new Error('the name of a member is 1 to 64 characters of ASCII');
  const bytes = Uint8Array.from([0x7f + name.length, ...Buffer.from(name)]);
  names.set(name, bytes);
  return bytes;
}
