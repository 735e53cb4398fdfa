import { Option } from 'clipanion';
import { type Member, members } from '../../../contract/json-text.js';
import { parseTags } from '../../args/assignments.js';
import { checkKind, readObject, wanted } from '../../args/input.js';
import { ApiCommand } from '../../command.js';
import { UsageError } from '../../output/failures.js';
import { objectText } from '../../output/json-layout.js';
import { type Example, ResourceCommand, type Verb } from './command.js';

export const FROM_FILE =
  'A file may be what `get` wrote: what the service assigned is left out. Options override the file; tags are added to its own.';

/** What every creation takes: a file, and options that override it. */
export abstract class CreateCommand extends ResourceCommand {
  file = Option.String('-f,--file', { description: 'JSON or YAML file; - for standard input' });
  name = Option.String('--name', { description: 'name; required unless the file has one' });
  description = Option.String('--description,--desc', { description: 'description; default: the name' });
  tags = Option.Array('--tag', [], { description: 'a tag KEY=VALUE; may be given several times' });

  /** The members that the kind's own options give. Throws `UsageError` for a value that makes no sense. */
  protected options(_org: string): Readonly<Record<string, unknown>> {
    return {};
  }

  protected async run(): Promise<void> {
    const tags = parseTags(this.tags);
    const org = await this.requireOrg();
    const given = {
      ...(this.name !== undefined && { name: this.name }),
      ...(this.description !== undefined && { description: this.description }),
      ...this.options(org),
    };
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
  }

  async #fromFile(): Promise<Member[]> {
    if (this.file === undefined) return [];
    const document = await readObject(this.terminal, this.file);
    checkKind(document, this.kind);
    return wanted(this.kind, document);
  }
}

/** `svc <kind> create`, for kinds that need no options of their own. */
export const create: Verb = (kind) =>
  class extends CreateCommand {
    static override paths = [[kind.name, 'create']];
    static override usage = ApiCommand.Usage({
      description: `create a ${kind.noun}`,
      details: FROM_FILE,
      examples: EXAMPLES[kind.name] ?? [[`A ${kind.noun}`, `svc ${kind.name} create --name ${kind.example}`]],
    });

    protected override readonly kind = kind;
  };

const EXAMPLES: Readonly<Record<string, Example[]>> = {
  serviceaccount: [
    ['With a tag', 'svc serviceaccount create --name ci --description "builds and releases" --tag team=core'],
  ],
  domain: [
    ['From a file', 'svc domain create --file www.yaml'],
    ['As a copy', 'svc domain get www.example.com -o yaml-slim | svc domain create -f - --name test.example.com'],
  ],
};

/** What a copy does not take over from its original. */
const DESCRIBED = ['name', 'description', 'tags'];

/** `svc <kind> clone <ref> --name NAME`, also called `copy`. */
export const clone: Verb = (kind) =>
  class extends ResourceCommand {
    static override paths = [
      [kind.name, 'clone'],
      [kind.name, 'copy'],
    ];
    static override usage = ApiCommand.Usage({
      description: `create a copy of a ${kind.noun}; also called \`copy\``,
      details: `The copy does what the original does. Its description and tags are its own.`,
      examples: [[`A copy`, `svc ${kind.name} clone ${kind.example} --name ${kind.copy ?? 'copy'}`]],
    });

    ref = Option.String({ name: 'ref' });
    name = Option.String('--name', { description: 'name of the copy', required: true });
    description = Option.String('--description,--desc', { description: 'description of the copy; default: the name' });
    tags = Option.Array('--tag', [], { description: 'a tag KEY=VALUE of the copy; may be given several times' });
    protected override readonly kind = kind;

    protected async run(): Promise<void> {
      const tags = parseTags(this.tags);
      const calls = await this.calls();
      const copied = wanted(kind, await calls.get(this.ref)).filter(({ name }) => !DESCRIBED.includes(name));
      const described = {
        name: this.name,
        ...(this.description !== undefined && { description: this.description }),
        ...(this.tags.length > 0 && { tags }),
      };
      await this.show(await calls.create(objectText([...members(JSON.stringify(described)), ...copied])));
    }
  };
