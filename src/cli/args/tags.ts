import { UsageError } from '../output/failures.js';

/** `KEY=VALUE` texts as a map; a value may hold further equals signs. Throws `UsageError` for any other text. */
export function parseTags(tags: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    tags.map((tag) => {
      const equals = tag.indexOf('=');
      if (equals < 1) throw new UsageError(`--tag is KEY=VALUE, not \`${tag}\``);
      return [tag.slice(0, equals), tag.slice(equals + 1)];
    }),
  );
}
