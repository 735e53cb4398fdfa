import { Option } from 'clipanion';
import type { ApiClient } from '../../../client/api-client.js';
import { ApiError, ClientError, Interrupted } from '../../../client/errors.js';
import { nextOf, type Query } from '../../../client/pages.js';
import { ApiCommand, onlyIn } from '../../command.js';
import { CliError, exitCodeOf, hintsOf, UsageError } from '../../output/failures.js';
import { oneLine } from '../../output/json-layout.js';
import { readPage } from '../../page.js';
import { ExportFile, type ExportTarget, outputTarget } from './export-target.js';
import { AuditFilterCommand } from './filters.js';
import { eventsPath } from './paths.js';

/**
 * Exports page by page in the order received. Each response is a complete page or an error, so nothing partial is
 * written, and every page can be read again.
 */
export class AuditExport extends AuditFilterCommand {
  static override paths = [['audit', 'export']];
  static override usage = ApiCommand.Usage({
    description: 'write audit events as NDJSON, as recorded, in the order received',
    details:
      'The file is written as FILE.part and gets its name when it is complete; only --force replaces an existing file. If an export fails, ' +
      'the same command with --resume continues it. --proof writes FILE.proof as well, up to the newest checkpoint, which it pins.',
    examples: [
      ['Everything of an organization', 'svc audit export --file acme.ndjson'],
      ['Continue after a failure', 'svc audit export --file acme.ndjson --resume'],
      [
        'The last week of one context, to another program',
        'svc audit export --context default --since 7d | gzip > week.gz',
      ],
      ['With what proves it, for `svc audit verify`', 'svc audit export --file acme.ndjson --proof'],
    ],
  });

  file = Option.String('--file', { description: 'file to write; default: standard output' });
  resume = Option.Boolean('--resume', false, { description: 'continue an unfinished export to this file' });
  force = Option.Boolean('--force', false, { description: 'replace an existing file, once the export is complete' });
  proof = Option.Boolean('--proof', false, {
    description: 'write FILE.proof too: what proves the events, and that all are there',
  });
  override max = Option.String('--max', '-1', { description: 'most events to export, below 1 all; default -1' });
  protected override readonly unavailable = onlyIn(['text', 'json'], 'an export: it is NDJSON');

  protected async run(): Promise<void> {
    if (this.resume && this.file === undefined) throw new UsageError('--resume needs --file');
    if (this.force && this.file === undefined) throw new UsageError('--force needs --file');
    this.#checkProof();
    const { org, filters } = await this.filters();
    const client = await this.authorized();
    if (this.proof && this.file !== undefined) return this.#proven(client, org, filters, this.file);
    const start = eventsPath(org, this.resource, { ...filters, order: 'received' }, Number.POSITIVE_INFINITY);
    const target = await this.#target(org, filters);
    try {
      await this.#export(client, target, start);
    } catch (error) {
      await target.keep();
      throw this.#incomplete(error, target.count);
    }
    await target.complete();
    this.terminal.note(`exported ${target.count}`);
  }

  #checkProof(): void {
    if (!this.proof) return;
    if (this.file === undefined) throw new UsageError('--proof needs --file');
    if (this.resume) throw new UsageError('--proof and --resume exclude each other: begin anew');
    if (this.limit !== Number.POSITIVE_INFINITY) throw new UsageError('--proof and --max exclude each other');
  }

  async #proven(client: ApiClient, org: string, filters: Query, file: string): Promise<void> {
    const { resourceName, resourceId } = this.resource;
    const [{ exportProven }, { pinnedLog }, { proofFile }] = await Promise.all([
      import('../../proof/export-files.js'),
      import('../../proof/pinned-log.js'),
      import('../../proof/files.js'),
    ]);
    const { checkpoint } = await pinnedLog(client, await this.settings(), org, this.context.env);
    const count = await exportProven(client, {
      ...{
        org,
        file,
        force: this.force,
        filters: { ...filters, resourceName, resourceId, pinned: String(checkpoint.size) },
      },
      progress: (done) => this.terminal.progress(`exported ${done}`),
    });
    this.terminal.note(`exported ${count}; ${proofFile(file)} proves them: svc audit verify ${file}`);
  }

  /** Passes all events on, page by page. What fails for a moment is read again. */
  async #export(client: ApiClient, target: ExportTarget, start: string): Promise<void> {
    const { terminal, limit } = this;
    let at: string | undefined = target.next ?? start;
    while (at !== undefined && target.count < limit && !terminal.outputClosed) {
      const page = await readPage(client, at, { retry: 'patient' });
      const next = nextOf(page, at);
      await target.write(page.items.slice(0, limit - target.count).map(oneLine), next);
      terminal.progress(`exported ${target.count}`);
      at = next;
    }
  }

  async #target(org: string, filters: Query): Promise<ExportTarget> {
    if (this.file === undefined) return outputTarget(this.terminal);
    const { from, since, to, until, max } = this;
    const { auditEndpoint } = await this.settings();
    // What was asked for, before `--since` became a time: the same words continue the same export.
    const { fromEvent: _from, toEvent: _to, ...others } = filters;
    const request = JSON.stringify([auditEndpoint, org, this.resource, others, { from, since, to, until, max }]);
    const { resume, force } = this;
    return ExportFile.open(this.file, request, { resume, force });
  }

  #remedy(error: unknown): string[] {
    if (this.file === undefined) return [];
    const isCursorRefused = error instanceof ApiError && error.body.code === 'invalid_cursor';
    if (!isCursorRefused) return ['the same command with --resume goes on from there'];
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
