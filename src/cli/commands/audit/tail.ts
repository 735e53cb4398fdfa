import { Option } from 'clipanion';
import type { ApiClient } from '../../../client/api-client.js';
import { positionAfter } from '../../../client/pages.js';
import { LIMITS } from '../../../contract/limits.js';
import { tailCount } from '../../args/moments.js';
import { ApiCommand, eventOutput, type TimeStyle } from '../../command.js';
import type { ListSink } from '../../output/document.js';
import { eventForms } from '../../output/events.js';
import { UsageError } from '../../output/failures.js';
import { openEvents } from '../../output/formats/lines.js';
import { readPage } from '../../page.js';
import { follow } from '../follow.js';
import { showPage } from '../pages.js';
import { AuditFilterCommand, WIDE } from './filters.js';
import { eventsPath } from './paths.js';
import { TailState } from './tail-state.js';

/** Shows the end of the log, and with `--follow` all new events. */
export class AuditTail extends AuditFilterCommand {
  static override paths = [['audit', 'tail']];
  static override usage = ApiCommand.Usage({
    description: 'show the last audit events in the order received, and new ones',
    details:
      'With --follow it misses nothing and repeats nothing, however old an event is that comes late, and waits for a service that restarts. ' +
      'json is then one event a line, and times on a terminal are local ones, since an age would not grow. ' +
      'With --state it keeps its place in a file, and the next run goes on there: once the file is there, nothing is lost whenever ' +
      'it is killed, and at most what was shown and not noted yet, one page, is shown again.',
    examples: [
      ['Watch what happens', 'svc audit tail --follow'],
      ['Every refusal from now on, as NDJSON', 'svc audit tail -f -n 0 --result-status DENIED -o json'],
      ['The last 100 events of a resource', 'svc audit tail -n 100 --resource-name web'],
      ['Into a file, across restarts', 'svc audit tail -f --state acme.place -o ocsf >> acme.ocsf'],
    ],
  });

  override output = eventOutput();
  follow = Option.Boolean('-f,--follow', false, { description: 'show new events, too, until interrupted' });
  last = Option.String('-n,--last', {
    description: `how many of the last events to show, 0 to ${LIMITS.page.most}; default 10`,
  });
  state = Option.String('--state', { description: 'with --follow: file that keeps the place, to go on there' });
  wide = Option.Boolean('--wide', false, { description: WIDE });
  override max = Option.String('--max', '-1', { description: 'end after so many events, below 1 never; default -1' });

  override get timeStyle(): TimeStyle {
    return this.follow && this.ts === undefined && this.terminal.isTTY ? 'local' : super.timeStyle;
  }

  protected async run(): Promise<void> {
    if (this.state !== undefined && !this.follow) throw new UsageError('--state needs --follow');
    // A place is behind a whole page: it cannot say that a part of one was shown.
    if (this.state !== undefined && Number.isFinite(this.limit))
      throw new UsageError('--state and --max exclude each other');
    const { terminal, format, limit } = this;
    const last = String(Math.min(tailCount(this.last), limit));
    const { org, filters } = await this.filters();
    const client = await this.authorized();
    const start = eventsPath(org, this.resource, { ...filters, order: 'received', last }, Number.POSITIVE_INFINITY);
    const sink = await openEvents(
      terminal,
      format,
      eventForms(terminal, this.timeStyle, { wide: this.wide, steady: this.follow }),
      this.follow,
    );
    if (!this.follow) return showPage(await readPage(client, start), sink);
    if (this.state !== undefined) return this.#keepPlace(client, sink, start, this.state);
    const page = await readPage(client, start);
    await sink.begin([]);
    await sink.items(page.items);
    await follow({ ...this.#following(client, sink), from: page, limit: limit - page.items.length });
  }

  /** Goes on where the file says, or begins as without it; after each page that left, the file says so. */
  async #keepPlace(client: ApiClient, sink: ListSink, start: string, file: string): Promise<void> {
    const { terminal } = this;
    const { auditEndpoint } = await this.settings();
    const { contextName, resource, from, since, to, until } = this;
    const state = new TailState(
      file,
      JSON.stringify([auditEndpoint, withoutTimes(start), contextName, resource, from, since, to, until]),
    );
    const shown = async (position: string) => {
      await terminal.flush();
      if (!terminal.outputClosed) await state.note(position);
    };
    let at = await state.read();
    if (at === undefined) {
      const page = await readPage(client, start);
      await sink.begin([]);
      await sink.items(page.items);
      at = positionAfter(page);
      await shown(at);
    } else if (this.last !== undefined) terminal.note(`${file} says where to go on: --last is not needed`);
    await follow({ ...this.#following(client, sink), from: at, limit: Number.POSITIVE_INFINITY, shown });
  }

  #following(client: ApiClient, sink: ListSink) {
    const { terminal } = this;
    const note = (text: string) => terminal.note(text);
    return { client, show: sink.items, note, stopped: () => terminal.outputClosed };
  }
}

/** The request without what a span back from now makes of it, and without what only the first run asks for. */
function withoutTimes(start: string): string {
  const [path, query = ''] = start.split('?');
  const kept = query.split('&').filter((one) => !/^(fromEvent|toEvent|last)=/.test(one));
  return `${path}?${kept.join('&')}`;
}
