import type { CommandClass } from 'clipanion';
import type { SvcContext } from '../command.js';
import { UsageError } from '../output/failures.js';
import { type OptionSpec, readArguments } from './argv.js';

export type Commands = readonly CommandClass<SvcContext>[];

/** Options that may stand before the command's name; needed to find the name. */
export const LEADING: readonly OptionSpec[] = [
  ...['-o,--output', '--profile', '--org', '--ts', '--max', '--token', '--endpoint'].map((names) => spec(names, true)),
  ...['--color', '-k,--insecure', '-v,--verbose', '-d,--debug'].map((names) => spec(names, false)),
];

/** The words of a command line by all options of the family; where those do not fit it, by those that all commands have. */
export function familyWords(argv: readonly string[], specs: readonly OptionSpec[]): readonly string[] {
  try {
    return readArguments(argv, specs).words;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return readArguments(argv, LEADING).words;
  }
}

/** The command with the longest path that the words begin with. */
export function findCommand(commands: Commands, words: readonly string[]): CommandClass<SvcContext> | undefined {
  const fits = (path: readonly string[]) => path.every((word, index) => words[index] === word);
  return commands
    .filter(({ paths }) => paths?.some(fits))
    .sort((a, b) => (b.paths?.[0]?.length ?? 0) - (a.paths?.[0]?.length ?? 0))[0];
}

function spec(names: string, takesValue: boolean): OptionSpec {
  return { names: names.split(','), takesValue };
}
