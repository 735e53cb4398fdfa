import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { moment } from '../../args/moments.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT } from '../../output/failures.js';

/** `svc <kind> access-report`: who may do what to a resource, and why. */
export function accessReportCommand(kind: Kind): CommandClass<SvcContext> {
  const { name, noun, example: ref } = kind;
  return class extends AccessReportCommand {
    static override paths = [
      [name, 'access-report'],
      [name, 'accessreport'],
    ];
    static override usage = ApiCommand.Usage({
      description: `show who may do what to a ${noun}, and why`,
      details:
        'A row for everybody who has a permission, a column for each permission; a cell tells how they have it, and by which policy. ' +
        'In a pipe, and on a terminal too narrow for that, a line for each permission of each: permission, who, how (direct, group or query), policy.',
      examples: [
        ['Now', `svc ${name} access-report ${ref}`],
        ['As it was on the first of May', `svc ${name} access-report ${ref} --at 2026-05-01`],
        ['Everybody who has any permission', `svc ${name} access-report ${ref} --max 0 -o names`],
      ],
    });

    protected override readonly kind = kind;
  };
}

abstract class AccessReportCommand extends ApiCommand {
  ref = Option.String({ name: 'ref', required: true });
  at = Option.String('--at', { description: 'as it was then: ISO 8601, or a span back from now such as 7d' });
  protected abstract readonly kind: Kind;
  protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'access reports' };

  protected async run(): Promise<number> {
    const at = this.at === undefined ? '' : `?at=${encodeURIComponent(moment('--at', this.at))}`;
    const org = await this.requireOrg();
    await this.requireToken();
    const [client, { path }] = await Promise.all([this.client(), import('../../../client/api-client.js')]);
    const report = path`/org/${org}/${this.kind.segment}/${this.ref}/-accessreport`;
    await this.#show(await client.call({ method: 'GET', path: report + at, on: 'api', retry: 'safe' }));
    return EXIT.ok;
  }

  async #show(report: string): Promise<void> {
    const { format, terminal, limit } = this;
    const { isDocument, showResource } = await import('../../output/document.js');
    if (isDocument(format)) return showResource(terminal, format, report);
    const [{ principalsOf, readAccess, showAccess }, { escapeLine }] = await Promise.all([
      import('../../output/access-matrix.js'),
      import('../../output/escape.js'),
    ]);
    const access = readAccess(report);
    const principals = principalsOf(access);
    const shown = principals.slice(0, limit);
    if (format === 'names') await terminal.out(shown.map((who) => `${escapeLine(who)}\n`).join(''));
    else await showAccess(terminal, access, shown);
    if (shown.length < principals.length) {
      terminal.note(`${principals.length - shown.length} more have permissions; --max 0 shows all`);
    }
  }
}
