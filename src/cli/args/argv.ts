import { parseArgs } from 'node:util';
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
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['false', false],
  ['no', false],
]);

/**
 * Reads a command line by the options it may hold, in every spelling that people type: `--max -1`, `--max=-1`,
 * `-ojson`, `-o=json`, `--color=false`, `--color false`, `--no-color`, `-kd`. After `--` everything is a word. Throws
 * `UsageError` for an option without its value, and for a switch that is neither on nor off. Reads up to `most` words.
 */
export function readArguments(
  argv: readonly string[],
  specs: readonly OptionSpec[],
  most = Number.POSITIVE_INFINITY,
): Arguments {
  const all = [...specs, HELP];
  const find = (name: string) => all.find(({ names }) => names.includes(name));
  const read: Arguments = { options: [], words: [] };
  const { tokens } = parseArgs({ args: [...argv], options: optionsOf(all), strict: false, tokens: true });
  for (let token = tokens.shift(); token && read.words.length < most; token = tokens.shift()) {
    if (token.kind === 'positional') read.words.push(token.value);
    if (token.kind !== 'option') continue;
    const { rawName: typed, index, value, inlineValue } = token;
    const spec = find(typed);
    const negated = value === undefined ? find(typed.replace(/^--no-/, '--')) : undefined;
    if (spec?.takesValue) {
      // `-1` and `-` are values; one that looks like an option needs the form `--name=value`.
      if (value === undefined || (!inlineValue && (value.startsWith('--') || find(value))))
        throw new UsageError(`${typed} needs a value`);
      const isShort = inlineValue && !typed.startsWith('--');
      read.options.push({ name: longest(spec), value: isShort ? value.replace(/^=/, '') : value, known: true });
    } else if (spec) {
      const [, bound = value] = /^-[^-]=(.*)$/s.exec(argv[index] ?? '') ?? [];
      // The letters of `-k=true` are no options.
      while (bound !== undefined && tokens[0]?.index === index) tokens.shift();
      read.options.push({ name: longest(spec), value: isOn(typed, bound ?? wordAfter(tokens)), known: true });
    } else if (negated && !negated.takesValue) {
      read.options.push({ name: longest(negated), value: false, known: true });
    } else {
      const name = typed.startsWith('--') ? typed : (argv[index] ?? typed);
      read.options.push({ name, value: value ?? true, known: false });
    }
  }
  return read;
}

type Token = { readonly index: number } & (
  | { readonly kind: 'positional'; readonly value: string }
  | { readonly kind: 'option' | 'option-terminator' }
);

/** Each spelling as an option of its own: Node knows one long and one short name of an option. */
function optionsOf(specs: readonly OptionSpec[]): Record<string, { type: 'string' | 'boolean'; short?: string }> {
  const spellings = specs.flatMap(({ names, takesValue }) =>
    names.map((name) => ({ bare: name.replace(/^--?/, ''), type: takesValue ? 'string' : 'boolean' }) as const),
  );
  return Object.fromEntries(
    spellings.map(({ bare, type }) => [bare, bare.length === 1 ? { type, short: bare } : { type }]),
  );
}

/** The next word if it is the value of a switch. */
function wordAfter(tokens: Token[]): string {
  const [next] = tokens;
  if (next?.kind !== 'positional' || !['true', 'false'].includes(next.value)) return 'true';
  tokens.shift();
  return next.value;
}

function isOn(typed: string, value: string): boolean {
  const on = BOOLEANS.get(value);
  if (on === undefined) throw new UsageError(`${typed} is either true or false, not \`${value}\``);
  return on;
}

/** The same arguments in the one spelling that Clipanion always understands. */
export function canonical({ options, words }: Arguments, path: readonly string[]): string[] {
  const spelled = options.map(({ name, value }) => {
    if (typeof value === 'string') return `${name}=${value}`;
    return value ? name : `--no-${name.slice(2)}`;
  });
  return [...path, ...spelled, '--', ...words.slice(path.length)];
}

const longest = (spec: OptionSpec): string => spec.names.reduce((a, b) => (b.length > a.length ? b : a));
