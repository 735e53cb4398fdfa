import { Client } from '@elastic/elasticsearch';
import { ControlError } from '../../contract/errors.js';
import { untilDone } from '../../platform/retry.js';

export interface ElasticsearchConnection {
  readonly nodes: readonly string[];
  readonly auth?: { readonly username: string; readonly password: string } | { readonly apiKey: string } | undefined;
  /** Whose certificates to trust with https, in PEM, where it is not the system's authorities. */
  readonly ca?: string | undefined;
}

/**
 * Elasticsearch did not do what it was asked. Holds no document and no credentials, so it may be logged: the reasons that
 * Elasticsearch gives for a request it finds wrong quote what was in it, and are left out.
 */
export class ElasticsearchFault extends Error {
  override readonly name = 'ElasticsearchFault';

  constructor(
    message: string,
    /** Of the answer; 0 when there was none, so that nobody knows whether it was done. */
    readonly status: number,
    /** As Elasticsearch names it, or as the client does. */
    readonly type: string,
  ) {
    super(message);
  }
}

export interface Request {
  readonly body?: object;
  /** In place of a body: lines of JSON, the last one ended too. */
  readonly lines?: string;
  /** In place of a body: documents in SMILE, each of them ended. */
  readonly smile?: Buffer;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 30_000;

const SMILE = { 'content-type': 'application/smile', accept: 'application/json' };

/** What is sent and received is never logged, and an error says nothing of it. */
export class Elasticsearch {
  private readonly client: Client;

  constructor({ nodes, auth, ca }: ElasticsearchConnection) {
    this.client = new Client({
      nodes: [...nodes],
      name: 'control-service',
      // Who calls knows better whether to try again, and when.
      maxRetries: 0,
      requestTimeout: TIMEOUT_MS,
      compression: false,
      ...(auth && { auth }),
      ...(ca !== undefined && { tls: { ca } }),
    });
  }

  /** Rejects with an `ElasticsearchFault` when the answer is not one of success. */
  async request<Answer>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    request: Request = {},
  ): Promise<Answer> {
    const { body, lines, smile, query, timeoutMs = TIMEOUT_MS, signal } = request;
    try {
      return await this.client.transport.request<Answer>(
        {
          method,
          path,
          ...(body && { body }),
          ...(lines !== undefined && { bulkBody: lines }),
          ...(smile && { bulkBody: smile }),
          ...(query && { querystring: query }),
        },
        { requestTimeout: timeoutMs, ...(smile && { headers: SMILE }), ...(signal && { signal }) },
      );
    } catch (error) {
      throw faultOf(error, `${method} ${place(path)}`);
    }
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** Without identifiers of documents: they are the users'. */
function place(path: string): string {
  return path.replace(/\/_(doc|create)\/.*$/, '/_$1');
}

interface ClientError {
  readonly name: string;
  readonly message: string;
  readonly statusCode?: number;
  readonly body?: { readonly error?: { readonly type?: string; readonly reason?: string } | string };
}

/** The client's errors hold the request, its headers and its body: only what is known to be harmless is taken over. */
function faultOf(error: unknown, what: string): ElasticsearchFault {
  const { name, message, statusCode, body } = error as ClientError;
  if (name === 'ResponseError' && statusCode !== undefined) return answerFault(statusCode, body?.error, what);
  if (name === 'TimeoutError') return new ElasticsearchFault(`Elasticsearch did not answer ${what} in time`, 0, name);
  const unreachable = name === 'ConnectionError' || name === 'NoLivingConnectionsError';
  const said = unreachable ? 'Elasticsearch cannot be reached' : `the Elasticsearch client failed at ${what}: ${name}`;
  return new ElasticsearchFault(`${said}: ${firstLine(message)}`, 0, name);
}

function answerFault(
  status: number,
  error: { readonly type?: string; readonly reason?: string } | string | undefined,
  what: string,
): ElasticsearchFault {
  const { type = 'unknown', reason = '' } = typeof error === 'object' ? error : {};
  if (status === 401 || (status === 403 && type !== 'cluster_block_exception')) {
    const which = status === 401 ? 'does not accept the credentials' : 'does not allow these credentials this';
    return new ElasticsearchFault(`Elasticsearch ${which} (${status} to ${what})`, status, type);
  }
  const why = status === 400 || reason === '' ? '' : `: ${firstLine(reason)}`;
  return new ElasticsearchFault(`Elasticsearch answered ${status} ${type} to ${what}${why}`, status, type);
}

/** Without the port that happened to be used, so that the same fault says the same. */
function firstLine(text: string): string {
  return text.split(/\n| - Local:/, 1)[0] ?? '';
}

export function isFault(error: unknown): error is ElasticsearchFault {
  return (error as Error | undefined)?.name === 'ElasticsearchFault';
}

/** Whether the answer was that the index, alias or document is not there. */
export function isMissing(error: unknown): error is ElasticsearchFault {
  return isFault(error) && error.status === 404;
}

/** Whether the answer was that another write came first. */
export function isConflict(error: unknown): error is ElasticsearchFault {
  return isFault(error) && error.status === 409;
}

/** The type of the fault that says that a read model does not have everything yet. */
export const FILLING = 'generation_filling';

/** How long a read waits for a shard that is just starting: that of a new month, or one that moves to another node. */
const SHARD_PATIENCE = { first: 50, most: 800, attempts: 6 };

/**
 * Runs a read, and again where it failed because the generation that it began with was removed meanwhile, or because a
 * shard is just starting. What then fails because Elasticsearch is not there or does not get through is told apart from a fault of the program.
 */
export async function steadyRead<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  try {
    return await read().catch((error) => (mayBeSwapped(error) ? readWhenStarted(read) : Promise.reject(error)));
  } catch (error) {
    if (!isFault(error) || (error.status === 400 && error.type !== 'index_closed_exception')) throw error;
    const why = error.type === FILLING ? ': it is being filled from the log' : '';
    throw new ControlError(
      'read_model_unavailable',
      `the read model cannot be read at the moment${why}`,
      {},
      { cause: error },
    );
  }
}

async function readWhenStarted<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  const refuseOthers = (error: unknown) => {
    if (!isStarting(error)) throw error;
  };
  // Nothing aborts it, so there is an answer.
  return (await untilDone(undefined, read, refuseOthers, SHARD_PATIENCE)) as Answer;
}

function isStarting(error: unknown): boolean {
  return isFault(error) && error.status === 503 && STARTING.includes(error.type);
}

const STARTING = ['search_phase_execution_exception', 'no_shard_available_action_exception'];

function mayBeSwapped(error: unknown): boolean {
  return isFault(error) && (error.status === 404 || error.status >= 500);
}
