import { Option } from 'clipanion';
import { instant } from '../../args/moments.js';
import { ApiCommand, onlyIn } from '../../command.js';
import { UsageError } from '../../output/failures.js';
import type { Given } from '../../proof/trust.js';
import type { Service } from '../../proof/verification.js';

/** Verifies an export or an event offline, or what the service shows now. */
export class AuditVerify extends ApiCommand {
  static override paths = [['audit', 'verify']];
  static override usage = ApiCommand.Usage({
    description: 'verify that an export, an event or the history of now is unaltered and complete',
    details:
      'A file is verified offline: without network, without a key of the service. Whom to believe is pinned in $XDG_STATE_HOME/svc/tlog, or given. ' +
      'Without a file, the checkpoint that the service shows must continue the pinned one. What is not shown is said as well. Exit code 0: verified, 1: not.',
    examples: [
      ['An export and its proof', 'svc audit verify acme.ndjson'],
      [
        'As an auditor, with what came by another way',
        'svc audit verify acme.ndjson --vkey "$VKEY" --pinned last-year.note',
      ],
      ['One event', 'svc audit verify --event event.json --proof event.tlog-proof'],
      ['That the service did not rewrite what it showed before', 'svc audit verify --full'],
    ],
  });

  file = Option.String({ name: 'file', required: false });
  proof = Option.String('--proof', { description: 'proof file; default: FILE.proof' });
  event = Option.String('--event', { description: 'verify one event: file with the bytes of it, and --proof' });
  vkey = Option.String('--vkey', { description: 'verifier key of the log; default: the pinned one' });
  policy = Option.String('--policy', {
    description: 'file with a C2SP tlog-policy: keys, and which witnesses must have signed',
  });
  number = Option.String('--number', {
    description: 'number of the organization in the service log; default: the pinned one',
  });
  pinned = Option.String('--pinned', { description: 'file with an earlier checkpoint; default: the pinned one' });
  after = Option.String('--after', {
    description: 'fail if the history is complete only up to before this time, ISO 8601',
  });
  full = Option.Boolean('--full', false, { description: 'without a file: read and verify all events, too' });
  protected override readonly unavailable = onlyIn(['text', 'json'], 'a verification');

  protected async run(): Promise<void> {
    const given = this.#given();
    // Loaded for this command alone: the others of the family start without it.
    const verification = await import('../../proof/verification.js');
    const { terminal, file, event } = this;
    const at = { terminal, env: this.context.env, given };
    const { text, found } =
      event !== undefined
        ? await verification.ofEvent(event, this.proof ?? '', at)
        : file !== undefined
          ? await verification.ofExport(file, this.proof, at)
          : await verification.ofService(await this.#service(given), at);
    await terminal.out(this.format === 'text' ? text : `${JSON.stringify(found, null, 2)}\n`);
  }

  async #service({ pinned, policy }: Given): Promise<Service> {
    if (pinned !== undefined || policy !== undefined) {
      throw new UsageError('--pinned and --policy are for files: what the service shows must continue the pin');
    }
    const org = await this.requireOrg();
    const client = await this.authorized();
    const { auditEndpoint } = await this.settings();
    return { client, auditEndpoint, org, full: this.full };
  }

  #given(): Given {
    const { file, event, proof, vkey, policy, pinned } = this;
    if (file !== undefined && event !== undefined) throw new UsageError('give FILE or --event, not both');
    if (event !== undefined && proof === undefined) throw new UsageError('--event needs --proof');
    if (event === undefined && file === undefined && proof !== undefined)
      throw new UsageError('--proof needs FILE or --event');
    if (this.full && (file ?? event) !== undefined)
      throw new UsageError('--full is for what the service shows, without a file');
    if (this.number !== undefined && (event !== undefined || !/^\d{1,9}$/.test(this.number))) {
      throw new UsageError('--number is the whole number of an organization, for its log and not for one event');
    }
    const after = this.after === undefined ? undefined : Date.parse(instant('--after', this.after));
    return { vkey, policy, pinned, after, number: this.number === undefined ? undefined : Number(this.number) };
  }
}
