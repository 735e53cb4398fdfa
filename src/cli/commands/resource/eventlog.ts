import { Option } from 'clipanion';
import { follow } from '../../../client/follow.js';
import { PAGE_SIZE, type Query } from '../../../client/pages.js';
import { LIMITS } from '../../../contract/limits.js';
import { moment, tailCount } from '../../args/moments.js';
import { ApiCommand, type TimeStyle, undeclared } from '../../command.js';
import { openList, openStream } from '../../output/document.js';
import { eventlogForms } from '../../output/events.js';
import { UsageError } from '../../output/failures.js';
import { showPages } from '../pages.js';
import { ResourceCommand, type Verb } from './command.js';
import { type LogOf, logPath, openFollowed } from './followed-log.js';

const DEFAULT_MAX = 50;

/** `svc <kind> eventlog`: what happened to a resource, who did it, and what it changed. */
export const eventlog: Verb = (kind) => {
  const { name, noun, example: ref } = kind;
  return class extends EventlogCommand {
    static override paths = [
      [name, 'eventlog'],
      [name, 'log'],
    ];
    static override usage = ApiCommand.Usage({
      description: `show the event log of a ${noun}, newest first; also after its deletion`,
      details:
        'Each event is a line: when, what, with which result, who, from where, and what it changed. ' +
        'With --follow the last events come first, oldest first, then all new ones, across restarts of the service, until interrupted. ' +
        'json is then one event a line, and times on a terminal are local ones. --follow needs readAudit on the audit context svc.',
      examples: [
        ['What happened to it', `svc ${name} eventlog ${ref}`],
        [
          'What was before and after each edit of the last week',
          `svc ${name} log ${ref} --since 7d --action edit --diff`,
        ],
        ['The whole log, as the service has it', `svc ${name} log ${ref} --max 0 -o json`],
        ['Watch it', `svc ${name} log ${ref} --follow`],
      ],
    });

    protected override readonly kind = kind;
  };
};

abstract class EventlogCommand extends ResourceCommand {
  ref = Option.String({ name: 'ref', required: true });
  action = Option.String('--action', { description: 'type of the action, such as create, edit or delete' });
  since = Option.String('--since', { description: 'start time: ISO 8601, or a span back from now such as 7d' });
  until = Option.String('--until', {
    description: 'end time (exclusive): ISO 8601, or a span back from now',
  });
  diff = Option.Boolean('--diff', false, { description: 'show below each event what was before and after it' });
  follow = Option.Boolean('-f,--follow', false, { description: 'show new events, too, until interrupted' });
  last = Option.String('-n,--last', {
    description: `with --follow: how many of the last events come first, 0 to ${LIMITS.page.most}; default 10`,
  });
  override max = Option.String('--max', '', {
    description: `most events to show, below 1 all; default ${DEFAULT_MAX}, with --follow all`,
  });
  protected override readonly unavailable = undeclared('event logs');

  override get limit(): number {
    if (this.max !== '') return super.limit;
    return this.follow ? Number.POSITIVE_INFINITY : DEFAULT_MAX;
  }

  override get timeStyle(): TimeStyle {
    return this.follow && this.ts === undefined && this.terminal.isTTY ? 'local' : super.timeStyle;
  }

  protected async run(): Promise<void> {
    if (this.last !== undefined && !this.follow) throw new UsageError('--last needs --follow');
    const last = Math.min(tailCount(this.last), this.limit);
    if (this.diff && this.format !== 'text') throw new UsageError('--diff needs --output text');
    if (this.follow && this.until !== undefined) throw new UsageError('--until cannot be combined with --follow');
    const query = {
      actionType: this.action,
      fromEvent: this.since === undefined ? undefined : moment('--since', this.since),
      toEvent: this.until === undefined ? undefined : moment('--until', this.until),
    };
    const log = { org: await this.requireOrg(), kind: this.kind, ref: this.ref };
    if (this.follow) await this.#follow(log, { ...query, last });
    else await this.#list(log, query);
  }

  get #forms() {
    return eventlogForms(this.terminal, this.timeStyle, this.diff);
  }

  async #list(log: LogOf, query: Query): Promise<void> {
    const client = await this.authorized();
    const { terminal, format, limit } = this;
    const start = logPath(log, { pageSize: String(Math.min(limit, PAGE_SIZE)), ...query });
    const sink = openList(terminal, format, this.#forms);
    await showPages({ client, sink, start, on: 'api', limit, stopped: () => terminal.outputClosed });
  }

  async #follow(
    log: LogOf,
    query: { last: number; fromEvent: string | undefined; actionType: string | undefined },
  ): Promise<void> {
    const client = await this.authorized();
    const { terminal, format, limit } = this;
    const { first, from, wanted } = await openFollowed(client, log, query);
    const show = openStream(terminal, format, this.#forms);
    await show(first);
    await follow({
      client,
      from,
      limit: limit - first.length,
      wanted,
      show,
      note: (text) => terminal.note(text),
      stopped: () => terminal.outputClosed,
    });
  }
}
