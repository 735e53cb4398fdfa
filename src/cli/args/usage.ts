import type { Definition } from 'clipanion';
import { UsageError } from '../output/failures.js';
import type { Arguments, OptionSpec } from './argv.js';
import { didYouMean } from './suggest.js';

/** Clipanion writes an option's definition as `-o,--output #0`: names, then a mark for each value. */
export const specsOf = (definitions: readonly Definition[]): OptionSpec[] =>
  definitions
    .flatMap(({ options }) => options)
    .map(({ definition }) => ({ names: namesOf(definition), takesValue: definition.includes(' #') }));

const namesOf = (definition: string): string[] => (definition.split(' ')[0] ?? '').split(',');

/** Throws for the first option that is none of these. */
export function refuseUnknown({ options }: Arguments, specs: readonly OptionSpec[]): void {
  const names = [...specs.flatMap((one) => one.names), '--help'];
  const stranger = options.find(({ name }) => !names.includes(name));
  if (stranger) throw new UsageError(`unknown option ${stranger.name}`, didYouMean(stranger.name, names));
}

/** Throws unless the arguments fit the command: in words that name what is missing or too many. */
export function checkUsage(definition: Definition, given: Arguments): void {
  const see = [`see \`${definition.path} --help\``];
  refuseUnknown(given, specsOf([definition]));
  for (const option of definition.options.filter(({ required }) => required)) {
    const names = namesOf(option.definition);
    if (!given.options.some(({ name }) => names.includes(name)))
      throw new UsageError(`${names.at(-1)} is required`, see);
  }
  const places = definition.usage.slice(definition.path.length).split(' ').filter(Boolean);
  const words = given.words.slice(definition.path.split(' ').length - 1);
  const missing = places.filter((place) => place.startsWith('<'))[words.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing`, see);
  if (places.includes('...') || words.length <= places.length) return;
  throw new UsageError(`unexpected word \`${words[places.length]}\``, see);
}
