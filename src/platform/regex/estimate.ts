const WORK_OF_AN_EXPRESSION = 2;
const WORK_OF_A_CHARACTER = 0.3;
/** Of those that repetitions add. */
const WORK_OF_AN_INSTRUCTION = 0.05;
/** Of `{0,9}` there are nine: each becomes an expression within the one before. */
const WORK_OF_AN_OPTION = 0.6;
/** `\p{...}` expands to hundreds of ranges. */
const WORK_OF_A_UNICODE_CLASS = 150;
/** `\w`, and `[:word:]`, whose end is looked for in all that follows. */
const WORK_OF_A_NAMED_CLASS = 3;
/** Where case does not matter, each character of a range is looked up. */
const WORK_OF_A_NARROW_RANGE = 3;
const WORK_OF_A_WIDE_RANGE = 4_000;

/**
 * How many instructions the program of an expression has at most, and what it takes to read it, in units of about a
 * microsecond; of what is no expression, too. Takes one pass over the text.
 */
export function estimate(regex: string): { readonly instructions: number; readonly work: number } {
  const scan = new Scan(regex);
  const instructions = scan.instructions();
  const added = Math.max(0, instructions - regex.length);
  const text = WORK_OF_AN_EXPRESSION + regex.length * WORK_OF_A_CHARACTER;
  return { instructions, work: text + added * WORK_OF_AN_INSTRUCTION + scan.work };
}

/** One pass over the text of an expression, counting the instructions that its program will have. */
class Scan {
  private at = 0;
  /** What classes and options take, wherever they stand. */
  work = 0;
  /** Somewhere. */
  private readonly ignoresCase: boolean;
  private readonly lastNameEnd: number;

  constructor(private readonly text: string) {
    this.ignoresCase = /\(\?[A-Za-z-]*i/.test(text);
    this.lastNameEnd = text.lastIndexOf(':]');
  }

  /** Repetitions multiply what they repeat; groups are kept on a list, so depth costs no stack. */
  instructions(): number {
    const groups = [{ sum: 4, last: 0, start: 0 }];
    const top = () => groups.at(-1) ?? { sum: 0, last: 0, start: 0 };
    const add = (size: number) => {
      const group = top();
      group.sum += size;
      group.last = size;
    };
    while (this.at < this.text.length) {
      const char = this.text[this.at];
      if (char === '(') {
        groups.push({ sum: 3, last: 0, start: this.at });
        this.at += 1;
      } else if (char === ')' && groups.length > 1) {
        const { sum, start } = groups.pop() ?? top();
        // Flags stand between what is repeated and how often.
        if (/^\(\?[A-Za-z-]*$/.test(this.text.slice(start, this.at))) top().sum += sum;
        else add(sum);
        this.at += 1;
      } else if (char === '{') {
        const times = this.repetition();
        if (times === undefined) add(1);
        else add(top().last * times);
      } else if (char === '*' || char === '+' || char === '?' || char === '|') {
        // Two, since an alternative may be empty.
        const group = top();
        group.sum += 2;
        group.last += 2;
        this.at += 1;
      } else {
        add(this.atom());
      }
    }
    // What is not closed is no regular expression, but was counted all the same.
    return groups.reduce((total, { sum }) => total + sum, 0);
  }

  /** Skips `{n}`, `{n,}` or `{n,m}` and returns the factor; undefined if the brace begins no repetition. */
  private repetition(): number | undefined {
    this.at += 1;
    const start = this.at;
    const least = this.digits();
    let most = least;
    if (this.text[this.at] === ',') {
      this.at += 1;
      most = this.digits() ?? (least ?? 0) + 1;
    }
    if (least === undefined || most === undefined || this.text[this.at] !== '}') {
      this.at = start;
      return undefined;
    }
    this.at += 1;
    const options = Math.max(0, most - least);
    this.work += options * WORK_OF_AN_OPTION;
    // What may be missing takes an instruction more each time.
    return Math.max(1, least + 2 * options + 1);
  }

  private digits(): number | undefined {
    const start = this.at;
    while (isDigit(this.text.charCodeAt(this.at))) this.at += 1;
    return this.at === start ? undefined : Number(this.text.slice(start, Math.min(this.at, start + 5)));
  }

  /** Passes over one character, escape or class. */
  private atom(): number {
    const char = this.text[this.at];
    if (char === '\\') return this.escape();
    if (char === '[') return this.class();
    this.at += 1;
    return 1;
  }

  private escape(): number {
    const escaped = this.text[this.at + 1];
    this.at += 2;
    if (escaped === 'Q') return this.quotation();
    if (escaped === 'p' || escaped === 'P') this.work += WORK_OF_A_UNICODE_CLASS;
    if (escaped !== undefined && 'dDsSwW'.includes(escaped)) this.work += WORK_OF_A_NAMED_CLASS;
    if ((escaped === 'p' || escaped === 'P' || escaped === 'x') && this.text[this.at] === '{') this.passBehind('}');
    return 1;
  }

  /** `\Q...\E`: every character for itself. */
  private quotation(): number {
    const start = this.at;
    this.passBehind('\\E');
    return this.at - start + 1;
  }

  /** Skips `[...]`, in which a `]` in the first place is literal. It takes one instruction, whatever it contains. */
  private class(): number {
    this.at += this.text[this.at + 1] === '^' ? 2 : 1;
    if (this.text[this.at] === ']') this.at += 1;
    while (this.at < this.text.length && this.text[this.at] !== ']') {
      if (this.text[this.at] === '-') this.range();
      else if (this.text.startsWith('[:', this.at)) this.className();
      else if (this.text[this.at] === '\\') this.escape();
      else this.at += 1;
    }
    this.at += 1;
    return 1;
  }

  /** `[:alpha:]`; without its end, the characters are literal. */
  private className(): void {
    this.work += WORK_OF_A_NAMED_CLASS;
    if (this.at <= this.lastNameEnd) this.passBehind(':]');
    else this.at += 1;
  }

  /** Only ranges that leave ASCII are wide. */
  private range(): void {
    this.at += 1;
    const isEscaped = this.text.startsWith('\\x{', this.at);
    const isWide = isEscaped || this.text.charCodeAt(this.at) > 0x7f;
    if (this.ignoresCase) this.work += isWide ? WORK_OF_A_WIDE_RANGE : WORK_OF_A_NARROW_RANGE;
  }

  private passBehind(end: string): void {
    const found = this.text.indexOf(end, this.at);
    this.at = found < 0 ? this.text.length : found + end.length;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
