const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const LETTER_U = 'u'.charCodeAt(0);
const COLON = ':'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const OBJECT = '{'.charCodeAt(0);
const END_OF_OBJECT = '}'.charCodeAt(0);
const ARRAY = '['.charCodeAt(0);
const END_OF_ARRAY = ']'.charCodeAt(0);
const MINUS = '-'.charCodeAt(0);
const PLUS = '+'.charCodeAt(0);
const [LOWER_E, UPPER_E] = [0x65, 0x45];
const DOT = '.'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
const NINE = '9'.charCodeAt(0);
const LITERALS = ['true', 'false', 'null'].map((text) => Buffer.from(text));

/** Bytes that stand in a text as they are. */
const IS_PLAIN = tableOf((byte) => byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH);
/** Bytes that a backslash makes something else. */
const IS_ESCAPED = tableOf((byte) => '"\\/bfnrt'.includes(String.fromCharCode(byte)));
const IS_HEX = tableOf((byte) => /[\dA-Fa-f]/.test(String.fromCharCode(byte)));

const MOST_NESTED = 100;

/** In place of where something ends: what is there is not accepted. */
const NONE = -1;

/** One that is looked at: a text, or an object with such members. */
interface Member {
  readonly name: Uint8Array;
  readonly slot: number;
  readonly members?: Member[];
}

/**
 * Finds some texts in objects of JSON, and makes nothing of all the rest: little more than half the CPU of `JSON.parse`,
 * and little to collect. It knows only what `JSON.stringify` writes, without white space, and of that only where the texts
 * and their names are free of escapes, stand there once and are nested as expected. It looks at every byte: what it does
 * not accept may be JSON all the same, but what it accepts is.
 */
export class CompactJson {
  private readonly members: Member[] = [];
  private readonly spans: Int32Array;

  /** Paths are of names joined by a dot, as in `context.org`. */
  constructor(private readonly paths: readonly string[]) {
    let slots = paths.length;
    for (const [slot, path] of paths.entries()) {
      const names = path.split('.').map((name) => Buffer.from(name));
      const last = names.pop() ?? Buffer.of();
      let { members } = this;
      for (const name of names) {
        const known = members.find((member) => name.equals(member.name));
        const object = known ?? { name, slot: slots++, members: [] };
        if (!known) members.push(object);
        members = object.members ?? [];
      }
      members.push({ name: last, slot });
    }
    this.spans = new Int32Array(2 * slots);
  }

  /** The texts in the order of their paths, undefined for each that is absent. `json` must be UTF-8. */
  textsIn(json: Buffer): readonly (string | undefined)[] | undefined {
    const { spans } = this;
    spans.fill(NONE);
    if (json[0] !== OBJECT || this.endOfObject(json, 1, this.members) !== json.length) return undefined;
    const texts: (string | undefined)[] = [];
    for (let slot = 0; slot < this.paths.length; slot += 1) {
      const start = spans[2 * slot] as number;
      texts.push(start === NONE ? undefined : json.toString('utf8', start, spans[2 * slot + 1]));
    }
    return texts;
  }

  /** Behind its brace; notes where the members stand that are looked at. */
  private endOfObject(json: Buffer, start: number, members: readonly Member[]): number {
    if (json[start] === END_OF_OBJECT) return start + 1;
    for (let at = start; ; at += 1) {
      const end = endOfPlainText(json, at);
      if (end === NONE || json[end] !== COLON) return NONE;
      const member = named(json, at + 1, end - 1, members);
      at = member ? this.endOfMember(json, end + 1, member) : endOfValue(json, end + 1, 0);
      if (at === NONE || json[at] === END_OF_OBJECT) return at === NONE ? NONE : at + 1;
      if (json[at] !== COMMA) return NONE;
    }
  }

  private endOfMember(json: Buffer, at: number, { slot, members }: Member): number {
    const { spans } = this;
    if (spans[2 * slot] !== NONE) return NONE;
    spans[2 * slot] = at + 1;
    if (members) return json[at] === OBJECT ? this.endOfObject(json, at + 1, members) : NONE;
    const end = endOfPlainText(json, at);
    spans[2 * slot + 1] = end - 1;
    return end;
  }
}

function named(json: Buffer, start: number, end: number, members: readonly Member[]): Member | undefined {
  for (const member of members) {
    if (member.name.length === end - start && isAt(json, start, member.name)) return member;
  }
  return undefined;
}

function isAt(json: Buffer, at: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index += 1) if (json[at + index] !== bytes[index]) return false;
  return true;
}

function endOfValue(json: Buffer, at: number, nested: number): number {
  const first = json[at];
  if (first === QUOTE) return endOfText(json, at);
  if (first === OBJECT) return endOfAll(json, at + 1, END_OF_OBJECT, nested + 1);
  if (first === ARRAY) return endOfAll(json, at + 1, END_OF_ARRAY, nested + 1);
  // No closures here, nor below: they would be made for each of many values.
  for (const literal of LITERALS) if (isAt(json, at, literal)) return at + literal.length;
  return endOfNumber(json, at);
}

/** Of the members of an object, or the elements of an array. */
function endOfAll(json: Buffer, start: number, closing: number, nested: number): number {
  if (nested > MOST_NESTED) return NONE;
  if (json[start] === closing) return start + 1;
  for (let at = start; ; at += 1) {
    if (closing === END_OF_OBJECT) {
      at = endOfText(json, at);
      if (at === NONE || json[at] !== COLON) return NONE;
      at += 1;
    }
    at = endOfValue(json, at, nested);
    if (at === NONE || json[at] === closing) return at === NONE ? NONE : at + 1;
    if (json[at] !== COMMA) return NONE;
  }
}

function endOfText(json: Buffer, start: number): number {
  if (json[start] !== QUOTE) return NONE;
  for (let at = start + 1; ; ) {
    at = endOfPlain(json, at);
    if (json[at] === QUOTE) return at + 1;
    if (json[at] !== BACKSLASH) return NONE;
    at = endOfEscape(json, at + 1);
    if (at === NONE) return NONE;
  }
}

function endOfPlainText(json: Buffer, start: number): number {
  if (json[start] !== QUOTE) return NONE;
  const end = endOfPlain(json, start + 1);
  return json[end] === QUOTE ? end + 1 : NONE;
}

function endOfPlain(json: Buffer, start: number): number {
  let at = start;
  while (IS_PLAIN[json[at] ?? 0]) at += 1;
  return at;
}

function endOfEscape(json: Buffer, at: number): number {
  if (json[at] !== LETTER_U) return IS_ESCAPED[json[at] ?? 0] ? at + 1 : NONE;
  for (let index = 1; index <= 4; index += 1) if (!IS_HEX[json[at + index] ?? 0]) return NONE;
  return at + 5;
}

function endOfNumber(json: Buffer, start: number): number {
  const whole = json[start] === MINUS ? start + 1 : start;
  let at = json[whole] === ZERO ? whole + 1 : endOfDigits(json, whole);
  if (at !== NONE && json[at] === DOT) at = endOfDigits(json, at + 1);
  if (at !== NONE && (json[at] === LOWER_E || json[at] === UPPER_E)) {
    const isSigned = json[at + 1] === PLUS || json[at + 1] === MINUS;
    at = endOfDigits(json, isSigned ? at + 2 : at + 1);
  }
  return at;
}

function endOfDigits(json: Buffer, start: number): number {
  let at = start;
  while (isDigit(json[at])) at += 1;
  return at === start ? NONE : at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function tableOf(has: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (has(byte) ? 1 : 0));
}
