import { Option } from 'clipanion';
import { type Query } from '../../../client/pages.js';
import { ApiCommand, onlyIn, type TimeStyle } from '../../command.js';
import { UsageError } from '../../output/failures.js';
import { AuditFilterCommand } from './filters.js';
import { eventsPath } from './paths.js';

/** The full-screen viewer. It is loaded when its terminal was found to do. */
export class AuditBrowse extends AuditFilterCommand {
  static override paths = [['audit', 'browse']];
  static override usage = ApiCommand.Usage({
    description: 'browse audit events on the whole screen: filter, detail, difference, follow',
    details:
      'Type / to filter what is loaded as you type, and Enter to ask the service. Enter on an event shows all of it, d what it ' +
      'changed, f follows new events, ? shows all keys, and q quits. The events are read page by page as you move. It needs a terminal.',
    examples: [
      ['Look around', 'svc audit browse'],
      ['What one person did in the last week', 'svc audit browse --subject-email ann@example.com --since 7d'],
    ],
  });

  override max = Option.String('--max', '-1', { description: 'not available: events are loaded as you move' });
  protected override readonly unavailable = onlyIn(['text'], 'a viewer; use `svc audit list`');
  readonly #closing = new AbortController();

  override get timeStyle(): TimeStyle {
    return this.ts ?? 'local';
  }

  /** Also aborted when the viewer closes: nobody waits for what is still on its way. */
  protected override get signal(): AbortSignal {
    return AbortSignal.any([this.context.signal, this.#closing.signal]);
  }

  protected async run(): Promise<number> {
    this.#checkTerminal();
    const { terminal, resource, timeStyle } = this;
    const { org, filters } = await this.filters();
    const client = await this.authorized();
    const [{ Session }, { parseFilter, queryOf }, { paneLines }] = await Promise.all([
      import('../../browse/session.js'),
      import('../../browse/filter.js'),
      import('../../browse/pane.js'),
    ]);
    const base: Query = { ...given({ ...resource }), ...given(filters) };
    const path = ({ resourceName, resourceId, ...query }: Query, order: Query = {}) =>
      eventsPath(org, { resourceName, resourceId }, { ...query, ...order }, Number.POSITIVE_INFINITY);
    const session = await Session.open(
      {
        ...{ client, terminal, signal: this.context.signal },
        rules: {
          query: (typed, loaded) => ({ ...base, ...queryOf(parseFilter(typed), org, loaded) }),
          start: path,
          pane: paneLines(terminal),
        },
        look: { org, timeStyle, paint: (style, text) => terminal.paint(style, text) },
        received: (query) => path(query, { order: 'received', last: '0' }),
      },
      base,
    );
    try {
      return await session.run();
    } finally {
      this.#closing.abort();
    }
  }

  #checkTerminal(): void {
    const { terminal } = this;
    const { TERM } = this.context.env;
    const instead = ['use `svc audit list`, and `svc audit tail --follow` for new events'];
    if (!terminal.isTTY || !terminal.stdin.isTTY) throw new UsageError('svc audit browse needs a terminal', instead);
    if (TERM === 'dumb')
      throw new UsageError('svc audit browse needs a terminal with a cursor; TERM is `dumb`', instead);
    if ((this.verbose || this.debug) && terminal.errorIsTTY)
      throw new UsageError('--verbose and --debug would write over the screen', ['write them to a file: 2>svc.log']);
    if (this.limit !== Number.POSITIVE_INFINITY)
      throw new UsageError('--max is not available for a viewer, which loads events as you move', instead);
  }
}

/** The members that have a value. */
const given = (query: Query): Query =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
