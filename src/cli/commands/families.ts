import type { CommandClass } from 'clipanion';
import type { SvcContext } from '../command.js';

export interface Family {
  summary: string;
  /** Loaded only when the family is named: start-up pays for one family, not for all. */
  load(): Promise<readonly CommandClass<SvcContext>[]>;
}

/** The first words of all commands. */
export const FAMILIES: ReadonlyMap<string, Family> = new Map<string, Family>([
  [
    'audit',
    {
      summary: 'publish, read, list, follow and export audit events',
      load: async () => (await import('./audit/commands.js')).COMMANDS,
    },
  ],
  ['backup', { summary: 'copy the log of the service', load: async () => (await import('./backup.js')).COMMANDS }],
  [
    'completion',
    {
      summary: 'complete commands and names in bash, fish and zsh with the Tab key',
      load: async () => (await import('./completion.js')).COMMANDS,
    },
  ],
  [
    'dead-letter',
    {
      summary: 'list and replay the records that could not be indexed',
      load: async () => (await import('./dead-letter.js')).COMMANDS,
    },
  ],
  [
    'domain',
    {
      summary: 'manage domains: host names, and where their traffic goes',
      load: async () => (await import('./domain.js')).COMMANDS,
    },
  ],
  [
    'group',
    {
      summary: 'manage groups and their members',
      load: async () => (await import('./group.js')).COMMANDS,
    },
  ],
  [
    'invitation',
    {
      summary: 'accept, list and revoke invitations',
      load: async () => (await import('./invitation.js')).COMMANDS,
    },
  ],
  ['login', { summary: 'store a key in a profile', load: async () => (await import('./login.js')).COMMANDS }],
  ['org', { summary: 'create and read organizations', load: async () => (await import('./org.js')).COMMANDS }],
  [
    'policy',
    {
      summary: 'manage policies: who may do what to which resources',
      load: async () => (await import('./policy.js')).COMMANDS,
    },
  ],
  [
    'profile',
    {
      summary: 'manage profiles: who you are and where calls go',
      load: async () => (await import('./profile.js')).COMMANDS,
    },
  ],
  [
    'rebuild',
    {
      summary: 'fill the read model anew from the log, while it serves',
      load: async () => (await import('./rebuild.js')).COMMANDS,
    },
  ],
  [
    'reconcile',
    {
      summary: 'compare the read model with the log, and repair it',
      load: async () => (await import('./reconcile.js')).COMMANDS,
    },
  ],
  [
    'serviceaccount',
    {
      summary: 'manage service accounts and their keys',
      load: async () => (await import('./serviceaccount.js')).COMMANDS,
    },
  ],
  [
    'user',
    {
      summary: 'invite and manage users, and their keys',
      load: async () => (await import('./user.js')).COMMANDS,
    },
  ],
  [
    'whoami',
    {
      summary: 'show whom the key speaks for, and what it may do',
      load: async () => (await import('./whoami.js')).COMMANDS,
    },
  ],
]);
