import { type Arguments, readArguments } from '../args/argv.js';
import { COMMON, type Shape, shapeOf } from '../args/shape.js';
import { findCommand } from '../args/usage.js';
import type { Commands } from '../command.js';
import { FAMILIES } from '../commands/families.js';
import { UsageError } from '../output/failures.js';

/** A word that may come next on a command line. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** The command that a line names so far. */
interface Found {
  /** The command's words; empty where none is named yet. */
  readonly path: readonly string[];
  readonly shape: Shape;
  /** The words that lead on to a command. */
  readonly next: readonly Candidate[];
}

interface Typed extends Arguments {
  /** The option that the line ends with, and that still needs its value. */
  readonly awaiting?: string;
}

/** A command line up to the word that is completed. */
export interface Line extends Found, Typed {
  /** After `--` nothing is an option any more. */
  readonly isOnlyWords: boolean;
}

/** Reads whole words, without `svc` itself. Only the family that they name is loaded. Throws for a line that fits no command. */
export async function readLine(words: readonly string[]): Promise<Line> {
  const isHelp = words[0] === 'help';
  const typed = isHelp ? words.slice(1) : words;
  const found = await lookUp(typed);
  const isOnlyWords = typed.includes('--');
  // `svc help` goes before the name of a command, not before its arguments.
  if (isHelp) return { ...found, shape: { options: [], places: [] }, options: [], words: [...typed], isOnlyWords };
  return { ...found, ...readTyped(typed, found.shape.options), isOnlyWords };
}

async function lookUp(typed: readonly string[]): Promise<Found> {
  const shape = COMMON;
  const [name] = readTyped(typed, shape.options).words;
  if (name === undefined) return { path: [], shape, next: families() };
  const commands = (await FAMILIES.get(name)?.load()) ?? [];
  const shapes = commands.map(shapeOf);
  const { words } = readTyped(
    typed,
    shapes.flatMap(({ options }) => options),
  );
  const command = findCommand(commands, words);
  if (command) return { path: command.paths?.[0] ?? [], shape: shapeOf(command), next: [] };
  return { path: [], shape, next: words.length === 1 ? leaves(commands) : [] };
}

function readTyped(typed: readonly string[], options: Shape['options']): Typed {
  try {
    return readArguments(typed, options);
  } catch (error) {
    const last = typed.at(-1) ?? '';
    // The last of several letters may take a value: `-ko`.
    const name = /^-[^-]/.test(last) ? `-${last.at(-1)}` : last;
    const option = options.find(({ names, takesValue }) => takesValue && names.includes(name));
    if (!(error instanceof UsageError) || !option) throw error;
    return { ...readArguments(typed.slice(0, -1), options), awaiting: name };
  }
}

const families = (): Candidate[] => [
  ...[...FAMILIES].map(([value, { summary }]) => ({ value, description: summary })),
  { value: 'help', description: 'show help' },
];

const leaves = (commands: Commands): Candidate[] =>
  commands.map(({ paths, usage }) => ({ value: paths?.[0]?.[1] ?? '', description: usage?.description ?? '' }));
