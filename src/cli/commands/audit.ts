import { Option } from 'clipanion';
import { ApiCommand } from '../command.js';
import { ago, instant } from '../duration.js';
import { ApiError, CliError, EXIT, Interrupted, UsageError } from '../failures.js';
import { member } from '../json-text.js';
import { AuditPublish } from './audit-publish.js';

const unavailable = { formats: ['tf', 'crd'] as const, subject: 'audit events' };

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
    const { isDocument, openList, showEnvelope } = await import('../output/document.js');
    const { eventForms } = await import('../output/events.js');
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
      const [client, { path }] = await Promise.all([this.client(), import('../api-client.js')]);
      return await client.call({ method: 'GET', path: path`/audit/org/${org}/id/${id}`, on: 'audit', retry: 'safe' });
    } catch (error) {
      if (!(error instanceof CliError) || error instanceof Interrupted || error instanceof UsageError) throw error;
      this.terminal.error(
        this.ids.length > 1 || error instanceof ApiError ? `${id}: ${error.message}` : error.message,
        error.hints,
      );
      codes.add(error.exitCode);
      return undefined;
    }
  }
}

class AuditList extends ApiCommand {
  static override paths = [['audit', 'list']];
  static override usage = ApiCommand.Usage({
    description: 'list audit events, newest first; filters are exact and combine with AND',
    examples: [
      ['What happened to a resource in the last week', 'svc audit list --resource-name web --since 7d'],
      [
        'All failures of one person, as JSON',
        'svc audit list --subject-email ann@example.com --result-status DENIED --max 0 -o json',
      ],
      ['The second page of ten', 'svc audit list --resource-name web --page 2 --page-size 10'],
      ['In the order the log took them', 'svc audit list --context default --order received --max -1'],
    ],
  });

  resourceName = Option.String('--resource-name', { description: 'name of the resource' });
  resourceId = Option.String('--resource-id', { description: 'identifier of the resource' });
  resourceType = Option.String('--resource-type', { description: 'type of the resource' });
  contextName = Option.String('--context', { description: 'audit context' });
  actionType = Option.String('--action-type', { description: 'type of the action' });
  location = Option.String('--location', { description: 'location' });
  gvcAlias = Option.String('--gvc-alias', { description: 'alias of the group of workloads' });
  podId = Option.String('--pod-id', { description: 'pod' });
  subjectEmail = Option.String('--subject-email', { description: 'e-mail address of who did it' });
  requestId = Option.String('--request-id', { description: 'request the event belongs to' });
  resultStatus = Option.String('--result-status', { description: 'status of the result' });
  from = Option.String('--from', { description: 'first instant, ISO 8601' });
  since = Option.String('--since', { description: 'the same as a span back from now: 7d, 12h, 1h30m' });
  to = Option.String('--to', { description: 'instant behind the last, ISO 8601' });
  until = Option.String('--until', { description: 'the same as a span back from now' });
  order = Option.String('--order', { description: 'received: in the order of the log, oldest first' });
  page = Option.String('--page', { description: 'show this page alone, from 1, in place of --max' });
  pageSize = Option.String('--page-size', { description: 'events on a page with --page, 1 to 1000; default 50' });
  protected override readonly unavailable = unavailable;

  protected async run(): Promise<number> {
    const page = this.#page();
    const query = { ...this.#query(), ...page };
    const org = await this.requireOrg();
    await this.requireToken();
    const [client, { listEvents, listPath }] = await Promise.all([this.client(), import('../event-list.js')]);
    const { openList } = await import('../output/document.js');
    const { eventForms } = await import('../output/events.js');
    const sink = openList(this.terminal, this.format, eventForms(this.terminal, this.timeStyle));
    const limit = page ? Number(page.pageSize) : this.limit;
    const start = listPath(org, { resourceName: this.resourceName, resourceId: this.resourceId }, query, limit);
    await listEvents({ client, sink, start, limit, stopped: () => this.terminal.outputClosed });
    return EXIT.ok;
  }

  /** The one page that was asked for, or nothing: then `next` links are followed up to --max. */
  #page(): { page: string; pageSize: string } | undefined {
    if (this.page === undefined) {
      if (this.pageSize !== undefined) throw new UsageError('--page-size goes with --page');
      return undefined;
    }
    const { page, pageSize = '50' } = this;
    if (!/^[1-9]\d{0,8}$/.test(page)) throw new UsageError('--page is a whole number from 1');
    if (!/^([1-9]\d{0,2}|1000)$/.test(pageSize)) throw new UsageError('--page-size is a whole number from 1 to 1000');
    return { page, pageSize };
  }

  #query(): Record<string, string | undefined> {
    if (this.from !== undefined && this.since !== undefined) throw new UsageError('give --from or --since, not both');
    if (this.to !== undefined && this.until !== undefined) throw new UsageError('give --to or --until, not both');
    if (this.order !== undefined && this.order !== 'received')
      throw new UsageError('--order is `received`, or not given');
    return {
      contextName: this.contextName,
      actionType: this.actionType,
      resourceType: this.resourceType,
      location: this.location,
      gvcAlias: this.gvcAlias,
      podId: this.podId,
      subjectEmail: this.subjectEmail,
      requestId: this.requestId,
      resultStatus: this.resultStatus,
      fromEvent: this.since !== undefined ? ago('--since', this.since) : this.from && instant('--from', this.from),
      toEvent: this.until !== undefined ? ago('--until', this.until) : this.to && instant('--to', this.to),
      order: this.order,
    };
  }
}

export const COMMANDS = [AuditPublish, AuditGet, AuditList];
