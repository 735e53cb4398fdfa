import { Client } from '@elastic/elasticsearch';

export interface ElasticsearchConnection {
  readonly nodes: readonly string[];
  readonly auth?: { readonly username: string; readonly password: string } | { readonly apiKey: string } | undefined;
  /** Certificates to trust with https, in PEM, instead of the system's authorities. */
  readonly ca?: string | undefined;
}

/**
 * A request to Elasticsearch failed. Contains no document and no credentials, so it may be logged: Elasticsearch's reasons
 * for rejecting a request quote its content, and are left out.
 */
export class ElasticsearchFault extends Error {
  override readonly name = 'ElasticsearchFault';

  constructor(
    message: string,
    /** Of the response; 0 if there was none, so that the outcome is unknown. */
    readonly status: number,
    /** The name that Elasticsearch or its client gives to the fault. */
    readonly type: string,
  ) {
    super(message);
  }
}

export interface Request {
  readonly body?: object;
  /** In place of a body: lines of JSON, each with its line end. */
  readonly lines?: string;
  /** In place of a body: documents in SMILE, each with its end mark. */
  readonly smile?: Buffer;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly timeoutMs?: number;
  /** A longer response is not read: then the request fails with the type `RequestAbortedError`. */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 30_000;

const SMILE = { 'content-type': 'application/smile', accept: 'application/json' };

/** Requests and responses are never logged, and no error contains them. */
export class Elasticsearch {
  private readonly client: Client;

  constructor({ nodes, auth, ca }: ElasticsearchConnection) {
    this.client = new Client({
      nodes: [...nodes],
      name: 'control-service',
      // Callers decide whether to retry, and when.
      maxRetries: 0,
      requestTimeout: TIMEOUT_MS,
      compression: false,
      ...(auth && { auth }),
      ...(ca !== undefined && { tls: { ca } }),
    });
  }

  /** Rejects with an `ElasticsearchFault` unless the response reports success. */
  async request<Answer>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    request: Request = {},
  ): Promise<Answer> {
    const { body, lines, smile, query, timeoutMs = TIMEOUT_MS, maxBytes, signal } = request;
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
        {
          requestTimeout: timeoutMs,
          ...(smile && { headers: SMILE }),
          ...(maxBytes !== undefined && { maxResponseSize: maxBytes }),
          ...(signal && { signal }),
        },
      );
    } catch (error) {
      throw faultOf(error, `${method} ${place(path)}`);
    }
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** Without identifiers of documents, which belong to users. */
function place(path: string): string {
  return path.replace(/\/_(doc|create)\/.*$/, '/_$1');
}

interface ClientError {
  readonly name: string;
  readonly message: string;
  readonly statusCode?: number;
  readonly body?: { readonly error?: { readonly type?: string; readonly reason?: string } | string };
}

/** The client's errors contain the request with headers and body: only harmless parts are copied. */
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

/** Without the local port, so that the same fault has the same message. */
function firstLine(text: string): string {
  return text.split(/\n| - Local:/, 1)[0] ?? '';
}

export function isFault(error: unknown): error is ElasticsearchFault {
  return (error as Error | undefined)?.name === 'ElasticsearchFault';
}

/** Whether the index, alias or document does not exist. */
export function isMissing(error: unknown): error is ElasticsearchFault {
  return isFault(error) && error.status === 404;
}

/** Whether another write came first. */
export function isConflict(error: unknown): error is ElasticsearchFault {
  return isFault(error) && error.status === 409;
}
