import { UsageError } from '../output/failures.js';

export interface OptionSpec {
  /** All spellings, dashes included: `['-o', '--output']`. */
  names: readonly string[];
  takesValue: boolean;
}

export interface GivenOption {
  /** The longest spelling, or the text as typed when no option has that name. */
  name: string;
  /** A text, or for a switch whether it is on. */
  value: string | boolean;
  known: boolean;
}

export interface Arguments {
  options: GivenOption[];
  words: string[];
}

const HELP: OptionSpec = { names: ['-h', '--help'], takesValue: false };
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, yes: true, false: false, no: false };

/**
 * Reads a command line by the options it may hold, in every spelling that people type: `--max -1`, `--max=-1`,
 * `-ojson`, `--color=false`, `--color false`, `--no-color`, `-kd`. After `--` all is words.
 */
export function readArguments(argv: readonly string[], specs: readonly OptionSpec[]): Arguments {
  return new Reader(argv, [...specs, HELP]).read();
}

/** The same arguments in the one spelling that Clipanion always understands. */
export function canonical({ options, words }: Arguments, path: readonly string[]): string[] {
  const spelled = options.map(({ name, value }) => {
    if (typeof value === 'string') return `${name}=${value}`;
    return value ? name : `--no-${name.slice(2)}`;
  });
  return [...path, ...spelled, '--', ...words.slice(path.length)];
}

class Reader {
  readonly #options: GivenOption[] = [];
  readonly #words: string[] = [];
  #at = 0;

  constructor(
    readonly argv: readonly string[],
    readonly specs: readonly OptionSpec[],
  ) {}

  read(): Arguments {
    while (this.#at < this.argv.length) {
      const token = this.argv[this.#at++] as string;
      if (token === '--') {
        this.#words.push(...this.argv.slice(this.#at));
        break;
      }
      if (token === '-' || !token.startsWith('-')) this.#words.push(token);
      else if (token.startsWith('--')) this.#long(token);
      else this.#short(token);
    }
    return { options: this.#options, words: this.#words };
  }

  #find(name: string): OptionSpec | undefined {
    return this.specs.find(({ names }) => names.includes(name));
  }

  #long(token: string): void {
    const equals = token.indexOf('=');
    const name = equals < 0 ? token : token.slice(0, equals);
    const bound = equals < 0 ? undefined : token.slice(equals + 1);
    const spec = this.#find(name);
    if (spec) return this.#add(spec, name, bound);
    const negated = name.startsWith('--no-') ? this.#find(`--${name.slice(5)}`) : undefined;
    if (!negated || negated.takesValue || bound !== undefined) {
      this.#options.push({ name, value: bound ?? true, known: false });
      return;
    }
    this.#options.push({ name: longest(negated), value: false, known: true });
  }

  /** `-k`, `-kd`, `-o json`, `-o=json`, `-ojson`. */
  #short(token: string): void {
    for (let i = 1; i < token.length; i++) {
      const name = `-${token[i]}`;
      const spec = this.#find(name);
      if (!spec) {
        this.#options.push({ name: i === 1 ? token : name, value: true, known: false });
        return;
      }
      const rest = token.slice(i + 1);
      if (spec.takesValue || rest.startsWith('=')) {
        this.#add(spec, name, rest === '' ? undefined : rest.replace(/^=/, ''));
        return;
      }
      this.#add(spec, name, undefined);
    }
  }

  #add(spec: OptionSpec, typed: string, bound: string | undefined): void {
    const value = spec.takesValue ? (bound ?? this.#following(typed)) : this.#switch(typed, bound);
    this.#options.push({ name: longest(spec), value, known: true });
  }

  /** The next token is the value, even `-1` or `-`; a value that looks like an option needs the form `--name=value`. */
  #following(typed: string): string {
    const next = this.argv[this.#at];
    if (next === undefined || next.startsWith('--') || (next.startsWith('-') && this.#find(next))) {
      throw new UsageError(`${typed} needs a value`);
    }
    this.#at++;
    return next;
  }

  #switch(typed: string, bound: string | undefined): boolean {
    const next = this.argv[this.#at];
    if (bound === undefined) {
      if (next !== 'true' && next !== 'false') return true;
      this.#at++;
      return next === 'true';
    }
    const value = Object.hasOwn(BOOLEANS, bound) ? BOOLEANS[bound] : undefined;
    if (value === undefined) throw new UsageError(`${typed} is either true or false, not \`${bound}\``);
    return value;
  }
}

const longest = (spec: OptionSpec): string => spec.names.reduce((a, b) => (b.length > a.length ? b : a));
