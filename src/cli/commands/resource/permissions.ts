import { ApiCommand, undeclared } from '../../command.js';
import { showAnswer } from '../../output/document.js';
import { listOf, textOf } from '../../output/values.js';
import { ResourceCommand, type Verb } from './command.js';

interface ShownPermission {
  name?: unknown;
  description?: unknown;
  implies?: unknown;
}

/** `svc <kind> permissions`. */
export const permissions: Verb = (kind) =>
  class extends ResourceCommand {
    static override paths = [[kind.name, 'permissions']];
    static override usage = ApiCommand.Usage({
      description: `show the permissions that can be granted on ${kind.plural}`,
      examples: [
        ['All of them', `svc ${kind.name} permissions`],
        ['Their names', `svc ${kind.name} permissions -o names`],
      ],
    });

    protected override readonly kind = kind;
    protected override readonly unavailable = undeclared('permissions');

    protected async run(): Promise<void> {
      const calls = await this.calls();
      const answer = await calls.list('-schema/permissions');
      const { items = [] } = JSON.parse(answer) as { items?: readonly ShownPermission[] };
      const columns = [
        { header: 'NAME', value: ({ name }: ShownPermission) => textOf(name) },
        { header: 'DESCRIPTION', value: ({ description }: ShownPermission) => textOf(description), shrinks: true },
        { header: 'IMPLIES', value: ({ implies }: ShownPermission) => listOf(implies).join(', ') },
      ];
      await showAnswer(this.terminal, this.format, answer, { items, columns, name: ({ name }) => textOf(name) });
    }
  };
