import { Option } from 'clipanion';
import { ApiCommand, onlyIn } from '../command.js';
import { CliError, EXIT, UsageError } from '../output/failures.js';
import { textOf } from '../output/values.js';
import { checkEndpoint, checkToken } from '../profile/settings.js';
import { checkProfileName, type Profile, ProfileStore } from '../profile/store.js';
import type { WhoAmIAnswer } from './whoami.js';

class Login extends ApiCommand {
  static override paths = [['login']];
  static override usage = ApiCommand.Usage({
    description: 'check a key with the service, and store it in a profile',
    details:
      'The key is read from standard input; on a terminal it is asked for and not shown. The first profile becomes the default. ' +
      'The organization is that of the key. Before it replaces a key of another organization, it asks on a terminal; elsewhere ' +
      'it then needs --force.',
    examples: [
      ['Ask for the key', 'svc login'],
      [
        'A key from a file, with the address, in a profile of its own',
        'svc login --profile prod --endpoint https://api.example.com < key.txt',
      ],
    ],
  });

  override org = Option.String('--org', {
    description: 'organization that the key must be of; default: whichever it is',
  });
  override endpoint = Option.String('--endpoint', { description: 'API address, stored with the key' });
  auditEndpoint = Option.String('--audit-endpoint', { description: 'audit address to store, if it differs' });
  force = Option.Boolean('--force', false, { description: 'replace a key of another organization without asking' });
  verify = Option.Boolean('--verify', true, {
    description: 'ask the service whom the key belongs to; --no-verify stores it unasked',
  });

  protected override readonly unavailable = onlyIn(['text', 'names'], 'login');

  protected async run(): Promise<void> {
    const { terminal, context } = this;
    const named = this.profile ?? (context.env.SVC_PROFILE || undefined);
    if (named !== undefined) checkProfileName(named);
    const { org, endpoint, auditEndpoint } = this;
    if (org === '') throw new UsageError('--org is empty');
    const given: Profile = {
      ...(endpoint && { endpoint: checkEndpoint(endpoint, 'the command line') }),
      ...(auditEndpoint && { auditEndpoint: checkEndpoint(auditEndpoint, 'the command line') }),
    };
    const store = await ProfileStore.open(context.env, (message) => terminal.warn(message));
    const before = await store.read();
    const token = this.token ?? (await terminal.readSecret('Key: '));
    if (token === '') throw new UsageError('no key: give it on standard input');
    this.token = checkToken(token, this.token === undefined ? 'standard input' : 'the command line');
    const name = named ?? before.default ?? 'default';
    const old = before.byName.get(name);
    const found = this.verify ? await this.#verified() : { org: org ?? old?.org, says: undefined };
    if (org !== undefined && found.org !== org)
      throw new CliError(`the key is one of ${found.org ?? 'the service (root)'}, not of ${org}`, EXIT.denied);
    await this.#mayReplace(name, old, found.org);
    await store.update((profiles) => {
      const { org: _org, ...kept } = profiles.byName.get(name) ?? {};
      profiles.byName.set(name, { ...kept, ...given, ...(found.org !== undefined && { org: found.org }), token });
      profiles.default ??= name;
    });
    terminal.note(found.says ?? `stored the key in profile ${name}, unverified`);
    if (this.format === 'names') await terminal.out(`${name}\n`);
  }

  /** Profiles that are not there yet are made by this command. */
  protected override async findProfile(store: ProfileStore, name: string | undefined) {
    const profiles = await store.read();
    const wanted = name ?? profiles.default;
    const profile = profiles.byName.get(wanted ?? '');
    return wanted !== undefined && profile ? { name: wanted, profile } : undefined;
  }

  async #verified(): Promise<{ org: string | undefined; says: string }> {
    const client = await this.client();
    const answer = await client.call({ method: 'GET', path: '/whoami', on: 'api', retry: 'safe' });
    const { principal, org, key } = JSON.parse(answer) as WhoAmIAnswer;
    const who = `${textOf(principal?.kind)}/${textOf(principal?.email ?? principal?.name)}`;
    if (typeof org !== 'string') return { org: undefined, says: 'Logged in as root' };
    return { org, says: `Logged in to ${org} as ${who} (expires ${textOf(key?.expires ?? 'never')})` };
  }

  /** Throws if the profile has a key of another organization and nobody agrees to lose it. */
  async #mayReplace(name: string, old: Profile | undefined, org: string | undefined): Promise<void> {
    if (old?.token === undefined || old.token === this.token || old.org === org || this.force) return;
    const what = (of: string | undefined) => (of === undefined ? 'a key without organization' : `a key of ${of}`);
    const { terminal } = this;
    if (terminal.isInteractive)
      return this.confirm(`profile ${name} holds ${what(old.org)}: replace it with ${what(org)}?`);
    if (this.yes) return;
    throw new CliError(`profile ${name} holds ${what(old.org)}, and this is ${what(org)}`, EXIT.failure, [
      'give --force to replace it, or --profile NAME to keep both',
    ]);
  }
}

export const COMMANDS = [Login];
