import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import type { Store, Stored } from '../../edit/session.js';
import { CliError, EXIT } from '../../output/failures.js';
import { ResourceCommand } from './command.js';

/** `svc <kind> edit <ref>`. */
export function editCommand(kind: Kind): CommandClass<SvcContext> {
  const { name, noun, example } = kind;
  return class extends ResourceCommand {
    static override paths = [[name, 'edit']];
    static override usage = ApiCommand.Usage({
      description: `edit a ${noun} as YAML in an editor`,
      details:
        'The editor is EDITOR, else VISUAL, else vi. What you change is merged into the resource; with --replace the text ' +
        'becomes the resource, and what it leaves out gets its default. A text that is refused is shown again with the ' +
        'reason on top; one that is left unsent is kept in a file. If somebody else changed the resource meanwhile, your ' +
        'changes are put into the newest version and shown again.',
      examples: [
        ['In the editor of your choice', `svc ${name} edit ${example}`],
        ['In an editor with a window of its own', `EDITOR="code --wait" svc ${name} edit ${example}`],
        ['As it stands in the editor, and nothing else', `svc ${name} edit ${example} --replace`],
      ],
    });

    ref = Option.String({ name: 'ref' });
    replace = Option.Boolean('-r,--replace', false, {
      description: 'replace the resource by the text, not merge the change into it',
    });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const { context, terminal, replace, ref } = this;
      const [{ Editor }, { runEdit }] = await Promise.all([
        import('../../edit/editor.js'),
        import('../../edit/session.js'),
      ]);
      const editor = Editor.of(context);
      const store = await this.#store();
      const saved = await runEdit({ store, terminal, editor, what: `the ${noun} ${ref}`, replace });
      if (saved !== undefined) await this.show(saved);
      return EXIT.ok;
    }

    async #store(): Promise<Store> {
      const org = await this.requireOrg();
      await this.requireToken();
      const [client, { path }, { wanted }, { member, objectText }] = await Promise.all([
        this.client(),
        import('../../../client/api-client.js'),
        import('../../args/documents.js'),
        import('../../../client/json-text.js'),
      ]);
      const at = { path: path`/org/${org}/${kind.segment}/${this.ref}`, on: 'api', retry: 'safe' } as const;
      const method = this.replace ? 'PUT' : 'PATCH';
      return {
        async read(): Promise<Stored> {
          const text = await client.call({ ...at, method: 'GET' });
          const version = text.trimStart().startsWith('{') ? member(text, 'version') : undefined;
          if (!version || !/^\d+$/.test(version)) throw new CliError(`the answer of the service is not a ${noun}`);
          return { text, version, document: objectText(wanted(text)) };
        },
        // The same change of the same version, sent twice, is made once: it may be tried again.
        send: (body, version) => client.call({ ...at, method, body, ifMatch: `"${version}"` }),
      };
    }
  };
}
