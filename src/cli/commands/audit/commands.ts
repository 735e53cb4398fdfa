import { Option } from 'clipanion';
import { path } from '../../../client/api-client.js';
import { follow } from '../../../client/follow.js';
import { member } from '../../../client/json-text.js';
import { eventsPath, readPage } from '../../../client/pages.js';
import { LIMITS, PAGE_SIZE_PATTERN } from '../../../contract/limits.js';
import { tailCount } from '../../args/moments.js';
import { ApiCommand, type TimeStyle, undeclared } from '../../command.js';
import { isDocument, openList, openStream, showEnvelope } from '../../output/document.js';
import { eventForms } from '../../output/events.js';
import { UsageError } from '../../output/failures.js';
import { showPage, showPages } from '../pages.js';
import { AuditExport } from './export.js';
import { AuditFilterCommand } from './filters.js';
import { AuditPublish } from './publish.js';

/** Shows the end of the log, and with `--follow` all new events. */
export class AuditTail extends AuditFilterCommand {
  static override paths = [['audit', 'tail']];
  static override usage = ApiCommand.Usage({
    description: 'show the last audit events in the order received, and new ones',
    details:
      'With --follow it misses nothing and repeats nothing, however old an event is that comes late, and waits for a service that restarts. ' +
      'json is then one event a line, and times on a terminal are local ones, since an age would not grow.',
    examples: [
      ['Watch what happens', 'svc audit tail --follow'],
      ['Every refusal from now on, as NDJSON', 'svc audit tail -f -n 0 --result-status DENIED -o json'],
      ['The last 100 events of a resource', 'svc audit tail -n 100 --resource-name web'],
    ],
  });

  follow = Option.Boolean('-f,--follow', false, { description: 'show new events, too, until interrupted' });
  last = Option.String('-n,--last', {
    description: `how many of the last events to show, 0 to ${LIMITS.page.most}; default 10`,
  });
  override max = Option.String('--max', '-1', { description: 'end after so many events, below 1 never; default -1' });

  override get timeStyle(): TimeStyle {
    return this.follow && this.ts === undefined && this.terminal.isTTY ? 'local' : super.timeStyle;
  }

  protected async run(): Promise<void> {
    const { terminal, format, limit } = this;
    const last = String(Math.min(tailCount(this.last), limit));
    const { org, filters } = await this.filters();
    const client = await this.authorized();
    const start = eventsPath(org, this.resource, { ...filters, order: 'received', last }, Number.POSITIVE_INFINITY);
    const page = await readPage(client, start);
    const forms = eventForms(terminal, this.timeStyle);
    if (!this.follow) return showPage(page, openList(terminal, format, forms));
    const show = openStream(terminal, format, forms);
    await show(page.items);
    await follow({
      client,
      from: page,
      limit: limit - page.items.length,
      show,
      note: (text) => terminal.note(text),
      stopped: () => terminal.outputClosed,
    });
  }
}

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
  protected override readonly unavailable = undeclared('audit events');

  protected async run(): Promise<number> {
    const org = await this.requireOrg();
    const client = await this.authorized();
    const { format, terminal } = this;
    const alone = this.ids.length === 1;
    const list = openList(terminal, format, eventForms(terminal, this.timeStyle));
    if (!alone) {
      await list.begin([
        { name: 'kind', raw: '"queryresult"' },
        { name: 'itemKind', raw: '"auditevent"' },
      ]);
    }
    const code = await this.tryAll(this.ids, async (id) => {
      const at = path`/audit/org/${org}/id/${id}`;
      const envelope = await client.call({ method: 'GET', path: at, on: 'audit', retry: 'safe' });
      if (alone && isDocument(format)) await showEnvelope(terminal, format, envelope);
      else await list.items([member(envelope, 'item') ?? 'null']);
    });
    if (!alone) await list.end([{ name: 'links', raw: '[]' }]);
    return code;
  }
}

class AuditList extends AuditFilterCommand {
  static override paths = [['audit', 'list']];
  static override usage = ApiCommand.Usage({
    description: 'list audit events, newest first; filters are exact and combine with AND',
    details:
      'WHO is the subject as the event names it. If somebody else sent the event, WHO is marked: *ann@example.com (by ci).',
    examples: [
      ['What happened to a resource in the last week', 'svc audit list --resource-name web --since 7d'],
      [
        'All failures of one person, as JSON',
        'svc audit list --subject-email ann@example.com --result-status DENIED --max 0 -o json',
      ],
      ['What one service account sent, whatever it says of itself', 'svc audit list --publisher serviceaccount/ci'],
      ['The second page of ten', 'svc audit list --resource-name web --page 2 --page-size 10'],
      ['In the order of the log', 'svc audit list --context default --order received --max -1'],
    ],
  });

  order = Option.String('--order', { description: 'received: in the order of the log, oldest first' });
  page = Option.String('--page', { description: 'show only this page, from 1, instead of --max' });
  pageSize = Option.String('--page-size', {
    description: `events on a page with --page, 1 to ${LIMITS.page.most}; default ${LIMITS.page.usual}`,
  });

  protected async run(): Promise<void> {
    const page = this.#page();
    if (this.order !== undefined && this.order !== 'received')
      throw new UsageError('--order is `received`, or not given');
    const { org, filters } = await this.filters();
    const client = await this.authorized();
    const sink = openList(this.terminal, this.format, eventForms(this.terminal, this.timeStyle));
    const limit = page ? Number(page.pageSize) : this.limit;
    const start = eventsPath(org, this.resource, { ...filters, order: this.order, ...page }, limit);
    await showPages({ client, sink, start, limit, stopped: () => this.terminal.outputClosed });
  }

  /** The one page that was asked for, or nothing: then `next` links are followed up to --max. */
  #page(): { page: string; pageSize: string } | undefined {
    if (this.page === undefined) {
      if (this.pageSize !== undefined) throw new UsageError('--page-size needs --page');
      return undefined;
    }
    const { page, pageSize = `${LIMITS.page.usual}` } = this;
    if (!/^[1-9]\d{0,8}$/.test(page)) throw new UsageError('--page is a whole number from 1');
    if (!new RegExp(PAGE_SIZE_PATTERN).test(pageSize))
      throw new UsageError(`--page-size is a whole number from 1 to ${LIMITS.page.most}`);
    return { page, pageSize };
  }
}

export const COMMANDS = [AuditPublish, AuditGet, AuditList, AuditTail, AuditExport];
