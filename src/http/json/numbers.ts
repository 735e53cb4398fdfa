import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  END,
  JsonTokens,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  WORD,
} from '../../contract/json-tokens.js';

const NINE = 0x39;
const LETTER_E = 0x65;
const LOWER_CASE = 0x20;

/** Whether a double may write it back in another way: only with 16 digits and more, or an exponent. */
export function isLongNumber({ json, start, end }: JsonTokens): boolean {
  const first = json[start] as number;
  if (first > NINE) return false;
  if (end - start >= 16) return true;
  for (let at = start + 1; at < end; at += 1) if (((json[at] as number) | LOWER_CASE) === LETTER_E) return true;
  return false;
}

/**
 * Puts raw JSON in place of the numbers that a double cannot hold, so that they come out digit for digit. `parsed` is what
 * `JSON.parse` made of the bytes, in which no object repeats a name. It reads the tokens again, because a reviver takes
 * several times as long.
 */
export function withExactNumbers(parsed: unknown, bytes: Buffer): { readonly value: unknown; readonly exact: boolean } {
  const tokens = new JsonTokens(bytes);
  const place = new Place(bytes, parsed);
  let exact = false;
  for (let token = tokens.next(); token !== END; token = tokens.next()) {
    if (token === OPEN_OBJECT || token === OPEN_ARRAY) place.enter();
    else if (token === CLOSE_OBJECT || token === CLOSE_ARRAY) place.leave();
    else if (token === QUOTE) place.sawText(tokens.start, tokens.end);
    else if (token === COLON) place.toMember();
    else if (token === COMMA) place.toNextElement();
    else if (token === WORD && isLongNumber(tokens)) {
      const source = bytes.toString('latin1', tokens.start, tokens.end);
      if (isHeld(source)) continue;
      place.set(JSON.rawJSON(source));
      exact = true;
    }
  }
  return { value: place.root, exact };
}

type Container = Record<string | number, unknown>;

/** The path of the next token in the value. */
class Place {
  private readonly holder: Container = {};
  private container = this.holder;
  /** Of the next element, if the container is an array. */
  private index = 0;
  private readonly outer: Container[] = [];
  private readonly outerIndices: number[] = [];
  private textStart = 0;
  private textEnd = 0;
  /** Of the next member. It is decoded only if needed: most values stay as they are. */
  private nameStart = 0;
  private nameEnd = 0;

  constructor(
    private readonly bytes: Buffer,
    value: unknown,
  ) {
    this.holder[ROOT] = value;
  }

  get root(): unknown {
    return this.holder[ROOT];
  }

  sawText(start: number, end: number): void {
    this.textStart = start;
    this.textEnd = end;
  }

  toMember(): void {
    this.nameStart = this.textStart;
    this.nameEnd = this.textEnd;
  }

  toNextElement(): void {
    this.index += 1;
  }

  enter(): void {
    const inner = this.container[this.key] as Container;
    this.outer.push(this.container);
    this.outerIndices.push(this.index);
    this.container = inner;
    this.index = 0;
  }

  leave(): void {
    this.container = this.outer.pop() as Container;
    this.index = this.outerIndices.pop() as number;
  }

  set(value: unknown): void {
    this.container[this.key] = value;
  }

  private get key(): string | number {
    if (this.container === this.holder) return ROOT;
    if (Array.isArray(this.container)) return this.index;
    return JSON.parse(this.bytes.toString('utf8', this.nameStart, this.nameEnd)) as string;
  }
}

const ROOT = 'value';

/** A longer number is kept as it is written, whatever its value: comparing it could take long. */
const LONGEST_COMPARED = 100;

/**
 * Numbers of at most 15 digits that are far from the largest and smallest doubles. No two of them have the same nearest double
 * (`DBL_DIG` of C, ISO/IEC 9899, 5.2.4.2.2), so the shortest text of that double, which is one of them, has the value that was
 * sent.
 */
const SHORT = /^-?[\d.]{1,15}(?:[eE][+-]?\d{1,2})?$/;

/** Whether the double that is nearest to the number is written back with the same value. */
function isHeld(source: string): boolean {
  if (SHORT.test(source)) return true;
  if (source.length > LONGEST_COMPARED) return false;
  const written = String(Number(source));
  if (written === source) return true;
  // Whole numbers have one text each: most that are not held end here.
  if (WHOLE.test(source) && WHOLE.test(written)) return false;
  return decimal(written) === decimal(source);
}

const WHOLE = /^-?[1-9]\d*$/;

/** One text for all texts of the same decimal number. */
function decimal(text: string): string {
  const isNegative = text.startsWith('-');
  const exponentAt = Math.max(text.indexOf('e'), text.indexOf('E'));
  const end = exponentAt < 0 ? text.length : exponentAt;
  const pointAt = text.indexOf('.');
  const whole = text.slice(isNegative ? 1 : 0, pointAt < 0 ? end : pointAt);
  const fraction = pointAt < 0 ? '' : text.slice(pointAt + 1, end);
  const digits = whole + fraction;
  let [first, last] = [0, digits.length];
  while (digits[first] === '0') first += 1;
  while (last > first && digits[last - 1] === '0') last -= 1;
  if (first === last) return '0';
  // One that is too long to be exact here is far beyond the exponents of doubles all the same.
  const exponent = exponentAt < 0 ? 0 : Number(text.slice(exponentAt + 1));
  const scale = exponent - fraction.length + digits.length - last;
  return `${isNegative ? '-' : ''}${digits.slice(first, last)}e${scale}`;
}
