/** What other programs call a command, and its names here, in the order of preference. */
const SYNONYMS: ReadonlyMap<string, readonly string[]> = new Map([
  ['get', ['list']],
  ['list', ['get']],
  ['ls', ['list', 'get']],
  ['show', ['get', 'list']],
  ['rm', ['delete', 'revoke']],
]);

/** The names that a command of this name may have: its own, then those that people expect to mean the same. */
export const namesOf = (word: string): readonly string[] => [word, ...(SYNONYMS.get(word) ?? [])];
