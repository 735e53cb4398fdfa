import type { CommandClass } from 'clipanion';
import { ApiCommand, type SvcContext } from '../command.js';
import type { OptionSpec } from './argv.js';
import type { Choice } from './choice.js';

interface ShapeOption extends OptionSpec {
  readonly description: string;
  /** The words that its value may be, if it is one of a few. */
  readonly choices: readonly string[];
}

/** What a command takes. */
export interface Shape {
  readonly options: ShapeOption[];
  /** The names of the words that it takes, in their order. */
  readonly places: string[];
  /** The name of all further words. */
  rest?: string;
}

/** What Clipanion has an option or a word describe itself to. */
interface Recorder {
  addOption(option: { names: readonly string[]; arity?: number; description?: string }): void;
  addPositional(place: { name: string }): void;
  addRest(rest: { name?: string }): void;
}

interface Described extends Partial<Choice> {
  definition(recorder: Recorder, key: string): void;
}

/** What the command declares about itself, as Clipanion reads it; `definitions()` leaves out the names of optional words. */
export function shapeOf(command: CommandClass<SvcContext>): Shape {
  const shape: Shape = { options: [], places: [] };
  for (const [key, field] of Object.entries(new command())) {
    if (isDescribed(field)) field.definition(recorderOf(shape, field.choices ?? []), key);
  }
  return shape;
}

const isDescribed = (field: unknown): field is Described =>
  typeof (field as Partial<Described> | null | undefined)?.definition === 'function';

const recorderOf = (shape: Shape, choices: readonly string[]): Recorder => ({
  addOption: ({ names, arity = 0, description = '' }) => {
    shape.options.push({ names, takesValue: arity > 0, description, choices });
  },
  addPositional: ({ name }) => {
    shape.places.push(name);
  },
  addRest: ({ name = '' }) => {
    shape.rest = name;
  },
});

class AnyCommand extends ApiCommand {
  protected async run(): Promise<void> {}
}

/** What every command of the service takes. These options may come before the command's name. */
export const COMMON = shapeOf(AnyCommand);
