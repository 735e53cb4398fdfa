import { Option } from 'clipanion';
import { ApiError, ClientError, Interrupted } from '../../../client/errors.js';
import { member } from '../../../client/json-text.js';
import { LIMITS, PAGE_SIZE_PATTERN } from '../../../contract/limits.js';
import { ApiCommand } from '../../command.js';
import { EXIT, exitCodeOf, hintsOf, UsageError } from '../../output/failures.js';
import { AuditExport } from './export.js';
import { AuditFilterCommand, unavailable } from './filters.js';
import { AuditPublish } from './publish.js';
import { AuditTail } from './tail.js';

class AuditGet extends ApiCommand {
  static override paths = [['audit', 'get']];
  static override usage = ApiCommand.Usage({
    description: 'show audit events by their identifiers',
    details: 'All identifiers are tried; each failure is reported, and the exit code is then 1.',
    examples: [
      ['One event, as the service has it', 'svc audit get 01890a5d-ac96-774b-bcce-b302099a8057 -o json'],
      ['Several events', 'svc audit get ID1 ID2'],
    ],
  });

  ids = Option.Rest({ name: 'id', required: 1 });
  protected override readonly unavailable = unavailable;

  protected async run(): Promise<number> {
    const org = await this.requireOrg();
    await this.requireToken();
    const { isDocument, openList, showEnvelope } = await import('../../output/document.js');
    const { eventForms } = await import('../../output/events.js');
    const { format, terminal } = this;
    const alone = this.ids.length === 1;
    const list = openList(terminal, format, eventForms(terminal, this.timeStyle));
    if (!alone)
      await list.begin(
        ['kind', 'itemKind'].map((name, i) => ({ name, raw: i === 0 ? '"queryresult"' : '"auditevent"' })),
      );
    const codes = new Set<number>();
    for (const id of this.ids) {
      const envelope = await this.#read(org, id, codes);
      if (envelope === undefined) continue;
      if (alone && isDocument(format)) await showEnvelope(terminal, format, envelope);
      else await list.items([member(envelope, 'item') ?? 'null']);
    }
    if (!alone) await list.end([{ name: 'links', raw: '[]' }]);
    if (codes.size === 0) return EXIT.ok;
    return codes.size === 1 && codes.has(EXIT.denied) ? EXIT.denied : EXIT.failure;
  }

  /** The envelope, or nothing after the failure was reported. */
  async #read(org: string, id: string, codes: Set<number>): Promise<string | undefined> {
    try {
      const [client, { path }] = await Promise.all([this.client(), import('../../../client/api-client.js')]);
      return await client.call({ method: 'GET', path: path`/audit/org/${org}/id/${id}`, on: 'audit', retry: 'safe' });
    } catch (error) {
      if (!(error instanceof ClientError) || error instanceof Interrupted || error instanceof UsageError) throw error;
      this.terminal.error(
        this.ids.length > 1 || error instanceof ApiError ? `${id}: ${error.message}` : error.message,
        hintsOf(error),
      );
      codes.add(exitCodeOf(error));
      return undefined;
    }
  }
}

class AuditList extends AuditFilterCommand {
  static override paths = [['audit', 'list']];
  static override usage = ApiCommand.Usage({
    description: 'list audit events, newest first; filters are exact and combine with AND',
    details:
      'WHO is the subject as the event names it. Where somebody else sent it, it is marked: *ann@example.com (by ci).',
    examples: [
      ['What happened to a resource in the last week', 'svc audit list --resource-name web --since 7d'],
      [
        'All failures of one person, as JSON',
        'svc audit list --subject-email ann@example.com --result-status DENIED --max 0 -o json',
      ],
      ['What one service account sent, whatever it says of itself', 'svc audit list --publisher serviceaccount/ci'],
      ['The second page of ten', 'svc audit list --resource-name web --page 2 --page-size 10'],
      ['In the order the log took them', 'svc audit list --context default --order received --max -1'],
    ],
  });

  order = Option.String('--order', { description: 'received: in the order of the log, oldest first' });
  page = Option.String('--page', { description: 'show this page alone, from 1, in place of --max' });
  pageSize = Option.String('--page-size', {
    description: `events on a page with --page, 1 to ${LIMITS.page.most}; default ${LIMITS.page.usual}`,
  });

  protected async run(): Promise<number> {
    const page = this.#page();
    const filters = this.#query();
    const org = await this.requireOrg();
    const query = { ...filters, ...this.publishedBy(org), ...page };
    await this.requireToken();
    const [client, { eventsPath }, { showPages }] = await Promise.all([
      this.client(),
      import('../../../client/pages.js'),
      import('../pages.js'),
    ]);
    const { openList } = await import('../../output/document.js');
    const { eventForms } = await import('../../output/events.js');
    const sink = openList(this.terminal, this.format, eventForms(this.terminal, this.timeStyle));
    const limit = page ? Number(page.pageSize) : this.limit;
    const start = eventsPath(org, this.resource, query, limit);
    await showPages({ client, sink, start, limit, stopped: () => this.terminal.outputClosed });
    return EXIT.ok;
  }

  /** The one page that was asked for, or nothing: then `next` links are followed up to --max. */
  #page(): { page: string; pageSize: string } | undefined {
    if (this.page === undefined) {
      if (this.pageSize !== undefined) throw new UsageError('--page-size goes with --page');
      return undefined;
    }
    const { page, pageSize = `${LIMITS.page.usual}` } = this;
    if (!/^[1-9]\d{0,8}$/.test(page)) throw new UsageError('--page is a whole number from 1');
    if (!new RegExp(PAGE_SIZE_PATTERN).test(pageSize))
      throw new UsageError(`--page-size is a whole number from 1 to ${LIMITS.page.most}`);
    return { page, pageSize };
  }

  #query(): Record<string, string | undefined> {
    if (this.order !== undefined && this.order !== 'received')
      throw new UsageError('--order is `received`, or not given');
    return { ...this.filters(), order: this.order };
  }
}

export const COMMANDS = [AuditPublish, AuditGet, AuditList, AuditTail, AuditExport];
