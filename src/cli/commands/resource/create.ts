import { type CommandClass, Option } from 'clipanion';
import type { Member } from '../../../client/json-text.js';
import type { Kind } from '../../args/kinds.js';
import { parseTags } from '../../args/tags.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT, UsageError } from '../../output/failures.js';
import { ResourceCommand } from './command.js';

export const FROM_FILE =
  'A file may be what `get` wrote: what the service assigned is left out. Options prevail over it, tags are added to its own.';

/** What every creation takes: a file, and options that prevail over it. */
export abstract class CreateCommand extends ResourceCommand {
  file = Option.String('-f,--file', { description: 'JSON or YAML file; - for standard input' });
  name = Option.String('--name', { description: 'name; required unless the file has one' });
  description = Option.String('--description,--desc', { description: 'description; default: the name' });
  tags = Option.Array('--tag', [], { description: 'a tag KEY=VALUE; may be given several times' });

  /** What the kind's own options say. Throws `UsageError` for what cannot be understood. */
  protected async options(_org: string): Promise<Readonly<Record<string, unknown>>> {
    return {};
  }

  protected async run(): Promise<number> {
    const tags = parseTags(this.tags);
    const org = await this.requireOrg();
    const given = {
      ...(this.name !== undefined && { name: this.name }),
      ...(this.description !== undefined && { description: this.description }),
      ...(await this.options(org)),
    };
    const { members, objectText } = await import('../../../client/json-text.js');
    const body = new Map<string, string>();
    for (const { name, raw } of await this.#fromFile()) body.set(name, raw);
    for (const { name, raw } of members(JSON.stringify(given))) body.set(name, raw);
    if (this.tags.length > 0) {
      const inFile = body.get('tags') ?? '{}';
      const kept = inFile.startsWith('{') ? members(inFile).filter(({ name }) => !Object.hasOwn(tags, name)) : [];
      body.set('tags', objectText([...kept, ...members(JSON.stringify(tags))]));
    }
    if (!body.has('name')) throw new UsageError('--name is required', [`see \`svc ${this.kind.name} create --help\``]);
    const calls = await this.calls();
    await this.show(await calls.create(objectText([...body].map(([name, raw]) => ({ name, raw })))));
    return EXIT.ok;
  }

  async #fromFile(): Promise<Member[]> {
    if (this.file === undefined) return [];
    const [{ readObject }, { checkKind, wanted }] = await Promise.all([
      import('../../args/input.js'),
      import('../../args/documents.js'),
    ]);
    const document = await readObject(this.terminal, this.file);
    checkKind(document, this.kind);
    return wanted(document);
  }
}

/** `svc <kind> create`, of kinds that need no options of their own. */
export function createCommand(kind: Kind): CommandClass<SvcContext> {
  return class extends CreateCommand {
    static override paths = [[kind.name, 'create']];
    static override usage = ApiCommand.Usage({
      description: `create a ${kind.noun}`,
      details: FROM_FILE,
      examples: EXAMPLES[kind.name] ?? [[`A ${kind.noun}`, `svc ${kind.name} create --name ${kind.example}`]],
    });

    protected override readonly kind = kind;
  };
}

const EXAMPLES: Readonly<Record<string, [string, string][]>> = {
  serviceaccount: [
    ['With a tag', 'svc serviceaccount create --name ci --description "builds and releases" --tag team=core'],
  ],
  domain: [
    ['From a file', 'svc domain create --file www.yaml'],
    [
      'As another one is',
      'svc domain get www.example.com -o yaml-slim | svc domain create -f - --name test.example.com',
    ],
  ],
};
