import { Option } from 'clipanion';
import { parseTags, patchOf } from '../../args/assignments.js';
import { readObject } from '../../args/input.js';
import { principalLink } from '../../args/links.js';
import { ApiCommand } from '../../command.js';
import { UsageError } from '../../output/failures.js';
import { type Example, ResourceCommand, type Verb } from './command.js';

/** `svc <kind> patch <ref> --file FILE`. */
export const patch: Verb = (kind) =>
  class extends ResourceCommand {
    static override paths = [[kind.name, 'patch']];
    static override usage = ApiCommand.Usage({
      description: `update a ${kind.noun} from a file, in JSON or YAML`,
      details:
        'The file is merged into the resource; null removes a member (RFC 7396). A file that `get` wrote works, too: ' +
        'its version then makes the update fail if the resource was changed meanwhile.',
      examples: [
        ['From a file', `svc ${kind.name} patch ${kind.example} --file changes.yaml`],
        ['From standard input', `echo '{"tags": {"team": null}}' | svc ${kind.name} patch ${kind.example} -f -`],
      ],
    });

    ref = Option.String({ name: 'ref' });
    file = Option.String('-f,--file', { description: 'JSON or YAML file; - for standard input', required: true });
    protected override readonly kind = kind;

    protected async run(): Promise<void> {
      const calls = await this.calls();
      await this.show(await calls.patch(this.ref, await readObject(this.terminal, this.file)));
    }
  };

/** `svc <kind> tag <ref...>`. */
export const tag: Verb = (kind) =>
  class extends ResourceCommand {
    static override paths = [[kind.name, 'tag']];
    static override usage = ApiCommand.Usage({
      description: `attach, change and remove tags of ${kind.plural}`,
      details:
        'The same change is applied to all references; all are tried, and each failure is reported. Tags beginning with ' +
        'svc/ are built in and cannot be modified.',
      examples: [
        ['Set two tags', `svc ${kind.name} tag ${kind.example} --tag team=core --tag tier=1`],
        ['Remove one', `svc ${kind.name} tag ${kind.example} --remove team`],
      ],
    });

    refs = Option.Rest({ name: 'ref', required: 1 });
    tags = Option.Array('--tag', [], { description: 'a tag KEY=VALUE to set; may be given several times' });
    removed = Option.Array('--remove,--remove-tag', [], {
      description: 'name of a tag to remove; may be given several times',
    });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const body = JSON.stringify({ tags: this.#changes() });
      const calls = await this.calls();
      return this.showEach(this.refs, (ref) => calls.patch(ref, body));
    }

    #changes(): Record<string, string | null> {
      const set = parseTags(this.tags);
      const both = this.removed.find((name) => Object.hasOwn(set, name));
      if (both !== undefined) throw new UsageError(`the tag \`${both}\` is both set and removed`);
      if (this.tags.length + this.removed.length === 0) throw new UsageError('no change: give --tag or --remove');
      return Object.fromEntries([...Object.entries(set), ...this.removed.map((name) => [name, null])]);
    }
  };

const MEMBERS =
  'Members are links, or in short an e-mail address, user/REF or serviceaccount/NAME; several are separated by ' +
  'commas. memberLinks+= appends, -= removes, = replaces; given together, = comes first, then -=, then +=.';

const MEMBER_EXAMPLES: Example[] = [
  ['Two more members', 'svc group update devs --set memberLinks+=ann@example.com,serviceaccount/ci'],
  ['No members', 'svc group update devs --set memberLinks='],
];

/** `svc <kind> update <ref> --set PROPERTY=VALUE`. */
export const update: Verb = (kind) => {
  const hasMembers = kind.name === 'group';
  return class extends ResourceCommand {
    static override paths = [[kind.name, 'update']];
    static override usage = ApiCommand.Usage({
      description: `set properties of a ${kind.noun}`,
      ...(hasMembers && { details: MEMBERS }),
      examples: [
        ['The description', `svc ${kind.name} update ${kind.example} --set description="on call this week"`],
        ['A tag', `svc ${kind.name} update ${kind.example} --set tags.team=core`],
        ...(hasMembers ? MEMBER_EXAMPLES : []),
      ],
    });

    ref = Option.String({ name: 'ref' });
    assignments = Option.Array('--set', {
      description: `description=TEXT${hasMembers ? ',' : ' or'} tags.KEY=VALUE${hasMembers ? ' or memberLinks=, +=, -=' : ''}; may be given several times`,
      required: true,
    });
    protected override readonly kind = kind;

    protected async run(): Promise<void> {
      const org = await this.requireOrg();
      const link = (written: string) => principalLink(org, '--set memberLinks', written);
      const body = JSON.stringify(patchOf(this.assignments, hasMembers ? link : undefined));
      const calls = await this.calls();
      await this.show(await calls.patch(this.ref, body));
    }
  };
};

/** `svc <kind> delete <ref...>`. */
export const remove: Verb = (kind) =>
  class extends DeleteCommand {
    static override paths = [[kind.name, 'delete']];
    static override usage = ApiCommand.Usage({
      description: `delete a ${kind.noun}${kind.says.delete ?? ''}`,
      details: 'All references are tried; each failure is reported.',
      examples: [
        [`One ${kind.noun}`, `svc ${kind.name} delete ${kind.example}`],
        [
          'All that a query finds',
          `svc ${kind.name} query --tag temporary=yes --max -1 -o names | xargs svc ${kind.name} delete`,
        ],
      ],
    });

    protected override readonly kind = kind;
  };

export abstract class DeleteCommand extends ResourceCommand {
  refs = Option.Rest({ name: 'ref', required: 1 });
  protected readonly verb: 'delete' | 'revoke' = 'delete';

  protected async run(): Promise<number> {
    const { refs, verb, kind } = this;
    const calls = await this.calls();
    const what = refs.length === 1 ? kind.noun : `${refs.length} ${kind.plural}:`;
    await this.confirm(`${verb} ${what} ${refs.join(', ')} of ${await this.requireOrg()}?`);
    return this.tryAll(refs, async (ref) => {
      await calls.delete(ref);
      this.terminal.note(`${verb}d ${ref}`);
    });
  }
}
