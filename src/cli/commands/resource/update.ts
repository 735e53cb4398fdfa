import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT } from '../../output/failures.js';
import { ResourceCommand } from './command.js';

/** `svc <kind> update <ref> --set PROPERTY=VALUE`. */
export function updateCommand(kind: Kind): CommandClass<SvcContext> {
  const hasMembers = kind.name === 'group';
  return class extends ResourceCommand {
    static override paths = [[kind.name, 'update']];
    static override usage = ApiCommand.Usage({
      description: `set properties of a ${kind.noun}`,
      ...(hasMembers && {
        details:
          'Members are links, or in short an e-mail address, user/REF or serviceaccount/NAME; several are separated by ' +
          'commas. memberLinks+= appends, -= removes, = replaces; given together, first = is done, then -=, then +=.',
      }),
      examples: [
        ['The description', `svc ${kind.name} update ${kind.example} --set description="on call this week"`],
        ['A tag', `svc ${kind.name} update ${kind.example} --set tags.team=core`],
        ...(hasMembers
          ? ([
              ['Two more members', 'svc group update devs --set memberLinks+=ann@example.com,serviceaccount/ci'],
              ['No members', 'svc group update devs --set memberLinks='],
            ] as [string, string][])
          : []),
      ],
    });

    ref = Option.String({ name: 'ref' });
    assignments = Option.Array('--set', {
      description: `description=TEXT${hasMembers ? ',' : ' or'} tags.KEY=VALUE${hasMembers ? ' or memberLinks=, +=, -=' : ''}; may be given several times`,
      required: true,
    });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const [{ patchOf }, org] = await Promise.all([import('../../args/assignments.js'), this.requireOrg()]);
      const { principalLink } = await import('../../args/links.js');
      const link = (written: string) => principalLink(org, '--set memberLinks', written);
      const body = JSON.stringify(patchOf(this.assignments, hasMembers ? link : undefined));
      const calls = await this.calls();
      await this.show(await calls.patch(this.ref, body));
      return EXIT.ok;
    }
  };
}
