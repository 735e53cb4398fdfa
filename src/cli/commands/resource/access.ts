import { Option } from 'clipanion';
import { moment } from '../../args/moments.js';
import { ApiCommand, undeclared } from '../../command.js';
import { principalsOf, readAccess, showAccess } from '../../output/access-matrix.js';
import { isDocument, printLines, showAnswer, showResource } from '../../output/document.js';
import { listOf, textOf } from '../../output/values.js';
import { ResourceCommand, type Verb } from './command.js';

/** `svc <kind> access-report`: who may do what to a resource, and why. */
export const accessReport: Verb = (kind) => {
  const { name, noun, example: ref } = kind;
  return class extends AccessReportCommand {
    static override paths = [
      [name, 'access-report'],
      [name, 'accessreport'],
    ];
    static override usage = ApiCommand.Usage({
      description: `show who may do what to a ${noun}, and why`,
      details:
        'Everybody who has a permission has a row, each permission a column. A cell says how the permission is held, and by which policy. ' +
        'In a pipe, and on a terminal that is too narrow, each permission of each principal is a line: permission, who, how (direct, group or query), policy.',
      examples: [
        ['Now', `svc ${name} access-report ${ref}`],
        ['As it was on the first of May', `svc ${name} access-report ${ref} --at 2026-05-01`],
        ['Everybody who has any permission', `svc ${name} access-report ${ref} --max 0 -o names`],
      ],
    });

    protected override readonly kind = kind;
  };
};

abstract class AccessReportCommand extends ResourceCommand {
  ref = Option.String({ name: 'ref', required: true });
  at = Option.String('--at', { description: 'time of the report: ISO 8601, or a span back from now such as 7d' });
  protected override readonly unavailable = undeclared('access reports');

  protected async run(): Promise<void> {
    const at = this.at === undefined ? '' : `?at=${encodeURIComponent(moment('--at', this.at))}`;
    const calls = await this.calls();
    const report = await calls.list(`-accessreport${at}`, this.ref);
    const { format, terminal, limit } = this;
    if (isDocument(format)) return showResource(terminal, format, report);
    const access = readAccess(report);
    const principals = principalsOf(access);
    const shown = principals.slice(0, limit);
    if (format === 'names') await printLines(terminal, shown);
    else await showAccess(terminal, access, shown);
    if (shown.length < principals.length) {
      terminal.note(`${principals.length - shown.length} more have permissions; --max 0 shows all`);
    }
  }
}

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
