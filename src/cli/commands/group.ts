import { Option } from 'clipanion';
import { ApiError } from '../../client/errors.js';
import { kindOf } from '../../contract/kinds.js';
import { parseLink } from '../../contract/links.js';
import { choice } from '../args/choice.js';
import { linkOf } from '../args/links.js';
import { MATCHES, querySpec } from '../args/query-terms.js';
import { ApiCommand } from '../command.js';
import { CliError, EXIT, UsageError } from '../output/failures.js';
import { shortName } from '../output/values.js';
import { ResourceCommand } from './resource/command.js';
import { CreateCommand, FROM_FILE } from './resource/create.js';

const GROUP = kindOf('group');

export class GroupCreate extends CreateCommand {
  static override paths = [['group', 'create']];
  static override usage = ApiCommand.Usage({
    description: 'create a group; members are then added with add-member',
    details: `Whoever matches the query of a group is a member, too, for as long as the query matches. ${FROM_FILE}`,
    examples: [
      ['A group', 'svc group create --name devs --description "who writes it" --tag team=core'],
      ['All users with a tag', 'svc group create --name core --query-tag team=core'],
      ['As a copy', 'svc group get devs -o yaml-slim | svc group create -f - --name ops'],
    ],
  });

  queryMatch = choice('--query-match', MATCHES, {
    what: 'which terms of the query must hold',
    without: 'default all',
  });
  queryProperties = Option.Array('--query-property', [], {
    description: 'members are those with a property key=value; may be given several times',
  });
  queryTags = Option.Array('--query-tag', [], {
    description: 'members are those with a tag key=value; may be given several times',
  });
  queryRelations = Option.Array('--query-rel', [], {
    description: 'members are those with a relation, such as group=devs; may be given several times',
  });
  queryKind = choice('--query-kind', ['user'], { what: 'what the query selects', without: 'default user' });
  protected override readonly kind = GROUP;

  protected override options(): Readonly<Record<string, unknown>> {
    const { queryMatch: match, queryKind: kind = 'user' } = this;
    const spec = querySpec({
      match,
      properties: { option: '--query-property', value: this.queryProperties },
      tags: { option: '--query-tag', value: this.queryTags },
      relations: { option: '--query-rel', value: this.queryRelations },
    });
    if (spec.terms.length > 0) return { memberQuery: { kind, fetch: 'items', spec } };
    // A query without terms would make every user a member.
    if ((this.queryMatch ?? this.queryKind) !== undefined) {
      this.terminal.note('the group has no query: a query needs --query-property, --query-tag or --query-rel');
    }
    return {};
  }
}

/** Which members a command is about. */
abstract class MemberCommand extends ResourceCommand {
  ref = Option.String({ name: 'ref' });
  emails = Option.Array('--email', [], { description: 'e-mail address of a user; may be given several times' });
  accounts = Option.Array('--serviceaccount', [], {
    description: 'name of a service account; may be given several times',
  });
  protected override readonly kind = GROUP;

  /** Their links. Throws `UsageError` if none is named. */
  protected async links(): Promise<string[]> {
    if (this.emails.length + this.accounts.length === 0) throw new UsageError('give --email or --serviceaccount');
    const org = await this.requireOrg();
    return [
      ...this.emails.map((email) => linkOf(org, 'user', email)),
      ...this.accounts.map((name) => linkOf(org, 'serviceaccount', name)),
    ];
  }
}

export class AddMember extends MemberCommand {
  static override paths = [['group', 'add-member']];
  static override usage = ApiCommand.Usage({
    description: 'add members to a group',
    examples: [
      ['A user', 'svc group add-member devs --email ann@example.com'],
      ['A service account', 'svc group add-member devs --serviceaccount ci'],
    ],
  });

  protected async run(): Promise<void> {
    const links = await this.links();
    const calls = await this.calls();
    try {
      await this.show(await calls.patch(this.ref, JSON.stringify({ memberLinks: { $append: links } })));
    } catch (error) {
      throw (error instanceof ApiError && (await this.#unknown(error, links, await calls.get(this.ref)))) || error;
    }
  }

  /** Names those that do not exist: the service names the places that they would have in the group's list. */
  async #unknown({ body }: ApiError, links: readonly string[], group: string): Promise<CliError | undefined> {
    const { memberLinks = [] } = JSON.parse(group) as { memberLinks?: readonly string[] };
    const all = [...memberLinks, ...links.filter((link) => !memberLinks.includes(link))];
    const places = body.details?.fields?.map(({ pointer }) => /^\/memberLinks\/(\d+)$/.exec(pointer)?.[1]) ?? [];
    const named = places.map((place) => parseLink(all[Number(place)] ?? ''));
    const [first, ...others] = named.map((link) => {
      const isUser = link?.kind === 'user';
      return `${isUser ? '--email' : '--serviceaccount'} ${link?.ref}: no such ${isUser ? 'user' : 'service account'} in ${link?.org}`;
    });
    return first === undefined || named.includes(undefined) ? undefined : new CliError(first, EXIT.failure, others);
  }
}

export class RemoveMember extends MemberCommand {
  static override paths = [['group', 'remove-member']];
  static override usage = ApiCommand.Usage({
    description: 'remove members from a group',
    details: 'Whoever is a member by the query stays one. To remove who is no member is no error, and is said.',
    examples: [
      ['A user', 'svc group remove-member devs --email ann@example.com'],
      ['A service account', 'svc group remove-member devs --serviceaccount ci'],
    ],
  });

  protected async run(): Promise<void> {
    const links = await this.links();
    const calls = await this.calls();
    const { memberLinks = [] } = JSON.parse(await calls.get(this.ref)) as { memberLinks?: readonly string[] };
    // A mistyped name must not look like a removed member.
    for (const link of links.filter((one) => !memberLinks.includes(one))) {
      this.terminal.note(`${shortName(link)} is not a linked member of ${this.ref}: nothing to remove`);
    }
    await this.show(await calls.patch(this.ref, JSON.stringify({ memberLinks: { $drop: links } })));
  }
}
