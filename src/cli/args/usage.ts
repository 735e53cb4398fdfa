import type { CommandClass } from 'clipanion';
import { ApiCommand, type Commands, type SvcContext } from '../command.js';
import { UsageError } from '../output/failures.js';
import { type Arguments, type OptionSpec, readArguments } from './argv.js';
import type { Choice } from './choice.js';
import { didYouMean } from './suggest.js';
import { namesOf } from './synonyms.js';

interface ShapeOption extends OptionSpec {
  readonly description: string;
  /** The words that its value may be, if it is one of a few. */
  readonly choices: readonly string[];
  readonly required: boolean;
}

/** What a command takes. */
export interface Shape {
  readonly options: ShapeOption[];
  /** The names of the words that it takes, in their order. */
  readonly places: string[];
  /** The name of all further words. */
  rest?: string;
  /** How many words it needs. */
  needed: number;
}

/** What Clipanion has an option or a word describe itself to. */
interface Recorder {
  addOption(option: { names: readonly string[]; arity?: number; description?: string; required?: boolean }): void;
  addPositional(place: { name: string; required?: boolean }): void;
  addRest(rest: { name?: string; required?: number }): void;
}

interface Described extends Partial<Choice> {
  definition(recorder: Recorder, key: string): void;
}

/** What the command declares about itself, as Clipanion reads it; `definitions()` leaves out the names of optional words. */
export function shapeOf(command: CommandClass<SvcContext>): Shape {
  const shape: Shape = { options: [], places: [], needed: 0 };
  for (const [key, field] of Object.entries(new command())) {
    if (isDescribed(field)) field.definition(recorderOf(shape, field.choices ?? []), key);
  }
  return shape;
}

const isDescribed = (field: unknown): field is Described =>
  typeof (field as Partial<Described> | null | undefined)?.definition === 'function';

const recorderOf = (shape: Shape, choices: readonly string[]): Recorder => ({
  addOption: ({ names, arity = 0, description = '', required = false }) => {
    shape.options.push({ names, takesValue: arity > 0, description, choices, required });
  },
  addPositional: ({ name, required = true }) => {
    shape.places.push(name);
    if (required) shape.needed += 1;
  },
  addRest: ({ name = '', required = 0 }) => {
    shape.rest = name;
    shape.needed += required;
  },
});

class AnyCommand extends ApiCommand {
  protected async run(): Promise<void> {}
}

/** What every command of the service takes. These options may come before the command's name. */
export const COMMON = shapeOf(AnyCommand);

/** Options that may come before the command's name; needed to find the name. */
export const LEADING: readonly OptionSpec[] = COMMON.options;

/** The word after the family's name, if only options that all commands have come before it. */
export function leafOf(argv: readonly string[]): string | undefined {
  const { options, words } = readArguments(argv, LEADING, 2);
  return options.every(({ known }) => known) ? words[1] : undefined;
}

/** The words of a command line by all options of the family; if those do not fit it, by those that all commands have. */
export function familyWords(argv: readonly string[], specs: readonly OptionSpec[]): readonly string[] {
  try {
    return readArguments(argv, specs).words;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return readArguments(argv, LEADING).words;
  }
}

/** The command with the longest path that the words begin with; the second word may be a synonym. */
export function findCommand(commands: Commands, words: readonly string[]): CommandClass<SvcContext> | undefined {
  const [family, leaf, ...rest] = words;
  for (const name of leaf === undefined ? [undefined] : namesOf(leaf)) {
    const read = [family, name, ...rest];
    const fits = (path: readonly string[]) => path.every((word, index) => read[index] === word);
    const [found] = commands
      .filter(({ paths }) => paths?.some((path) => fits(path) && (name === leaf || path.length > 1)))
      .sort((a, b) => (b.paths?.[0]?.length ?? 0) - (a.paths?.[0]?.length ?? 0));
    if (found) return found;
  }
  return undefined;
}

/** Throws for the first option that is none of these. */
export function refuseUnknown({ options }: Arguments, specs: readonly OptionSpec[]): void {
  const names = [...specs.flatMap((one) => one.names), '--help'];
  const stranger = options.find(({ name }) => !names.includes(name));
  if (stranger) throw new UsageError(`unknown option ${stranger.name}`, didYouMean(stranger.name, names));
}

/** Throws unless the arguments fit the command of the path, naming what is missing or too many. */
export function checkUsage(path: readonly string[], shape: Shape, given: Arguments): void {
  const see = [`see \`svc ${path.join(' ')} --help\``];
  refuseUnknown(given, shape.options);
  for (const { names } of shape.options.filter(({ required }) => required)) {
    if (!given.options.some(({ name }) => names.includes(name)))
      throw new UsageError(`${names.at(-1)} is required`, see);
  }
  const words = given.words.slice(path.length);
  const { places, rest, needed } = shape;
  if (words.length < needed) throw new UsageError(`<${places[words.length] ?? rest}> is missing`, see);
  if (rest !== undefined || words.length <= places.length) return;
  throw new UsageError(`unexpected word \`${words[places.length]}\``, see);
}
