import { Option } from 'clipanion';
import { follow } from '../../../client/follow.js';
import { eventsPath, readPage } from '../../../client/pages.js';
import { LIMITS } from '../../../contract/limits.js';
import { tailCount } from '../../args/moments.js';
import { ApiCommand, type TimeStyle } from '../../command.js';
import { openList, openStream } from '../../output/document.js';
import { eventForms } from '../../output/events.js';
import { showPage } from '../pages.js';
import { AuditFilterCommand } from './filters.js';

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
