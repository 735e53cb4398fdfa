import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { ResourceCommand } from './command.js';

/** `svc <kind> delete <ref...>`; invitations are revoked in the same way, under another word. */
export function deleteCommand(kind: Kind, verb: Verb = DELETE): CommandClass<SvcContext> {
  return class extends ResourceCommand {
    static override paths = [[kind.name, verb.word]];
    static override usage = ApiCommand.Usage({
      description: `${verb.word} ${kind.plural}${CONSEQUENCES[kind.name] ?? ''}`,
      details: 'All references are tried; each failure is reported.',
      examples: [
        [`One ${kind.noun}`, `svc ${kind.name} ${verb.word} ${kind.example}`],
        [
          'All that a query finds',
          `svc ${kind.name} ${kind.name === 'invitation' ? 'get' : 'query --tag temporary=yes'} --max -1 -o names | xargs svc ${kind.name} ${verb.word}`,
        ],
      ],
    });

    refs = Option.Rest({ name: 'ref', required: 1 });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const calls = await this.calls();
      const { tryAll } = await import('../each.js');
      return tryAll(this.terminal, this.refs, async (ref) => {
        await calls.delete(ref);
        this.terminal.note(`${verb.done} ${ref}`);
      });
    }
  };
}

interface Verb {
  readonly word: string;
  readonly done: string;
}

const DELETE: Verb = { word: 'delete', done: 'deleted' };

const CONSEQUENCES: Readonly<Record<string, string>> = {
  user: ', with their permissions, group memberships and keys',
  serviceaccount: ', with their permissions, group memberships and keys',
  group: '; policies that name them lose them',
  invitation: ': their codes are worth nothing from now on',
};
