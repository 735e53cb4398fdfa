import { KINDS, type Kind } from '../../contract/kinds.js';
import type { Commands } from '../command.js';

export interface Family {
  readonly summary: string;
  /** Loads the commands when the family is named: start-up pays for one family, not for all. */
  load(): Promise<Commands>;
}

type Loaded = Promise<{ readonly COMMANDS: Commands }>;

/** Families that belong to no kind: the summary, and the module of the commands. */
const OTHERS: Readonly<Record<string, readonly [summary: string, load: () => Loaded]>> = {
  audit: ['publish, read, list, follow and export audit events', () => import('./audit/commands.js')],
  backup: ['copy the log of the service', () => import('./backup.js')],
  completion: ['complete commands and names in bash, fish and zsh with the Tab key', () => import('./completion.js')],
  'dead-letter': ['list and replay the records that could not be indexed', () => import('./dead-letter.js')],
  login: ['store a key in a profile', () => import('./login.js')],
  org: ['create and read organizations', () => import('./org.js')],
  profile: ['manage profiles: who you are and where calls go', () => import('./profile.js')],
  rebuild: ['rebuild the read model from the log, while it serves', () => import('./maintenance.js')],
  reconcile: ['compare the read model with the log, and repair it', () => import('./maintenance.js')],
  whoami: ['show whom the key belongs to, and what it may do', () => import('./whoami.js')],
};

/** Commands of a kind besides its verbs. */
const SPECIAL: Readonly<Record<string, () => Loaded>> = {
  group: () => import('./group.js'),
  invitation: () => import('./invitation.js'),
  policy: () => import('./policy.js'),
  user: () => import('./user.js'),
};

/** The commands of a kind follow from its description. */
export const familyOf = (kind: Kind): Family => ({
  summary: kind.summary ?? `manage ${kind.plural}`,
  async load() {
    const [{ commandsOf }, special] = await Promise.all([import('./resource/verbs.js'), SPECIAL[kind.name]?.()]);
    return commandsOf(kind, special?.COMMANDS);
  },
});

/** The first words of all commands, in alphabetical order. Kinds without columns are not shown, so they have no command. */
export const FAMILIES: ReadonlyMap<string, Family> = new Map(
  [
    ...KINDS.filter(({ columns }) => columns.length > 0).map((kind): [string, Family] => [kind.name, familyOf(kind)]),
    ...Object.entries(OTHERS).map(([name, [summary, load]]): [string, Family] => [
      name,
      { summary, load: async () => (await load()).COMMANDS.filter(({ paths }) => paths?.[0]?.[0] === name) },
    ]),
  ].sort(([a], [b]) => (a < b ? -1 : 1)),
);
