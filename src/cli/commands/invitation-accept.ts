import { type CommandClass, Option } from 'clipanion';
import { INVITATION, USER } from '../args/kinds.js';
import { ApiCommand, type SvcContext } from '../command.js';
import { EXIT, UsageError } from '../output/failures.js';

/** `svc invitation accept <ref>`. It asks for no key: the code stands in its place. */
export function acceptCommand(): CommandClass<SvcContext> {
  return class extends ApiCommand {
    static override paths = [['invitation', 'accept']];
    static override usage = ApiCommand.Usage({
      description: 'become a user of an organization, with the code of an invitation',
      details:
        'The reference is ORG/ID as in the letter, a link, or an ID with --org. The answer holds your key, shown this ' +
        'once: store it with `svc login`. Without --code, the code is read from standard input.',
      examples: [
        ['With the code of the letter', 'svc invitation accept acme/ID --code CODE --name "Ann Example"'],
        [
          'And log in',
          'svc invitation accept acme/ID --code CODE --name "Ann Example" -o json | jq -r .key | svc login --org acme',
        ],
      ],
    });

    ref = Option.String({ name: 'ref' });
    code = Option.String('--code', { description: 'the code that you were sent; default: read from standard input' });
    name = Option.String('--name', { description: 'your full name', required: true });
    protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'an acceptance' };

    protected async run(): Promise<number> {
      const { org, id } = await this.#invitation();
      const code = this.code ?? (await this.terminal.readSecret('Code: '));
      if (code === '') throw new UsageError('no code: give it with --code or on standard input');
      this.terminal.masker.add(code);
      const [client, { resourceCalls }] = await Promise.all([this.client(), import('../../client/resources.js')]);
      const calls = resourceCalls(client, org, INVITATION.segment);
      await this.#show(await calls.act('-accept', { code, name: this.name }, id));
      this.terminal.note('the key is shown this once: store it now, for example with `svc login`');
      return EXIT.ok;
    }

    async #invitation(): Promise<{ org: string; id: string }> {
      const [, org, id] = /^(?:\/org\/)?([^/]+)\/(?:invitation\/)?([^/]+)$/.exec(this.ref) ?? [];
      if (org !== undefined && id !== undefined) return { org: await this.requireOrg(org), id };
      if (this.ref.includes('/')) throw new UsageError(`<ref> is ORG/ID, a link or an ID, not \`${this.ref}\``);
      return { org: await this.requireOrg(), id: this.ref };
    }

    async #show(answer: string): Promise<void> {
      const { terminal, format, timeStyle } = this;
      const [{ showResourceAs }, { member }, { escapeLine }] = await Promise.all([
        import('../output/resources.js'),
        import('../../client/json-text.js'),
        import('../output/escape.js'),
      ]);
      await showResourceAs(terminal, format, { kind: USER, style: timeStyle }, answer);
      const key = member(answer, 'key');
      if (format === 'text' && key) await terminal.out(`key: ${escapeLine(String(JSON.parse(key)))}\n`);
    }
  };
}
