import { Option } from 'clipanion';
import { ApiCommand } from '../command.js';
import { EXIT, UsageError } from '../output/failures.js';
import type { ShownReport } from '../output/report.js';

class Reconcile extends ApiCommand {
  static override paths = [['reconcile']];
  static override usage = ApiCommand.Usage({
    description: 'compare the read model with the log, and repair it; the token is the root key',
    details:
      'Shown is what is missing, altered, extra (the log does not have it) or misplaced (where reads do not look for it). The exit code is 1 ' +
      'when differences are left that were not repaired. Reads and writes go on meanwhile; what they change is not mistaken for a difference.',
    examples: [
      ['Compare everything', 'svc reconcile --token "$(cat data/root.key)"'],
      ['Repair what differs', 'svc reconcile --repair'],
      ['A part of the log, as JSON', 'svc reconcile --topic audit --partition 0 --from 0 --to 100000 -o json'],
    ],
  });

  repair = Option.Boolean('--repair', false, { description: 'write what differs as the log says' });
  topic = Option.String('--topic', { description: 'compare only what comes from this topic: audit or control' });
  partition = Option.String('--partition', { description: 'with --topic: only from this partition' });
  from = Option.String('--from', { description: 'with --topic: from this offset on' });
  to = Option.String('--to', { description: 'with --topic: up to before this offset' });
  protected override readonly unavailable = { formats: ['tf', 'crd', 'names'] as const, subject: 'a reconciliation' };

  protected async run(): Promise<number> {
    const body = this.#body();
    await this.requireToken();
    const [client, { awaitJob, startJob }, { isDocument, showResource }, { showReport, total }] = await Promise.all([
      this.client(),
      import('./awaited.js'),
      import('../output/document.js'),
      import('../output/report.js'),
    ]);
    const { format, terminal } = this;
    const job = { client, terminal, path: '/-reconcile', name: 'reconciliation', body };
    const text = await awaitJob(job, await startJob(job));
    const report = JSON.parse(text) as ShownReport;
    if (isDocument(format)) await showResource(terminal, format, text);
    else await showReport(terminal, report);
    return total(report) > (report.repaired ?? 0) ? EXIT.failure : EXIT.ok;
  }

  #body(): Record<string, unknown> {
    const { repair, topic } = this;
    const offsets = { partition: this.partition, from: this.from, to: this.to };
    const given = Object.entries(offsets).filter((entry): entry is [string, string] => entry[1] !== undefined);
    if (topic !== undefined && !['audit', 'control'].includes(topic)) {
      throw new UsageError(`--topic is audit or control, not \`${topic}\``);
    }
    const range = given.map(([name, value]) => {
      if (topic === undefined) throw new UsageError(`--${name} goes with --topic`);
      if (!/^\d{1,15}$/.test(value)) throw new UsageError(`--${name} is a whole number from 0, not \`${value}\``);
      return [name, Number(value)] as const;
    });
    return { ...(repair && { repair }), ...(topic !== undefined && { topic }), ...Object.fromEntries(range) };
  }
}

export const COMMANDS = [Reconcile];
