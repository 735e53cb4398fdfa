import { Option } from 'clipanion';
import { UsageError } from '../output/failures.js';
import { didYouMean } from './suggest.js';

/** The part of a Clipanion option that a choice builds on: how its value is read off a command line. */
interface Read<T> {
  transformer(...given: unknown[]): T;
}

/** What Clipanion takes for an option, and the words that it may be. */
export interface Choice {
  readonly choices: readonly string[];
}

/**
 * An option whose value is one of a few words. Any other is a usage error that lists them; completion offers them.
 * `what` describes the choice, `without` the default; the words are added to the description.
 */
export function choice<T extends string>(
  names: string,
  choices: readonly T[],
  description: { readonly what: string; readonly without?: string },
): T | undefined {
  const { what, without } = description;
  const listed = `${what}: ${choices.join(', ')}`;
  const option = Option.String(names, { description: without === undefined ? listed : `${listed}; ${without}` });
  const read = option as unknown as Read<string | undefined>;
  const longest = names.split(',').at(-1) ?? names;
  const chosen: Read<T | undefined> & Choice = {
    ...read,
    choices,
    transformer(...given) {
      const text = read.transformer(...given);
      return text === undefined ? undefined : choose(longest, text, choices);
    },
  };
  return chosen as unknown as T | undefined;
}

/** The choice that an option's text names. */
function choose<T extends string>(option: string, text: string, choices: readonly T[]): T {
  const chosen = choices.find((one) => one === text);
  if (chosen !== undefined) return chosen;
  const words = choices.length > 1 ? `one of ${choices.join(', ')}` : choices.join();
  throw new UsageError(`${option} is ${words}, not \`${text}\``, didYouMean(text, choices));
}
