import { Option } from 'clipanion';
import { LAST_PATTERN, LIMITS } from '../../../contract/limits.js';
import { ApiCommand, type TimeStyle } from '../../command.js';
import { EXIT, UsageError } from '../../output/failures.js';
import { AuditFilterCommand } from './filters.js';

/** Shows the end of the log, and with `--follow` everything that comes. */
export class AuditTail extends AuditFilterCommand {
  static override paths = [['audit', 'tail']];
  static override usage = ApiCommand.Usage({
    description: 'show the last audit events in the order received, and those to come',
    details:
      'With --follow it misses nothing and repeats nothing, however old an event is that comes late, and waits for a service that restarts. ' +
      'json is then one event a line, and times on a terminal are local ones, since an age would not grow.',
    examples: [
      ['Watch what happens', 'svc audit tail --follow'],
      ['Every refusal from now on, as NDJSON', 'svc audit tail -f -n 0 --result-status DENIED -o json'],
      ['The last 100 events of a resource', 'svc audit tail -n 100 --resource-name web'],
    ],
  });

  follow = Option.Boolean('-f,--follow', false, { description: 'go on with the events that come, until interrupted' });
  last = Option.String('-n,--last', '10', {
    description: `how many of the last events to show, 0 to ${LIMITS.page.most}; default 10`,
  });
  override max = Option.String('--max', '-1', { description: 'end after so many events, below 1 never; default -1' });

  override get timeStyle(): TimeStyle {
    return this.follow && this.ts === undefined && this.terminal.isTTY ? 'local' : super.timeStyle;
  }

  protected async run(): Promise<number> {
    if (!new RegExp(LAST_PATTERN).test(this.last))
      throw new UsageError(`--last is a whole number from 0 to ${LIMITS.page.most}`);
    const given = this.filters();
    const org = await this.requireOrg();
    const filters = { ...given, ...this.publishedBy(org) };
    await this.requireToken();
    const [client, { eventsPath, readPage }, { showPage }] = await Promise.all([
      this.client(),
      import('../../../client/pages.js'),
      import('../pages.js'),
    ]);
    const { openList, openStream } = await import('../../output/document.js');
    const { eventForms } = await import('../../output/events.js');
    const { terminal, format, limit } = this;
    const last = String(Math.min(Number(this.last), limit));
    const start = eventsPath(org, this.resource, { ...filters, order: 'received', last }, Number.POSITIVE_INFINITY);
    const page = await readPage(client, start);
    const forms = eventForms(terminal, this.timeStyle);
    if (!this.follow) {
      await showPage(page, openList(terminal, format, forms));
      return EXIT.ok;
    }
    const { follow } = await import('../../../client/follow.js');
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
    return EXIT.ok;
  }
}
