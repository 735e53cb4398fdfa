import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { parseTags } from '../../args/tags.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { UsageError } from '../../output/failures.js';
import { ResourceCommand } from './command.js';

/** `svc <kind> tag <ref...>`. */
export function tagCommand(kind: Kind): CommandClass<SvcContext> {
  return class extends ResourceCommand {
    static override paths = [[kind.name, 'tag']];
    static override usage = ApiCommand.Usage({
      description: `attach, change and remove tags of ${kind.plural}`,
      details:
        'The same change is applied to all of them; all are tried, and each failure is reported. Tags beginning with ' +
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
}
