import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT } from '../../output/failures.js';
import { ResourceCommand } from './command.js';

/** `svc <kind> patch <ref> --file FILE`. */
export function patchCommand(kind: Kind): CommandClass<SvcContext> {
  return class extends ResourceCommand {
    static override paths = [[kind.name, 'patch']];
    static override usage = ApiCommand.Usage({
      description: `update a ${kind.noun} from a file, in JSON or YAML`,
      details:
        'What the file holds is merged into the resource; null removes a member (RFC 7396). A file that `get` wrote is ' +
        'taken, too: its version then guards against changes that came between.',
      examples: [
        ['From a file', `svc ${kind.name} patch ${kind.example} --file changes.yaml`],
        ['From standard input', `echo '{"tags": {"team": null}}' | svc ${kind.name} patch ${kind.example} -f -`],
      ],
    });

    ref = Option.String({ name: 'ref' });
    file = Option.String('-f,--file', { description: 'JSON or YAML file; - for standard input', required: true });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const calls = await this.calls();
      const { readObject } = await import('../../args/input.js');
      await this.show(await calls.patch(this.ref, await readObject(this.terminal, this.file)));
      return EXIT.ok;
    }
  };
}
