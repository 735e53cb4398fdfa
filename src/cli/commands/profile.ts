import { Option } from 'clipanion';
import { SvcCommand, undeclared } from '../command.js';
import { showAnswer } from '../output/document.js';
import { abbreviate } from '../output/escape.js';
import { CliError, EXIT } from '../output/failures.js';
import { checkEndpoint, checkToken } from '../profile/settings.js';
import { checkProfileName, existing, type Profile, ProfileStore, type Profiles } from '../profile/store.js';

interface ShownProfile extends Profile {
  name: string;
  default: boolean;
}

abstract class ProfileCommand extends SvcCommand {
  protected override readonly unavailable = undeclared('profiles');

  protected async store(): Promise<ProfileStore> {
    void this.format;
    return ProfileStore.open(this.context.env, (message) => this.terminal.warn(message));
  }

  /** Shows profiles; a key never in full, since lists end up on screens and in tickets. */
  protected async show(names: readonly string[], profiles: Profiles, asList: boolean): Promise<void> {
    const items = names.map((name): ShownProfile => {
      const { token, ...rest } = profiles.byName.get(name) ?? {};
      const shownToken = token !== undefined && { token: abbreviate(token) };
      return { name, default: profiles.default === name, ...rest, ...shownToken };
    });
    const body = asList ? { kind: 'list', itemKind: 'profile', items } : { kind: 'profile', ...items[0] };
    await showAnswer(this.terminal, this.format, JSON.stringify(body), {
      items,
      columns: [
        { header: 'NAME', value: ({ name }) => name },
        { header: 'DEFAULT', value: (profile) => (profile.default ? 'yes' : '') },
        { header: 'ORG', value: ({ org = '' }) => org },
        { header: 'ENDPOINT', value: ({ endpoint = '' }) => endpoint },
        { header: 'AUDIT ENDPOINT', value: ({ auditEndpoint = '' }) => auditEndpoint },
        { header: 'TOKEN', value: ({ token = '' }) => token },
      ],
      name: ({ name }) => name,
    });
  }
}

/** Commands that set members of one profile. An empty text removes the member. */
abstract class ProfileWriter extends ProfileCommand {
  name = Option.String({ name: 'name' });
  org = Option.String('--org', { description: 'organization of calls with this profile' });
  endpoint = Option.String('--endpoint', { description: 'API address' });
  auditEndpoint = Option.String('--audit-endpoint', { description: 'audit address; default: the API address' });
  token = Option.String('--token', { description: 'key; other users of the machine may see it: prefer `svc login`' });

  protected changed(before: Profile): Profile {
    const { org, endpoint, auditEndpoint, token } = this;
    if (token) checkToken(token, '--token');
    const given = {
      org,
      token,
      endpoint: endpoint && checkEndpoint(endpoint, '--endpoint'),
      auditEndpoint: auditEndpoint && checkEndpoint(auditEndpoint, '--audit-endpoint'),
    };
    const entries = [...Object.entries(before), ...Object.entries(given).filter(([, value]) => value !== undefined)];
    return Object.fromEntries([...new Map(entries)].filter(([, value]) => value !== ''));
  }
}

class ProfileCreate extends ProfileWriter {
  static override paths = [['profile', 'create']];
  static override usage = SvcCommand.Usage({
    description: 'create a profile',
    details: 'The first profile becomes the default.',
    examples: [
      ['A profile for one organization', 'svc profile create prod --org acme --endpoint https://api.example.com'],
    ],
  });

  isDefault = Option.Boolean('--default', false, { description: 'make it the default profile' });

  async execute(): Promise<void> {
    const store = await this.store();
    checkProfileName(this.name);
    const profile = this.changed({});
    const profiles = await store.update((all) => {
      if (all.byName.has(this.name)) {
        throw new CliError(`profile \`${this.name}\` already exists`, EXIT.failure, [
          'change it with `svc profile update`',
        ]);
      }
      all.byName.set(this.name, profile);
      if (this.isDefault || all.default === undefined) all.default = this.name;
    });
    await this.show([this.name], profiles, false);
  }
}

class ProfileUpdate extends ProfileWriter {
  static override paths = [['profile', 'update']];
  static override usage = SvcCommand.Usage({
    description: 'change settings of a profile; an empty text removes one',
    examples: [
      ['Another organization', 'svc profile update prod --org other'],
      ['No audit address of its own', 'svc profile update prod --audit-endpoint ""'],
    ],
  });

  async execute(): Promise<void> {
    const store = await this.store();
    const profiles = await store.update((all) => {
      all.byName.set(this.name, this.changed(existing(this.name, all)));
    });
    await this.show([this.name], profiles, false);
  }
}

class ProfileGet extends ProfileCommand {
  static override paths = [['profile', 'get']];
  static override usage = SvcCommand.Usage({
    description: 'show profiles; keys are abbreviated',
    examples: [
      ['All profiles', 'svc profile get'],
      ['One profile', 'svc profile get prod -o json'],
    ],
  });

  names = Option.Rest({ name: 'name' });

  async execute(): Promise<void> {
    const profiles = await (await this.store()).read();
    for (const name of this.names) existing(name, profiles);
    const names = this.names.length > 0 ? this.names : [...profiles.byName.keys()];
    await this.show(names, profiles, this.names.length !== 1);
  }
}

class ProfileDelete extends ProfileCommand {
  static override paths = [['profile', 'delete']];
  static override usage = SvcCommand.Usage({
    description: 'delete profiles and the keys they hold',
    examples: [['Delete two', 'svc profile delete old older']],
  });

  names = Option.Rest({ name: 'name', required: 1 });

  async execute(): Promise<void> {
    const store = await this.store();
    const before = await store.read();
    for (const name of this.names) existing(name, before);
    const what = this.names.length === 1 ? 'profile' : 'profiles';
    await this.confirm(`delete ${what} ${this.names.join(', ')} and the keys they hold?`);
    await store.update((profiles) => {
      for (const name of this.names) {
        existing(name, profiles);
        profiles.byName.delete(name);
        if (profiles.default === name) profiles.default = undefined;
      }
    });
    this.terminal.note(`deleted ${this.names.join(', ')}`);
  }
}

class ProfileSetDefault extends ProfileCommand {
  static override paths = [['profile', 'set-default']];
  static override usage = SvcCommand.Usage({
    description: 'choose the profile of calls that name none',
    examples: [['Use prod from now on', 'svc profile set-default prod']],
  });

  name = Option.String({ name: 'name' });

  async execute(): Promise<void> {
    await (await this.store()).update((profiles) => {
      existing(this.name, profiles);
      profiles.default = this.name;
    });
    this.terminal.note(`the default profile is ${this.name}`);
  }
}

class ProfileToken extends ProfileCommand {
  static override paths = [['profile', 'token']];
  static override usage = SvcCommand.Usage({
    description: 'print the key of a profile, by default of the one in use',
    examples: [
      [
        'Call the service with another program',
        'curl -H "Authorization: Bearer $(svc profile token)" http://127.0.0.1:8080/org/acme',
      ],
    ],
  });

  name = Option.String({ name: 'name', required: false });

  async execute(): Promise<void> {
    const store = await this.store();
    const found = await store.find(this.name ?? (this.context.env.SVC_PROFILE || undefined));
    if (!found)
      throw new CliError('there is no default profile', EXIT.failure, ['name one, or use `svc profile set-default`']);
    if (!found.profile.token) {
      throw new CliError(`profile ${found.name} has no key`, EXIT.denied, ['store one with `svc login`']);
    }
    await this.terminal.out(`${found.profile.token}\n`);
  }
}

export const COMMANDS = [ProfileCreate, ProfileUpdate, ProfileGet, ProfileDelete, ProfileSetDefault, ProfileToken];
