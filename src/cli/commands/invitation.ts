import { Option } from 'clipanion';
import { kindOf } from '../../contract/kinds.js';
import { ApiCommand, undeclared } from '../command.js';
import { showKeyOnce } from '../output/document.js';
import { UsageError } from '../output/failures.js';
import { showResourceAs } from '../output/resources.js';
import { resourceCalls } from './resource/calls.js';
import { DeleteCommand } from './resource/change.js';
import { get } from './resource/read.js';

const INVITATION = kindOf('invitation');

/** It needs no key: the code takes its place. */
export class Accept extends ApiCommand {
  static override paths = [['invitation', 'accept']];
  static override usage = ApiCommand.Usage({
    description: 'become a user of an organization, with the code of an invitation',
    details:
      'The reference is ORG/ID as in the letter, a link, or an ID with --org. The answer holds your key, shown only ' +
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
  protected override readonly unavailable = undeclared('an acceptance');

  protected async run(): Promise<void> {
    const { terminal, format, timeStyle } = this;
    const { org, id } = await this.#invitation();
    const code = this.code ?? (await terminal.readSecret('Code: '));
    if (code === '') throw new UsageError('no code: give it with --code or on standard input');
    terminal.masker.add(code);
    const calls = resourceCalls(await this.client(), org, INVITATION.name);
    const answer = await calls.act('-accept', { code, name: this.name }, id);
    await showResourceAs(terminal, format, { kind: kindOf('user'), style: timeStyle }, answer);
    const { key } = JSON.parse(answer) as { key?: unknown };
    await showKeyOnce(terminal, format, key);
  }

  async #invitation(): Promise<{ org: string; id: string }> {
    const [, org, id] = /^(?:\/org\/)?([^/]+)\/(?:invitation\/)?([^/]+)$/.exec(this.ref) ?? [];
    if (org !== undefined && id !== undefined) return { org: await this.requireOrg(org), id };
    if (this.ref.includes('/')) throw new UsageError(`<ref> is ORG/ID, a link or an ID, not \`${this.ref}\``);
    return { org: await this.requireOrg(), id: this.ref };
  }
}

export class Revoke extends DeleteCommand {
  static override paths = [['invitation', 'revoke']];
  static override usage = ApiCommand.Usage({
    description: 'revoke invitations: their codes no longer work',
    details: 'All references are tried; each failure is reported.',
    examples: [
      ['One invitation', `svc invitation revoke ${INVITATION.example}`],
      ['All invitations', 'svc invitation get --max -1 -o names | xargs svc invitation revoke'],
    ],
  });

  protected override readonly kind = INVITATION;
  protected override readonly verb = 'revoke';
}

export const Get = get(INVITATION);
