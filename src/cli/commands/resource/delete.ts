import { Option } from 'clipanion';
import { ApiCommand } from '../../command.js';
import { tryAll } from '../each.js';
import { ResourceCommand, type Verb } from './command.js';

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
  protected readonly done: string = 'deleted';

  protected async run(): Promise<number> {
    const calls = await this.calls();
    return tryAll(this.terminal, this.refs, async (ref) => {
      await calls.delete(ref);
      this.terminal.note(`${this.done} ${ref}`);
    });
  }
}
