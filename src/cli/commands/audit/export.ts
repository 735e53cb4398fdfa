import { Option } from 'clipanion';
import { ApiError, ClientError, Interrupted } from '../../../client/errors.js';
import { ApiCommand } from '../../command.js';
import { CliError, EXIT, exitCodeOf, hintsOf, UsageError } from '../../output/failures.js';
import { AuditFilterCommand } from './filters.js';

/**
 * Exports by pages of the order received: each is an answer of its own that is whole or an error, so nothing is written
 * that might be a part of something, and any page can be asked for again.
 */
export class AuditExport extends AuditFilterCommand {
  static override paths = [['audit', 'export']];
  static override usage = ApiCommand.Usage({
    description: 'write audit events as NDJSON, each as it was recorded, in the order received',
    details:
      'The file is written as FILE.part and gets its name when it is complete; a file that is there is never replaced. An export that breaks off ends with an error; ' +
      'the same command with --resume goes on where it stopped.',
    examples: [
      ['Everything of an organization', 'svc audit export --file acme.ndjson'],
      ['Go on after a failure', 'svc audit export --file acme.ndjson --resume'],
      [
        'The last week of one context, to another program',
        'svc audit export --context default --since 7d | gzip > week.gz',
      ],
    ],
  });

  file = Option.String('--file', { description: 'file to write; default: standard output' });
  resume = Option.Boolean('--resume', false, { description: 'go on with an export to this file that broke off' });
  override max = Option.String('--max', '-1', { description: 'most events to export, below 1 all; default -1' });
  protected override readonly unavailable = {
    formats: ['yaml', 'json-slim', 'yaml-slim', 'tf', 'crd', 'names'] as const,
    subject: 'an export: it is NDJSON',
  };

  protected async run(): Promise<number> {
    if (this.resume && this.file === undefined) throw new UsageError('--resume goes with --file');
    const filters = this.filters();
    const org = await this.requireOrg();
    const query = { ...filters, ...this.publishedBy(org), order: 'received' };
    await this.requireToken();
    const [client, { exportEvents }] = await Promise.all([this.client(), import('./export-pages.js')]);
    const { eventsPath } = await import('../../../client/pages.js');
    const start = eventsPath(org, this.resource, query, Number.POSITIVE_INFINITY);
    const target = await this.#target(org);
    const { terminal, limit } = this;
    const progress = (count: number) => terminal.progress(`exported ${count}`);
    try {
      await exportEvents({ client, target, start, limit, progress, stopped: () => terminal.outputClosed });
    } catch (error) {
      await target.keep();
      throw this.#incomplete(error, target.count);
    }
    await target.complete();
    terminal.note(`exported ${target.count}`);
    return EXIT.ok;
  }

  async #target(org: string) {
    const { ExportFile, outputTarget } = await import('./export-target.js');
    if (this.file === undefined) return outputTarget(this.terminal);
    const { from, since, to, until, max } = this;
    const { auditEndpoint } = await this.settings();
    // What was asked for, before `--since` became an instant: the same words go on with the same export.
    const { fromEvent: _from, toEvent: _to, ...filters } = { ...this.filters(), ...this.publishedBy(org) };
    const request = JSON.stringify([auditEndpoint, org, this.resource, filters, { from, since, to, until, max }]);
    return ExportFile.open(this.file, request, this.resume);
  }

  #remedy(error: unknown): string[] {
    if (this.file === undefined) return [];
    const isPlaceRefused = error instanceof ApiError && error.body.code === 'invalid_cursor';
    if (!isPlaceRefused) return ['the same command with --resume goes on from there'];
    return [`the export cannot go on from there: remove ${this.file}.part, and begin anew without --resume`];
  }

  #incomplete(error: unknown, count: number): unknown {
    const remedy = this.#remedy(error);
    if (error instanceof Interrupted) {
      this.terminal.note([`stopped after ${count}`, ...remedy].join('; '));
      return error;
    }
    if (!(error instanceof ClientError)) return error;
    const message = `the export is not complete, it stopped after ${count}: ${error.message}`;
    return new CliError(message, exitCodeOf(error), [...hintsOf(error), ...remedy], { cause: error });
  }
}
