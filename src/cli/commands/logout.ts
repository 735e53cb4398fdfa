import { Option } from 'clipanion';
import { onlyIn, SvcCommand } from '../command.js';
import { ProfileStore } from '../profile/store.js';

class Logout extends SvcCommand {
  static override paths = [['logout']];
  static override usage = SvcCommand.Usage({
    description: 'remove the key from a profile',
    details: 'The rest of the profile stays, and so does the key at the service: revoke it there with remove-key.',
    examples: [
      ['The profile in use', 'svc logout'],
      ['Revoke a key, then forget it', 'svc serviceaccount remove-key ci --id ID && svc logout --profile ci'],
    ],
  });

  profile = Option.String('--profile', { description: 'profile; default: SVC_PROFILE, else the default profile' });

  protected override readonly unavailable = onlyIn(['text', 'names'], 'logout');

  async execute(): Promise<void> {
    void this.format;
    const { terminal, context } = this;
    const store = await ProfileStore.open(context.env);
    const found = await store.find(this.profile ?? (context.env.SVC_PROFILE || undefined));
    if (found?.profile.token === undefined) {
      terminal.note(found ? `profile ${found.name} holds no key` : 'there is no profile in use');
    } else {
      const { name } = found;
      await store.update(({ byName }) => {
        const { token: _token, ...kept } = byName.get(name) ?? {};
        byName.set(name, kept);
      });
      terminal.note(`removed the key from profile ${name}; the service still accepts it until it is revoked`);
      if (this.format === 'names') await terminal.out(`${name}\n`);
    }
    if (context.env.SVC_TOKEN) terminal.warn('SVC_TOKEN is set: calls go on with that key');
  }
}

export const COMMANDS = [Logout];
