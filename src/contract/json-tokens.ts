export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
/** A number, a literal, or invalid text in its place. */
export const WORD = 1;
/** Behind the last token. */
export const END = -1;

/** In place of the end of what is not JSON. */
export const NONE = -1;

const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LETTER_U = 0x75;
const STRUCTURE = '{}[],:';

/** Bytes that stand in a string as they are. */
const IS_PLAIN = tableOf((char) => char >= ' ' && char !== '"' && char !== '\\');
const IS_WORD = tableOf((char) => char > ' ' && !`"${STRUCTURE}`.includes(char));
/** Bytes that a backslash makes something else. */
const IS_ESCAPED = tableOf((char) => '"\\/bfnrt'.includes(char));
const IS_HEX = tableOf((char) => /[\dA-Fa-f]/.test(char));
const LITERALS = ['true', 'false', 'null'].map((text) => Uint8Array.from(text, (char) => char.charCodeAt(0)));

/**
 * Reads JSON (RFC 8259) in UTF-8 token by token, without a value made of any. What is JSON is for `JSON.parse` to judge: of
 * other bytes it makes tokens of some kind, to their end.
 *
 * Own code, because each publish is read with it, from bytes: `jsonc-parser` and `clarinet` take decoded strings.
 */
export class JsonTokens {
  /** Where the token begins. */
  start = 0;
  /** The place behind the token. */
  end = 0;
  /** How many objects and arrays are open behind the token. */
  depth = 0;
  /** Whether the last string has an escape. */
  isEscaped = false;
  /** Whether the bytes end within a string. */
  isCut = false;
  /** Bytes of an escape that are still to come. */
  private missing = 0;

  constructor(public json: Buffer = Buffer.alloc(0)) {}

  /** Goes on in the bytes that follow. What they have of a string that was cut belongs to the token before. */
  feed(json: Buffer): void {
    this.json = json;
    this.end = this.isCut ? this.endOfAnyString(this.missing) : 0;
  }

  /** Moves to the next token. Returns its first byte, `WORD` or `END`. */
  next(): number {
    const { json } = this;
    const at = skipSpace(json, this.end);
    this.start = at;
    if (at >= json.length) {
      this.end = at;
      return END;
    }
    const byte = json[at] as number;
    this.end = at + 1;
    if (byte === QUOTE) {
      const end = endOfPlain(json, at + 1);
      this.isEscaped = json[end] !== QUOTE;
      this.end = this.isEscaped ? this.endOfAnyString(end) : end + 1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.depth -= 1;
    else if (byte !== COMMA && byte !== COLON) {
      this.end = endOfWord(json, at);
      return WORD;
    }
    return byte;
  }

  /** Moves to the end of the value that begins with the current token; an object or array ends with its last bracket. */
  skipValue(): void {
    const first = this.json[this.start];
    if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return;
    for (const depth = this.depth; this.depth >= depth && this.next() !== END; );
  }

  /** Behind the string; `at` is within it. Behind all there is if it has no end. */
  private endOfAnyString(at: number): number {
    const { json } = this;
    let end = at;
    for (; end < json.length; end = endOfPlain(json, end)) {
      this.isCut = json[end] !== QUOTE;
      if (!this.isCut) return end + 1;
      end += json[end] === BACKSLASH ? 2 : 1;
    }
    this.isCut = true;
    this.missing = end - json.length;
    return json.length;
  }
}

/** The first place from `at` on that is not white space. */
export function skipSpace(json: Uint8Array, at: number): number {
  let next = at;
  while (isSpace(json[next] ?? 0)) next += 1;
  return next;
}

/** Without the white space around it. */
export function trimmed(json: Buffer): Buffer {
  const start = skipSpace(json, 0);
  let end = json.length;
  while (end > start && isSpace(json[end - 1] ?? 0)) end -= 1;
  return json.subarray(start, end);
}

export function isSpace(byte: number): boolean {
  return byte <= SPACE && (byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

/** Whether a byte stands in a string as it is. */
export function isPlain(byte: number): boolean {
  return IS_PLAIN[byte] === 1;
}

/** The first place from `at` on that ends a string, or a part of it without escapes. */
export function endOfPlain(json: Uint8Array, at: number): number {
  // Four at a time: most of the bytes of an event pass here, one by one at half of the speed.
  for (let end = at; ; end += 4) {
    if (!IS_PLAIN[json[end] ?? 0]) return end;
    if (!IS_PLAIN[json[end + 1] ?? 0]) return end + 1;
    if (!IS_PLAIN[json[end + 2] ?? 0]) return end + 2;
    if (!IS_PLAIN[json[end + 3] ?? 0]) return end + 3;
  }
}

function endOfWord(json: Uint8Array, at: number): number {
  let end = at + 1;
  while (IS_WORD[json[end] ?? 0]) end += 1;
  return end;
}

/** Behind the string, if one that is JSON begins there. */
export function endOfString(json: Uint8Array, start: number): number {
  if (json[start] !== QUOTE) return NONE;
  for (let at = start + 1; ; ) {
    at = endOfPlain(json, at);
    if (json[at] === QUOTE) return at + 1;
    if (json[at] !== BACKSLASH) return NONE;
    at = endOfEscape(json, at + 1);
    if (at === NONE) return NONE;
  }
}

function endOfEscape(json: Uint8Array, at: number): number {
  if (json[at] !== LETTER_U) return IS_ESCAPED[json[at] ?? 0] ? at + 1 : NONE;
  for (let index = 1; index <= 4; index += 1) if (!IS_HEX[json[at + index] ?? 0]) return NONE;
  return at + 5;
}

/** Behind the number or literal, if one begins there. */
export function endOfScalar(json: Uint8Array, at: number): number {
  // No closures here: they would be made for each of many values.
  for (const literal of LITERALS) if (isAt(json, at, literal)) return at + literal.length;
  return endOfNumber(json, at);
}

export function isAt(json: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index += 1) if (json[at + index] !== bytes[index]) return false;
  return true;
}

/** The member whose name, free of escapes, is at these bytes. */
export function memberAt<Member extends { readonly name: Uint8Array }>(
  json: Uint8Array,
  start: number,
  end: number,
  members: readonly Member[],
): Member | undefined {
  for (const member of members) {
    if (member.name.length === end - start && isAt(json, start, member.name)) return member;
  }
  return undefined;
}

function endOfNumber(json: Uint8Array, start: number): number {
  const whole = json[start] === 0x2d ? start + 1 : start;
  let at = json[whole] === 0x30 ? whole + 1 : endOfDigits(json, whole);
  if (at !== NONE && json[at] === 0x2e) at = endOfDigits(json, at + 1);
  if (at !== NONE && (json[at] === 0x65 || json[at] === 0x45)) {
    const isSigned = json[at + 1] === 0x2b || json[at + 1] === 0x2d;
    at = endOfDigits(json, isSigned ? at + 2 : at + 1);
  }
  return at;
}

function endOfDigits(json: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(json[at] ?? 0)) at += 1;
  return at === start ? NONE : at;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** By byte; one of a character beyond ASCII counts as such. */
function tableOf(has: (char: string) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => Number(has(String.fromCharCode(byte))));
}
