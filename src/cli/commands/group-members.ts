import { type CommandClass, Option } from 'clipanion';
import { GROUP } from '../args/kinds.js';
import { ApiCommand, type SvcContext } from '../command.js';
import { CliError, EXIT, UsageError } from '../output/failures.js';
import { ResourceCommand } from './resource/command.js';

/** Which members a command is about. */
abstract class MemberCommand extends ResourceCommand {
  ref = Option.String({ name: 'ref' });
  emails = Option.Array('--email', [], { description: 'e-mail address of a user; may be given several times' });
  accounts = Option.Array('--serviceaccount', [], {
    description: 'name of a service account; may be given several times',
  });
  protected override readonly kind = GROUP;

  /** Their links. Throws `UsageError` where none is named. */
  protected async links(): Promise<string[]> {
    if (this.emails.length + this.accounts.length === 0) throw new UsageError('give --email or --serviceaccount');
    const [{ linkTo, userLink }, org] = await Promise.all([import('../args/links.js'), this.requireOrg()]);
    return [
      ...this.emails.map((email) => userLink(org, email)),
      ...this.accounts.map((name) => linkTo(org, 'serviceaccount', name)),
    ];
  }
}

/** `svc group add-member <ref>`. */
export function addMemberCommand(): CommandClass<SvcContext> {
  return class extends MemberCommand {
    static override paths = [['group', 'add-member']];
    static override usage = ApiCommand.Usage({
      description: 'add members to a group',
      examples: [
        ['A user', 'svc group add-member devs --email ann@example.com'],
        ['A service account', 'svc group add-member devs --serviceaccount ci'],
      ],
    });

    protected async run(): Promise<number> {
      const memberLinks = { $append: await this.links() };
      const calls = await this.calls();
      await this.show(await calls.patch(this.ref, JSON.stringify({ memberLinks })));
      return EXIT.ok;
    }
  };
}

/** `svc group remove-member <ref>`. */
export function removeMemberCommand(): CommandClass<SvcContext> {
  return class extends MemberCommand {
    static override paths = [['group', 'remove-member']];
    static override usage = ApiCommand.Usage({
      description: 'remove members from a group',
      details: 'Who is a member by the query of the group stays one.',
      examples: [
        ['A user', 'svc group remove-member devs --email ann@example.com'],
        ['A service account', 'svc group remove-member devs --serviceaccount ci'],
      ],
    });

    protected async run(): Promise<number> {
      const links = await this.links();
      const calls = await this.calls();
      await this.#requireMembers(await calls.get(this.ref), links);
      await this.show(await calls.patch(this.ref, JSON.stringify({ memberLinks: { $drop: links } })));
      return EXIT.ok;
    }

    /** Whoever mistypes a name must not believe that somebody lost access. */
    async #requireMembers(group: string, links: readonly string[]): Promise<void> {
      const { memberLinks = [] } = JSON.parse(group) as { memberLinks?: readonly string[] };
      const stranger = links.find((link) => !memberLinks.includes(link));
      if (stranger === undefined) return;
      const { shortName } = await import('../output/short-name.js');
      throw new CliError(`${shortName(stranger)} is not among the members that ${this.ref} links`);
    }
  };
}
