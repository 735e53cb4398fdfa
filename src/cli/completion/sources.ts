import { DOMAIN, GROUP, type Kind, POLICY, SERVICE_ACCOUNT, USER } from '../args/kinds.js';

/** Names that are not in the program: of files, of profiles, or of the resources of a kind. */
export type Source = 'files' | 'profiles' | Kind;

const KINDS: readonly Kind[] = [USER, GROUP, SERVICE_ACCOUNT, POLICY, DOMAIN];

/** What the value of a command's option is the name of. */
export function sourceOfOption(option: string, [family, leaf]: readonly string[]): Source | undefined {
  switch (option) {
    case '--file':
      return 'files';
    case '--to':
      return family === 'backup' ? 'files' : undefined;
    case '--profile':
      return 'profiles';
    case '--group':
      return GROUP;
    case '--serviceaccount':
      return SERVICE_ACCOUNT;
    case '--email':
      // Whoever is invited is no user yet.
      return leaf === 'invite' ? undefined : USER;
    default:
      return undefined;
  }
}

/** What a word of a command is the name of. */
export function sourceOfPlace(place: string, [family, leaf]: readonly string[]): Source | undefined {
  if (place === 'ref') return KINDS.find(({ name }) => name === family);
  return place === 'name' && family === 'profile' && leaf !== 'create' ? 'profiles' : undefined;
}
