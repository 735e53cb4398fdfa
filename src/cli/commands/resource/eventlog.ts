import { Option } from 'clipanion';
import { type ApiClient, path } from '../../../client/api-client.js';
import { ApiError } from '../../../client/errors.js';
import { PAGE_SIZE, type Query, queryText } from '../../../client/pages.js';
import { member } from '../../../contract/json-text.js';
import type { Kind } from '../../../contract/kinds.js';
import { LIMITS } from '../../../contract/limits.js';
import { linkTo } from '../../../contract/links.js';
import { moment, SINCE, tailCount, UNTIL } from '../../args/moments.js';
import { ApiCommand, type TimeStyle, undeclared } from '../../command.js';
import { openList, openStream } from '../../output/document.js';
import { eventlogForms } from '../../output/events.js';
import { CliError, EXIT, UsageError } from '../../output/failures.js';
import { type RawPage, readPage } from '../../page.js';
import { follow } from '../follow.js';
import { showPages } from '../pages.js';
import { ResourceCommand, type Verb } from './command.js';

/** The audit context in which the service records its own changes. Nobody else publishes there. */
const CONTEXT = 'svc';

/** The resource whose log it is; it may be deleted. */
interface LogOf {
  org: string;
  kind: Kind;
  ref: string;
}

/** The log's path, newest event first. */
const logPath = ({ org, kind, ref }: LogOf, query: Query): string =>
  path`/org/${org}/${kind.name}/${ref}/-eventlog` + queryText(query);

interface FollowedLog {
  /** The last events until now, oldest first. */
  readonly first: readonly string[];
  /** The page of the order received after which to go on. */
  readonly from: RawPage;
  /** Whether an event after it is in the log and not among the first; asked once for each event, in order. */
  readonly wanted: (raw: string) => boolean;
}

/**
 * The end of a log and where it goes on. Only the order received misses nothing, and a resource's log has no such order;
 * so its events are picked out of all changes of the service. Throws if the key may not read those.
 */
async function openFollowed(
  client: ApiClient,
  logged: LogOf,
  { last, fromEvent, actionType }: { last: number; fromEvent: string | undefined; actionType: string | undefined },
): Promise<FollowedLog> {
  const inLog = await ownEvents(client, logged);
  // Before the first are read: what comes between is in both, and left out of the second.
  const from = await endOfChanges(client, logged.org, fromEvent);
  const first = last === 0 ? [] : (await readLog(client, logged, { fromEvent, actionType, pageSize: `${last}` })).items;
  const shown = new Set(first.map((raw) => parse(raw).id));
  const wanted = (raw: string) => {
    const event = parse(raw);
    return inLog(event) && !shown.has(event.id) && (actionType === undefined || event.action?.type === actionType);
  };
  return { first: first.toReversed(), from, wanted };
}

const readLog = (client: ApiClient, logged: LogOf, query: Query): Promise<RawPage> =>
  readPage(client, logPath(logged, query), { on: 'api' });

async function endOfChanges(client: ApiClient, org: string, fromEvent: string | undefined): Promise<RawPage> {
  try {
    // A list leaves out what the key may not read, and does not say so: the context's own page does.
    await client.call({ method: 'GET', path: path`/audit/org/${org}/auditctx/${CONTEXT}`, on: 'audit', retry: 'safe' });
  } catch (cause) {
    if (!(cause instanceof ApiError) || cause.body.status !== 403) throw cause;
    const hint = `it needs the permission readAudit on the audit context ${CONTEXT}; the log without --follow does not`;
    throw new CliError('--follow is not allowed with this key', EXIT.denied, [hint], { cause });
  }
  const query = { contextName: CONTEXT, resultStatus: 'OK', fromEvent, order: 'received' };
  return readPage(client, path`/audit/org/${org}` + queryText({ ...query, last: '0', pageSize: `${PAGE_SIZE}` }));
}

interface ControlEvent {
  id?: unknown;
  requestId?: unknown;
  resource?: { id?: unknown; name?: unknown; type?: unknown };
  action?: { type?: unknown };
}

const parse = (raw: string): ControlEvent => (JSON.parse(raw) ?? {}) as ControlEvent;

/** Decides for each new event, in order, whether it is in the log. */
async function ownEvents(client: ApiClient, logged: LogOf): Promise<(event: ControlEvent) => boolean> {
  const newest = await readLog(client, logged, { pageSize: '1' });
  const id = idOf(newest);
  const { name } = logged.kind;
  let keyName = await keyNameOf(client, logged, newest);
  let deletedBy: unknown;
  return ({ resource, action, requestId }) => {
    if (resource?.id === id && resource?.type === name) {
      // A later principal of the same name has keys under the same link. A deletion deletes its own keys, too.
      if (action?.type === 'delete') deletedBy = requestId;
      return true;
    }
    if (deletedBy !== undefined && requestId !== deletedBy) keyName = undefined;
    return keyName !== undefined && resource?.type === 'key' && resource.name === keyName;
  };
}

function idOf({ envelope }: RawPage): string {
  const query = envelope.find(({ name }) => name === 'query')?.raw ?? '{}';
  const id: unknown = JSON.parse(member(query, 'resourceId') ?? 'null');
  if (typeof id !== 'string') throw new CliError('the service did not say whose log it is: the log cannot be followed');
  return id;
}

/** The name of key events: the link of their principal. Undefined if there will be none. */
async function keyNameOf(client: ApiClient, logged: LogOf, newest: RawPage): Promise<string | undefined> {
  const { org, kind, ref } = logged;
  if (!kind.operations.includes('keys')) return undefined;
  const deletion = await readLog(client, logged, { actionType: 'delete', pageSize: '1' });
  if (deletion.items.length > 0) return undefined;
  const { name = ref, type } = parse(newest.items[0] ?? '{}').resource ?? {};
  if (type === 'key') return String(name);
  return linkTo(org, kind.name, String(name));
}

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
  since = Option.String('--since', { description: SINCE });
  until = Option.String('--until', { description: UNTIL });
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
      fromEvent: moment('--since', this.since),
      toEvent: moment('--until', this.until),
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
    await showPages({ client, sink, start, on: 'api', limit, terminal, nothing: 'No events match' });
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
