import { Option } from 'clipanion';
import { onlyIn, SvcCommand } from '../command.js';
import { UsageError } from '../output/failures.js';
import { checkEndpoint, checkToken } from '../profile/settings.js';
import { checkProfileName, ProfileStore } from '../profile/store.js';

class Login extends SvcCommand {
  static override paths = [['login']];
  static override usage = SvcCommand.Usage({
    description: 'read a key from standard input and store it in a profile',
    details: 'On a terminal it prompts for the key and does not show it. The first profile becomes the default.',
    examples: [
      ['Ask for the key', 'svc login'],
      [
        'A key from a file, with the organization and the address',
        'svc login --profile prod --org acme --endpoint https://api.example.com < key.txt',
      ],
    ],
  });

  profile = Option.String('--profile', { description: 'profile; default: SVC_PROFILE, else the default profile' });
  org = Option.String('--org', { description: 'organization to store with the key' });
  endpoint = Option.String('--endpoint', { description: 'API address to store with the key' });
  auditEndpoint = Option.String('--audit-endpoint', { description: 'audit address, if it differs' });

  protected override readonly unavailable = onlyIn(['text', 'names'], 'login');

  async execute(): Promise<void> {
    void this.format;
    const { SVC_PROFILE } = this.context.env;
    const named = this.profile || SVC_PROFILE || undefined;
    if (named) checkProfileName(named);
    const settings = {
      ...(this.org && { org: this.org }),
      ...(this.endpoint && { endpoint: checkEndpoint(this.endpoint, 'the command line') }),
      ...(this.auditEndpoint && { auditEndpoint: checkEndpoint(this.auditEndpoint, 'the command line') }),
    };
    const token = await this.terminal.readSecret('Key: ');
    if (token === '') throw new UsageError('no key: give it on standard input');
    checkToken(token, 'standard input');
    const store = await ProfileStore.open(this.context.env);
    let name = '';
    await store.update((profiles) => {
      name = named ?? profiles.default ?? 'default';
      profiles.byName.set(name, { ...profiles.byName.get(name), ...settings, token });
      profiles.default ??= name;
    });
    this.terminal.note(`stored the key in profile ${name}`);
    if (this.format === 'names') await this.terminal.out(`${name}\n`);
  }
}

export const COMMANDS = [Login];
