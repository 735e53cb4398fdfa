import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT } from '../../output/failures.js';
import { ResourceCommand } from './command.js';

/** `svc <kind> get [ref...]`. */
export function getCommand(kind: Kind): CommandClass<SvcContext> {
  return class extends ResourceCommand {
    static override paths = [[kind.name, 'get']];
    static override usage = ApiCommand.Usage({
      description: `show ${kind.plural}: those that are named, or all`,
      details:
        'Of one reference the resource is shown, of several or none a list. All references are tried; each failure is reported.',
      examples: [
        [`The first 50 ${kind.plural}`, `svc ${kind.name} get`],
        [`One ${kind.noun}, as YAML`, `svc ${kind.name} get ${kind.example} -o yaml`],
        [`All ${kind.plural}, one name a line`, `svc ${kind.name} get --max -1 -o names`],
      ],
    });

    refs = Option.Rest({ name: 'ref' });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      if (this.refs.length > 0) {
        const calls = await this.calls();
        return this.showEach(this.refs, calls.get);
      }
      await this.showList();
      return EXIT.ok;
    }
  };
}
