import { type CommandClass, Option } from 'clipanion';
import { LAST_PATTERN, LIMITS } from '../../../contract/limits.js';
import type { Kind } from '../../args/kinds.js';
import { moment } from '../../args/moments.js';
import { ApiCommand, type SvcContext, type TimeStyle } from '../../command.js';
import { EXIT, UsageError } from '../../output/failures.js';
import type { Logged } from './history.js';

const DEFAULT_MAX = 50;

/** `svc <kind> eventlog`: what happened to a resource, who did it, and what it changed. */
export function eventlogCommand(kind: Kind): CommandClass<SvcContext> {
  const { name, noun, example: ref } = kind;
  return class extends EventlogCommand {
    static override paths = [
      [name, 'eventlog'],
      [name, 'log'],
    ];
    static override usage = ApiCommand.Usage({
      description: `show the event log of a ${noun}, newest first; also when it is deleted`,
      details:
        'A line an event: when, what, with which result, who, from where, and what it changed. ' +
        'With --follow the last events come first, oldest first, and then all that happens, across restarts of the service, until interrupted. ' +
        'json is then one event a line, and times on a terminal are local ones. It needs the permission to read the audit context svc.',
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
}

abstract class EventlogCommand extends ApiCommand {
  ref = Option.String({ name: 'ref', required: true });
  action = Option.String('--action', { description: 'type of the action, such as create, edit or delete' });
  since = Option.String('--since', { description: 'from when on: ISO 8601, or a span back from now such as 7d' });
  until = Option.String('--until', {
    description: 'until when: ISO 8601, or a span back from now; it is not included',
  });
  diff = Option.Boolean('--diff', false, { description: 'show below each event what was before and after it' });
  follow = Option.Boolean('-f,--follow', false, { description: 'go on with the events that come, until interrupted' });
  last = Option.String('-n,--last', {
    description: `with --follow: how many of the last events to begin with, 0 to ${LIMITS.page.most}; default 10`,
  });
  override max = Option.String('--max', '', {
    description: `most events to show, below 1 all; default ${DEFAULT_MAX}, with --follow all`,
  });
  protected abstract readonly kind: Kind;
  protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'event logs' };

  override get limit(): number {
    if (this.max !== '') return super.limit;
    return this.follow ? Number.POSITIVE_INFINITY : DEFAULT_MAX;
  }

  override get timeStyle(): TimeStyle {
    return this.follow && this.ts === undefined && this.terminal.isTTY ? 'local' : super.timeStyle;
  }

  protected async run(): Promise<number> {
    const last = this.#last();
    if (this.diff && this.format !== 'text') throw new UsageError('--diff goes with --output text');
    if (this.follow && this.until !== undefined)
      throw new UsageError('--follow has no end: --until does not go with it');
    const query = {
      actionType: this.action,
      fromEvent: this.since === undefined ? undefined : moment('--since', this.since),
      toEvent: this.until === undefined ? undefined : moment('--until', this.until),
    };
    const logged = { org: await this.requireOrg(), kind: this.kind, ref: this.ref };
    await this.requireToken();
    if (this.follow) await this.#follow(logged, { ...query, last });
    else await this.#list(logged, query);
    return EXIT.ok;
  }

  #last(): number {
    if (this.last !== undefined && !this.follow) throw new UsageError('--last goes with --follow');
    const { last = '10' } = this;
    if (!new RegExp(LAST_PATTERN).test(last))
      throw new UsageError(`--last is a whole number from 0 to ${LIMITS.page.most}`);
    return Math.min(Number(last), this.limit);
  }

  async #forms() {
    const { eventlogForms } = await import('../../output/event-line.js');
    return eventlogForms(this.terminal, this.timeStyle, this.diff);
  }

  async #list(logged: Logged, query: Record<string, string | undefined>): Promise<void> {
    const [client, { logPath }, { PAGE_SIZE }, { showPages }, { openList }] = await Promise.all([
      this.client(),
      import('./history.js'),
      import('../../../client/pages.js'),
      import('../pages.js'),
      import('../../output/document.js'),
    ]);
    const { terminal, format, limit } = this;
    const start = logPath(logged, { pageSize: String(Math.min(limit, PAGE_SIZE)), ...query });
    const sink = openList(terminal, format, await this.#forms());
    await showPages({ client, sink, start, on: 'api', limit, stopped: () => terminal.outputClosed });
  }

  async #follow(
    logged: Logged,
    query: { last: number; fromEvent: string | undefined; actionType: string | undefined },
  ): Promise<void> {
    const [client, { openFollowed }, { follow }, { openStream }] = await Promise.all([
      this.client(),
      import('./history.js'),
      import('../../../client/follow.js'),
      import('../../output/document.js'),
    ]);
    const { terminal, format, limit } = this;
    const { first, from, wanted } = await openFollowed(client, logged, query);
    const show = openStream(terminal, format, await this.#forms());
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
