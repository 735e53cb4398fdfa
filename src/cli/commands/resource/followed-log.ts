import { type ApiClient, path } from '../../../client/api-client.js';
import { ApiError } from '../../../client/errors.js';
import { member } from '../../../client/json-text.js';
import { PAGE_SIZE, type Page, type Query, queryText, readPage } from '../../../client/pages.js';
import type { Kind } from '../../../contract/kinds.js';
import { linkTo } from '../../../contract/links.js';
import { CliError, EXIT } from '../../output/failures.js';

/** The audit context in which the service records its own changes. Nobody else publishes there. */
const CONTEXT = 'svc';

/** The resource whose log it is; it may be deleted. */
export interface LogOf {
  org: string;
  kind: Kind;
  ref: string;
}

/** The log's path, newest event first. */
export const logPath = ({ org, kind, ref }: LogOf, query: Query): string =>
  path`/org/${org}/${kind.name}/${ref}/-eventlog` + queryText(query);

export interface FollowedLog {
  /** The last events until now, oldest first. */
  readonly first: readonly string[];
  /** The page of the order received after which to go on. */
  readonly from: Page;
  /** Whether an event after it is in the log and not among the first; asked once for each event, in order. */
  readonly wanted: (raw: string) => boolean;
}

/**
 * The end of a log and where it goes on. Only the order received misses nothing, and a resource's log has no such order;
 * so its events are picked out of all changes of the service. Throws if the key may not read those.
 */
export async function openFollowed(
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

const readLog = (client: ApiClient, logged: LogOf, query: Query): Promise<Page> =>
  readPage(client, logPath(logged, query), { on: 'api' });

async function endOfChanges(client: ApiClient, org: string, fromEvent: string | undefined): Promise<Page> {
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

function idOf({ envelope }: Page): string {
  const query = envelope.find(({ name }) => name === 'query')?.raw ?? '{}';
  const id: unknown = JSON.parse(member(query, 'resourceId') ?? 'null');
  if (typeof id !== 'string') throw new CliError('the service did not say whose log it is: the log cannot be followed');
  return id;
}

/** The name of key events: the link of their principal. Undefined if there will be none. */
async function keyNameOf(client: ApiClient, logged: LogOf, newest: Page): Promise<string | undefined> {
  const { org, kind, ref } = logged;
  if (!kind.operations.includes('keys')) return undefined;
  const deletion = await readLog(client, logged, { actionType: 'delete', pageSize: '1' });
  if (deletion.items.length > 0) return undefined;
  const { name = ref, type } = parse(newest.items[0] ?? '{}').resource ?? {};
  if (type === 'key') return String(name);
  return linkTo(org, kind.name, String(name));
}
