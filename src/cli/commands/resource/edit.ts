import { Option } from 'clipanion';
import { path } from '../../../client/api-client.js';
import { member } from '../../../contract/json-text.js';
import { wanted } from '../../args/input.js';
import { ApiCommand } from '../../command.js';
import type { Store, Stored } from '../../edit/session.js';
import { CliError } from '../../output/failures.js';
import { objectText } from '../../output/json-layout.js';
import { ResourceCommand, type Verb } from './command.js';

/** `svc <kind> edit <ref>`. */
export const edit: Verb = (kind) => {
  const { name, noun, example } = kind;
  return class extends EditCommand {
    static override paths = [[name, 'edit']];
    static override usage = ApiCommand.Usage({
      description: `edit a ${noun} as YAML in an editor`,
      details:
        'The editor is EDITOR, else VISUAL, else vi. What you change is merged into the resource; with --replace the text ' +
        'becomes the resource, and what it leaves out gets its default. A text that is refused is shown again with the ' +
        'reason on top; one that is not sent is kept in a file. If somebody else changed the resource meanwhile, your ' +
        'changes are put into the newest version and shown again.',
      examples: [
        ['In the editor of your choice', `svc ${name} edit ${example}`],
        ['In an editor with a window of its own', `EDITOR="code --wait" svc ${name} edit ${example}`],
        ['The whole text, not only its changes', `svc ${name} edit ${example} --replace`],
      ],
    });

    protected override readonly kind = kind;
  };
};

abstract class EditCommand extends ResourceCommand {
  ref = Option.String({ name: 'ref' });
  replace = Option.Boolean('-r,--replace', false, {
    description: 'replace the resource by the text instead of merging the change into it',
  });

  protected async run(): Promise<void> {
    const { context, terminal, replace, ref } = this;
    const [{ Editor }, { runEdit }] = await Promise.all([
      import('../../edit/editor.js'),
      import('../../edit/session.js'),
    ]);
    const editor = Editor.of(context);
    const store = await this.#store();
    const saved = await runEdit({ store, terminal, editor, what: `the ${this.kind.noun} ${ref}`, replace });
    if (saved !== undefined) await this.show(saved);
  }

  async #store(): Promise<Store> {
    const { kind, ref } = this;
    const org = await this.requireOrg();
    const client = await this.authorized();
    const at = { path: path`/org/${org}/${kind.name}/${ref}`, on: 'api', retry: 'safe' } as const;
    const method = this.replace ? 'PUT' : 'PATCH';
    return {
      async read(): Promise<Stored> {
        const text = await client.call({ ...at, method: 'GET' });
        const version = text.trimStart().startsWith('{') ? member(text, 'version') : undefined;
        if (!version || !/^\d+$/.test(version)) throw new CliError(`the answer of the service is not a ${kind.noun}`);
        return { text, version, document: objectText(wanted(kind, text)) };
      },
      // The same change of the same version, sent twice, is made once: it may be tried again.
      send: (body, version) => client.call({ ...at, method, body, ifMatch: `"${version}"` }),
    };
  }
}
