import { ApiCommand, onlyIn } from '../../command.js';

/** Shows the newest checkpoint, after it was verified against the pin. */
export class AuditCheckpoint extends ApiCommand {
  static override paths = [['audit', 'checkpoint']];
  static override usage = ApiCommand.Usage({
    description: 'show the newest checkpoint of the history, verified against the pinned one',
    details:
      'The checkpoint is a signed note: keep it elsewhere, and `svc audit verify --pinned` shows later that history continues it. It is pinned, too.',
    examples: [['To keep, for the auditor of next year', 'svc audit checkpoint > 2026.note']],
  });

  protected override readonly unavailable = onlyIn(['text'], 'a checkpoint: it is a signed note');

  protected async run(): Promise<void> {
    const org = await this.requireOrg();
    const client = await this.authorized();
    const { pinnedLog } = await import('../../proof/pinned-log.js');
    const { pin, before } = await pinnedLog(client, await this.settings(), org, this.context.env);
    if (!before) this.terminal.note(`pinned for the first time, as the service shows it: ${pin.vkey}`);
    await this.terminal.out(pin.note);
  }
}
