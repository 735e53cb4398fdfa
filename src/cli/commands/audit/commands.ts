import { Option } from 'clipanion';
import { path } from '../../../client/api-client.js';
import { member } from '../../../contract/json-text.js';
import { isWholeNumber, LIMITS } from '../../../contract/limits.js';
import { ApiCommand, eventOutput, undeclared } from '../../command.js';
import { isDocument, openList, showEnvelope } from '../../output/document.js';
import { eventForms } from '../../output/events.js';
import { UsageError } from '../../output/failures.js';
import { openEvents } from '../../output/formats/lines.js';
import { showCard } from '../card.js';
import { showPages } from '../pages.js';
import { wholeId } from './event-id.js';
import { AuditFilterCommand, WIDE } from './filters.js';
import { eventsPath } from './paths.js';
import { tellValues } from './values-there.js';

export class AuditGet extends ApiCommand {
  static override paths = [['audit', 'get']];
  static override usage = ApiCommand.Usage({
    description: 'show audit events by their identifiers',
    details:
      'On a terminal, one event is shown with all that it has; several are a list. The short identifiers of lists are taken, ' +
      'too: the last 8, 10 or 12 digits. ' +
      'All identifiers are tried; each failure is reported, and the exit code is then 1.',
    examples: [
      ['One event, as the service has it', 'svc audit get 01890a5d-ac96-774b-bcce-b302099a8057 -o json'],
      ['By its short identifier', 'svc audit get 099a8057'],
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
    const code = await this.tryAll(this.ids, async (given) => {
      const id = await wholeId(client, org, given);
      const at = path`/audit/org/${org}/id/${id}`;
      const envelope = await client.call({ method: 'GET', path: at, on: 'audit', retry: 'safe' });
      const item = member(envelope, 'item') ?? 'null';
      if (alone && isDocument(format)) await showEnvelope(terminal, format, envelope);
      else if (alone && this.hasCards) await showCard(terminal, item, this.timeStyle);
      else await list.items([item]);
    });
    if (!alone) await list.end([{ name: 'links', raw: '[]' }]);
    return code;
  }
}

export class AuditList extends AuditFilterCommand {
  static override paths = [['audit', 'list']];
  static override usage = ApiCommand.Usage({
    description: 'list audit events, newest first; filters are exact and combine with AND',
    details:
      'WHO is the subject as the event names it. If somebody else sent the event, WHO is marked: *ann@example.com (by ci). ' +
      'On a terminal the result is a sign, with what it says below if it is not good, and the context [svc] marks what the ' +
      'service itself recorded.',
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

  override output = eventOutput();
  order = Option.String('--order', { description: 'received: in the order of the log, oldest first' });
  wide = Option.Boolean('--wide', false, { description: WIDE });
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
    const sink = await openEvents(this.terminal, this.format, eventForms(this.terminal, this.timeStyle, this));
    const limit = page ? Number(page.pageSize) : this.limit;
    const start = eventsPath(org, this.resource, { ...filters, order: this.order, ...page }, limit);
    const more = page ? `--page ${Number(page.page) + 1} for the next` : '--max 0 for all';
    const shown = await showPages({
      client,
      sink,
      start,
      limit,
      terminal: this.terminal,
      nothing: 'No events match',
      more,
    });
    if (shown === 0) await tellValues(this.terminal, client, org, { ...filters, ...this.resource });
  }

  /** The one page that was asked for, or nothing: then `next` links are followed up to --max. */
  #page(): { page: string; pageSize: string } | undefined {
    if (this.page === undefined) {
      if (this.pageSize !== undefined) throw new UsageError('--page-size needs --page');
      return undefined;
    }
    const { page, pageSize = `${LIMITS.page.usual}` } = this;
    if (!/^[1-9]\d{0,8}$/.test(page)) throw new UsageError('--page is a whole number from 1');
    if (!isWholeNumber(pageSize, 1, LIMITS.page.most))
      throw new UsageError(`--page-size is a whole number from 1 to ${LIMITS.page.most}`);
    return { page, pageSize };
  }
}
