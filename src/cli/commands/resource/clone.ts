import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { parseTags } from '../../args/tags.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT } from '../../output/failures.js';
import { ResourceCommand } from './command.js';

/** What a copy has of its original. */
const SPEC: Readonly<Record<string, readonly string[]>> = {
  group: ['memberLinks', 'memberQuery'],
  policy: ['targetKind', 'target', 'targetLinks', 'bindings'],
  domain: ['spec'],
};

/** `svc <kind> clone <ref> --name NAME`, also called `copy`. */
export function cloneCommand(kind: Kind): CommandClass<SvcContext> {
  const copied = SPEC[kind.name] ?? [];
  return class extends ResourceCommand {
    static override paths = [
      [kind.name, 'clone'],
      [kind.name, 'copy'],
    ];
    static override usage = ApiCommand.Usage({
      description: `create a copy of a ${kind.noun}; also called \`copy\``,
      details: `Copied is only what it does (${copied.join(', ')}), not its description and tags.`,
      examples: [[`A copy`, `svc ${kind.name} clone ${kind.example} --name ${COPIES[kind.name] ?? 'copy'}`]],
    });

    ref = Option.String({ name: 'ref' });
    name = Option.String('--name', { description: 'name of the copy', required: true });
    description = Option.String('--description,--desc', { description: 'description of the copy; default: the name' });
    tags = Option.Array('--tag', [], { description: 'a tag KEY=VALUE of the copy; may be given several times' });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const tags = parseTags(this.tags);
      const calls = await this.calls();
      const { members, objectText } = await import('../../../client/json-text.js');
      const spec = members(await calls.get(this.ref)).filter(({ name }) => copied.includes(name));
      const described = {
        name: this.name,
        ...(this.description !== undefined && { description: this.description }),
        ...(this.tags.length > 0 && { tags }),
      };
      await this.show(await calls.create(objectText([...members(JSON.stringify(described)), ...spec])));
      return EXIT.ok;
    }
  };
}

const COPIES: Readonly<Record<string, string>> = {
  group: 'ops',
  policy: 'releasers',
  domain: 'test.example.com',
};
