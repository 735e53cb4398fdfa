import { Option } from 'clipanion';
import { ApiCommand } from '../command.js';
import { EXIT } from '../output/failures.js';
import type { ShownReport } from '../output/report.js';

class Rebuild extends ApiCommand {
  static override paths = [['rebuild']];
  static override usage = ApiCommand.Usage({
    description: 'fill the read model anew from the log, while the old one serves; the token is the root key',
    details:
      'Reads and writes go on meanwhile. When the new one is complete it takes the place of the old one at once, and what the old one ' +
      'had otherwise is shown: missing, altered or extra against the log. It runs in the process that answers; interrupting the command does not end it.',
    examples: [
      ['Rebuild, and wait for the end', 'svc rebuild --token "$(cat data/root.key)"'],
      ['Begin it, and read its state later', 'svc rebuild --no-wait -o json'],
    ],
  });

  wait = Option.Boolean('--wait', true, { description: 'wait for the end and show the report; --no-wait does not' });
  protected override readonly unavailable = { formats: ['tf', 'crd', 'names'] as const, subject: 'a rebuild' };

  protected async run(): Promise<number> {
    await this.requireToken();
    const [client, { awaitJob, startJob }, { isDocument, showResource }, { showReport }] = await Promise.all([
      this.client(),
      import('./awaited.js'),
      import('../output/document.js'),
      import('../output/report.js'),
    ]);
    const { format, terminal } = this;
    const job = { client, terminal, path: '/-rebuild', name: 'rebuild', body: {} };
    const started = await startJob(job);
    if (!this.wait) {
      if (isDocument(format)) await showResource(terminal, format, started);
      else terminal.note('the rebuild has begun');
      return EXIT.ok;
    }
    const report = await awaitJob(job, started);
    if (isDocument(format)) await showResource(terminal, format, report);
    else await showReport(terminal, JSON.parse(report) as ShownReport);
    return EXIT.ok;
  }
}

export const COMMANDS = [Rebuild];
