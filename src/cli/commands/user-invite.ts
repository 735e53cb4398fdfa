import { type CommandClass, Option } from 'clipanion';
import { type ErrorBody } from '../../client/errors.js';
import { LIMITS } from '../../contract/limits.js';
import { USER } from '../args/kinds.js';
import { ApiCommand, type SvcContext } from '../command.js';
import { describeItem, EXIT, UsageError } from '../output/failures.js';
import { ResourceCommand } from './resource/command.js';

/** As many as the service takes at once. */

interface Invited {
  invitations?: Record<string, string>;
  errors?: Record<string, ErrorBody>;
}

/** `svc user invite --email ADDRESS`. */
export function inviteCommand(): CommandClass<SvcContext> {
  return class extends ResourceCommand {
    static override paths = [['user', 'invite']];
    static override usage = ApiCommand.Usage({
      description: 'invite users to the organization',
      details:
        'Each address is sent a code, with which its owner becomes a user: see `svc invitation accept`. Where the ' +
        'service has no mail server, the codes are in its log.',
      examples: [
        ['One person', 'svc user invite --email ann@example.com'],
        ['Two, who join a group', 'svc user invite --email ann@example.com --email bob@example.com --group devs'],
      ],
    });

    emails = Option.Array('--email', {
      description: `e-mail address to invite; may be given up to ${LIMITS.invitedAtOnce} times`,
      required: true,
    });
    group = Option.String('--group', { description: 'primary group to join after the invitation is accepted' });
    protected override readonly kind = USER;
    protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'invitations' };

    protected async run(): Promise<number> {
      const { emails, group, terminal } = this;
      if (emails.length > LIMITS.invitedAtOnce)
        throw new UsageError(`--email may be given ${LIMITS.invitedAtOnce} times at most`);
      const calls = await this.calls();
      const answer = await calls.act('-invite', { emails, ...(group !== undefined && { group }) });
      const { invitations = {}, errors = {} } = JSON.parse(answer) as Invited;
      await this.#showInvited(answer, Object.entries(invitations));
      for (const [email, error] of Object.entries(errors)) terminal.error(`${email}: ${describeItem(error)}`);
      return Object.keys(errors).length > 0 ? EXIT.failure : EXIT.ok;
    }

    async #showInvited(answer: string, invitations: readonly [string, string][]): Promise<void> {
      const { terminal, format } = this;
      const { isDocument, openList, showResource } = await import('../output/document.js');
      if (isDocument(format)) return showResource(terminal, format, answer);
      const { TablePrinter } = await import('../output/table.js');
      const table = new TablePrinter<[string, string]>(terminal, [
        { header: 'EMAIL', value: ([email]) => email },
        { header: 'INVITATION', value: ([, link]) => link },
      ]);
      const parse = (raw: string) => JSON.parse(raw) as [string, string];
      const list = openList(terminal, format, {
        rows: (raws) => table.print(raws.map(parse)),
        name: (raw) => parse(raw)[0],
      });
      await list.items(invitations.map((one) => JSON.stringify(one)));
    }
  };
}
