import { KINDS, type Kind } from '../../contract/kinds.js';
import { namesOf } from '../args/synonyms.js';
import type { Commands, Loads } from '../command.js';
import { verbsOf } from './resource/verbs.js';

export interface Family {
  readonly summary: string;
  /** Whether help lists it apart from what people use every day. */
  readonly isAdministration: boolean;
  /** Loads the command of that name, or else all of the family. */
  load(word?: string): Promise<Commands>;
}

const AUDIT: Loads = {
  publish: async () => (await import('./audit/publish.js')).AuditPublish,
  get: async () => (await import('./audit/commands.js')).AuditGet,
  list: async () => (await import('./audit/commands.js')).AuditList,
  tail: async () => (await import('./audit/tail.js')).AuditTail,
  stats: async () => (await import('./audit/stats.js')).AuditStats,
  contexts: async () => (await import('./audit/contexts.js')).AuditContexts,
  browse: async () => (await import('./audit/browse.js')).AuditBrowse,
  export: async () => (await import('./audit/export.js')).AuditExport,
  verify: async () => (await import('./audit/verify.js')).AuditVerify,
  prove: async () => (await import('./audit/prove.js')).AuditProve,
  checkpoint: async () => (await import('./audit/checkpoint.js')).AuditCheckpoint,
};

/** Families that belong to no kind: the summary, and the commands, each of its own module or all of one. */
const OTHERS: Readonly<Record<string, readonly [summary: string, load: Loads | Family['load']]>> = {
  apply: ['create and update resources as files declare them', async () => (await import('./apply.js')).COMMANDS],
  audit: ['publish, read, list, follow and export audit events', AUDIT],
  backup: ['copy the log of the service', async () => (await import('./backup.js')).COMMANDS],
  completion: [
    'complete commands and names in bash, fish and zsh with the Tab key',
    async () => (await import('./completion.js')).COMMANDS,
  ],
  'dead-letter': [
    'list and replay the records that could not be indexed',
    async () => (await import('./dead-letter.js')).COMMANDS,
  ],
  login: ['check a key and store it in a profile', async () => (await import('./login.js')).COMMANDS],
  logout: ['remove the key from a profile', async () => (await import('./logout.js')).COMMANDS],
  org: ['create and read organizations', async () => (await import('./org.js')).COMMANDS],
  profile: ['manage profiles: who you are and where calls go', async () => (await import('./profile.js')).COMMANDS],
  rebuild: [
    'rebuild the read model from the log, while it serves',
    async () => [(await import('./maintenance.js')).Rebuild],
  ],
  reconcile: [
    'compare the read model with the log, and repair it',
    async () => [(await import('./maintenance.js')).Reconcile],
  ],
  status: ['show the service: address, version, readiness, lag', async () => (await import('./status.js')).COMMANDS],
  tlog: ['show and check the sealed history of the service', async () => (await import('./tlog.js')).COMMANDS],
  whoami: ['show whom the key belongs to, and what it may do', async () => (await import('./whoami.js')).COMMANDS],
};

/** Commands of a kind besides its verbs, or in place of one. */
const SPECIAL: Readonly<Record<string, Loads>> = {
  group: {
    create: async () => (await import('./group.js')).GroupCreate,
    'add-member': async () => (await import('./group.js')).AddMember,
    'remove-member': async () => (await import('./group.js')).RemoveMember,
  },
  invitation: {
    accept: async () => (await import('./invitation.js')).Accept,
    get: async () => (await import('./invitation.js')).Get,
    revoke: async () => (await import('./invitation.js')).Revoke,
  },
  policy: {
    create: async () => (await import('./policy.js')).PolicyCreate,
    'add-binding': async () => (await import('./policy.js')).AddBinding,
    'remove-binding': async () => (await import('./policy.js')).RemoveBinding,
  },
  user: {
    invite: async () => (await import('./user.js')).Invite,
    activity: async () => (await import('./activity.js')).UserActivity,
  },
};

const ADMINISTRATION: readonly string[] = [
  ...['backup', 'dead-letter', 'org', 'policy', 'rebuild', 'reconcile', 'serviceaccount', 'tlog'],
];

const family = (name: string, summary: string, load: Loads | Family['load']): Family => ({
  summary,
  isAdministration: ADMINISTRATION.includes(name),
  load: typeof load === 'function' ? load : (word) => loadFrom(load, word),
});

function loadFrom(loads: Loads, word?: string): Promise<Commands> {
  const name = word === undefined ? undefined : namesOf(word).find((known) => Object.hasOwn(loads, known));
  const one = name === undefined ? undefined : loads[name];
  return Promise.all((one ? [one] : Object.values(loads)).map((load) => load()));
}

/** The commands of a kind follow from its description. */
export function familyOf(kind: Kind): Family {
  const loads = Object.entries({ ...verbsOf(kind), ...SPECIAL[kind.name] }).sort(([a], [b]) => (a < b ? -1 : 1));
  return family(kind.name, kind.summary ?? `manage ${kind.plural}`, Object.fromEntries(loads));
}

/** The first words of all commands, in alphabetical order. Kinds without columns are not shown, so they have no command. */
export const FAMILIES: ReadonlyMap<string, Family> = new Map(
  [
    ...KINDS.filter(({ columns }) => columns.length > 0).map((kind): [string, Family] => [kind.name, familyOf(kind)]),
    ...Object.entries(OTHERS).map(([name, [summary, load]]): [string, Family] => [name, family(name, summary, load)]),
  ].sort(([a], [b]) => (a < b ? -1 : 1)),
);
