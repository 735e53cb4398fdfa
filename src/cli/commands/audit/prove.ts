import { writeFile } from 'node:fs/promises';
import { Option } from 'clipanion';
import { ApiCommand, onlyIn } from '../../command.js';
import { CliError, EXIT } from '../../output/failures.js';
import { writing } from '../../output/new-file.js';
import { wholeId } from './event-id.js';

/** Fetches the proof of one event, and verifies it before anybody relies on it. */
export class AuditProve extends ApiCommand {
  static override paths = [['audit', 'prove']];
  static override usage = ApiCommand.Usage({
    description: 'write the proof that one event is in the history, and verify it',
    details:
      'The proof is a C2SP tlog-proof. It waits for the next checkpoint, if the newest does not cover the event yet. Existing files are never replaced.',
    examples: [
      [
        'For somebody who checks it without the service',
        'svc audit prove ID --out event.tlog-proof --event event.json',
      ],
    ],
  });

  id = Option.String({ name: 'id', required: true });
  out = Option.String('--out', { description: 'file for the proof; default: standard output' });
  event = Option.String('--event', { description: 'file for the event, in the bytes that are proven' });
  protected override readonly unavailable = onlyIn(['text'], 'a proof: it is text');

  protected async run(): Promise<void> {
    const org = await this.requireOrg();
    const client = await this.authorized();
    const { auditEndpoint } = await this.settings();
    const { provenEvent } = await import('../../proof/event.js');
    const id = await wholeId(client, org, this.id);
    const { event, proof, found } = await provenEvent(client, { auditEndpoint, org, id }, this.context.env);
    if (this.event !== undefined) await writeNew(this.event, Buffer.concat([event, Buffer.from('\n')]));
    if (this.out !== undefined) await writeNew(this.out, Buffer.from(proof));
    else await this.terminal.out(proof);
    this.terminal.note(`verified: ${id} is leaf ${found.leaf} of ${found.size}`);
  }
}

function writeNew(file: string, bytes: Buffer): Promise<void> {
  return writing(file, async () => {
    try {
      await writeFile(file, bytes, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new CliError(`${file} already exists; choose another name, or remove it`, EXIT.failure);
    }
  });
}
