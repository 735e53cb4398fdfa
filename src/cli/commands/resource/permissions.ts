import type { CommandClass } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT } from '../../output/failures.js';

interface Permission {
  name?: unknown;
  description?: unknown;
  implies?: unknown;
}

/** `svc <kind> permissions`. */
export function permissionsCommand(kind: Kind): CommandClass<SvcContext> {
  return class extends ApiCommand {
    static override paths = [[kind.name, 'permissions']];
    static override usage = ApiCommand.Usage({
      description: `show the permissions that can be granted on ${kind.plural}`,
      examples: [
        ['All of them', `svc ${kind.name} permissions`],
        ['Their names', `svc ${kind.name} permissions -o names`],
      ],
    });

    protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'permissions' };

    protected async run(): Promise<number> {
      const org = await this.requireOrg();
      await this.requireToken();
      const [client, { path }] = await Promise.all([this.client(), import('../../../client/api-client.js')]);
      const at = path`/org/${org}/${kind.segment}/-schema/permissions`;
      await this.#show(await client.call({ method: 'GET', path: at, on: 'api', retry: 'safe' }));
      return EXIT.ok;
    }

    async #show(answer: string): Promise<void> {
      const { terminal, format } = this;
      const { isDocument, openList, showResource } = await import('../../output/document.js');
      if (isDocument(format)) return showResource(terminal, format, answer);
      const [{ TablePrinter }, { elements, member }] = await Promise.all([
        import('../../output/table.js'),
        import('../../../client/json-text.js'),
      ]);
      const table = new TablePrinter<Permission>(terminal, [
        { header: 'NAME', value: ({ name }) => String(name) },
        { header: 'DESCRIPTION', value: ({ description }) => String(description ?? ''), shrinks: true },
        { header: 'IMPLIES', value: ({ implies }) => (Array.isArray(implies) ? implies.join(', ') : '') },
      ]);
      const parse = (raw: string) => JSON.parse(raw) as Permission;
      const list = openList(terminal, format, {
        rows: (raws) => table.print(raws.map(parse)),
        name: (raw) => String(parse(raw).name),
      });
      await list.items(elements(member(answer, 'items') ?? '[]'));
    }
  };
}
