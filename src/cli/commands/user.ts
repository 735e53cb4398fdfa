import { Option } from 'clipanion';
import type { ErrorBody } from '../../client/errors.js';
import { kindOf } from '../../contract/kinds.js';
import { LIMITS } from '../../contract/limits.js';
import { ApiCommand, undeclared } from '../command.js';
import { showAnswer } from '../output/document.js';
import { describeItem, EXIT, UsageError } from '../output/failures.js';
import { ResourceCommand } from './resource/command.js';

interface Invited {
  invitations?: Record<string, string>;
  errors?: Record<string, ErrorBody>;
}

export class Invite extends ResourceCommand {
  static override paths = [['user', 'invite']];
  static override usage = ApiCommand.Usage({
    description: 'invite users to the organization',
    details:
      'Each address is sent a code, with which its owner becomes a user: see `svc invitation accept`. If the ' +
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
  protected override readonly kind = kindOf('user');
  protected override readonly unavailable = undeclared('invitations');

  protected async run(): Promise<number> {
    const { emails, group, terminal, format } = this;
    if (emails.length > LIMITS.invitedAtOnce)
      throw new UsageError(`--email may be given ${LIMITS.invitedAtOnce} times at most`);
    const calls = await this.calls();
    const answer = await calls.act('-invite', { emails, ...(group !== undefined && { group }) });
    const { invitations = {}, errors = {} } = JSON.parse(answer) as Invited;
    await showAnswer(terminal, format, answer, {
      items: Object.entries(invitations),
      columns: [
        { header: 'EMAIL', value: ([email]) => email },
        { header: 'INVITATION', value: ([, link]) => link },
      ],
      name: ([email]) => email,
    });
    for (const [email, error] of Object.entries(errors)) terminal.error(`${email}: ${describeItem(error)}`);
    return Object.keys(errors).length > 0 ? EXIT.failure : EXIT.ok;
  }
}
