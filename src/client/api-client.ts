import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, ClientError, ConnectionError, type ConnectionFault, type ErrorBody, Interrupted } from './errors.js';
import { Connections, type Exchange, headOf, type RawAnswer, readAnswer } from './http.js';

/**
 * Whether a failed call is sent again: `never`; `safe`, for a call that changes nothing, carries an idempotency key, or
 * has the same effect when repeated; `patient`, for such a call of a long run, which also waits for a restarting service.
 */
export type Retry = 'never' | 'safe' | 'patient';

export interface ApiCall {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Percent-encoded, from `path`. */
  path: string;
  /** Which of the two addresses the path belongs to. */
  on: 'api' | 'audit';
  body?: string | Uint8Array;
  /** How long the connection may be idle. */
  idleMs?: number;
  contentType?: string;
  idempotencyKey?: string;
  /** The version of the resource that the call is meant for. */
  ifMatch?: string;
  retry: Retry;
}

export interface ClientOptions {
  endpoint: string;
  auditEndpoint: string;
  token: string | undefined;
  /** Accepts any TLS certificate. */
  insecure: boolean;
  /** Aborting it ends all calls with `Interrupted`. */
  signal: AbortSignal;
  /** The longest time of one call, its retries and the waits between them included; without it there is no such limit. */
  timeoutMs?: number | undefined;
  userAgent?: string;
  observer?: Observer;
}

/** Sees what the client does, for logs. */
export interface Observer {
  request?(exchange: Exchange): void;
  /** A download is reported without its text and without a duration. */
  answer?(answer: RawAnswer, exchange: Exchange, ms?: number): void;
  retry?(error: Error, waitMs: number): void;
}

const ATTEMPTS = 6;
const LONGEST_WAIT_MS = 60_000;
const BUSY = new Set([429, 502, 503, 504]);
const CUT = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);
const AWAY = new Set(['ECONNREFUSED', 'ETIMEDOUT', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const PASSING: readonly ConnectionFault[] = ['cut', 'refused', 'unreachable', 'unknown-host'];

/** A path of segments that come from the user. A segment that a URL would resolve away is refused. */
export function path(strings: TemplateStringsArray, ...segments: string[]): string {
  return strings.reduce((text, fixed, index) => {
    const segment = segments[index - 1] ?? '';
    if (segment === '' || segment === '.' || segment === '..')
      throw new ClientError(`\`${segment}\` is not a valid name`);
    return `${text}${encodeURIComponent(segment)}${fixed}`;
  });
}

/** How long to wait before the next attempt: what the service asked for, else longer each time, with jitter. */
export function retryDelay(attempt: number, askedMs: number | undefined): number {
  return askedMs ?? Math.min(5_000, 250 * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Whether the same call may succeed later: the service is busy, restarting, or out of reach. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return BUSY.has(error.body.status);
  return error instanceof ConnectionError && PASSING.includes(error.fault);
}

/** What to make of a 2xx response. */
type Take<Result> = (answer: IncomingMessage, exchange: Exchange, begun: number) => Promise<Result>;

/** Calls the service: authorization, retries, errors. Requests and responses are JSON texts. */
export class ApiClient {
  readonly #options: ClientOptions;
  readonly #connections: Connections;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#connections = new Connections(options.insecure);
  }

  close(): void {
    this.#connections.close();
  }

  /** Returns the body of a 2xx response as text, checked to be JSON: parsing would alter large numbers. Empty for a 204. */
  async call(call: ApiCall): Promise<string> {
    return (await this.send(call)).text;
  }

  /** Like `call`, with the status. */
  send(call: ApiCall): Promise<RawAnswer> {
    return this.#repeat(call, async (...given) => {
      const answer = await this.#read(...given);
      if (answer.status === 204 || parsed(answer.text) !== undefined) return answer;
      const message = `the answer of ${this.#address(call.on)} is not JSON (status ${answer.status})`;
      throw new ConnectionError('not-json', message);
    });
  }

  /** Streams a 2xx response to `take`; errors of `take` after a broken connection are explained, too. */
  download<Result>(call: ApiCall, take: (answer: IncomingMessage) => Promise<Result>): Promise<Result> {
    return this.#repeat(call, (answer, exchange) => {
      this.#options.observer?.answer?.(headOf(answer), exchange);
      return take(answer);
    });
  }

  /** Waits, unless the user interrupts. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#options.signal }).catch(() => {
      throw new Interrupted();
    });
  }

  async #repeat<Result>(call: ApiCall, take: Take<Result>): Promise<Result> {
    const { signal, timeoutMs, observer } = this.#options;
    const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const ended = late ? AbortSignal.any([signal, late]) : signal;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(call, ended, take);
      } catch (error) {
        const wait = ended.aborted ? undefined : waitBeforeRetry(call.retry, error, attempt);
        if (wait !== undefined) {
          observer?.retry?.(error as Error, wait);
          await sleep(wait, undefined, { signal: ended }).catch(() => undefined);
        }
        if (signal.aborted) throw new Interrupted();
        if (late?.aborted) throw this.#late(call, error);
        if (wait === undefined) throw this.#explain(error, call.on);
      }
    }
  }

  /** The failure of a call that took too long; `last` is what its last attempt failed with. */
  #late({ method, path, on }: ApiCall, last: unknown): ConnectionError {
    const why = last instanceof ClientError ? `; at last: ${last.message}` : '';
    const message = `${method} ${path.split('?')[0]} at ${this.#address(on)} took longer than ${this.#options.timeoutMs} ms${why}`;
    return new ConnectionError('late', message, { cause: last });
  }

  async #once<Result>(call: ApiCall, signal: AbortSignal, take: Take<Result>): Promise<Result> {
    const exchange = this.#exchange(call);
    this.#options.observer?.request?.(exchange);
    const begun = performance.now();
    const answer = await this.#connections.open(exchange, signal);
    const { statusCode: status = 0 } = answer;
    if (status < 200 || status > 299) throw toApiError(await this.#read(answer, exchange, begun));
    return take(answer, exchange, begun);
  }

  async #read(response: IncomingMessage, exchange: Exchange, begun: number): Promise<RawAnswer> {
    const answer = await readAnswer(response);
    this.#options.observer?.answer?.(answer, exchange, performance.now() - begun);
    return answer;
  }

  #exchange(call: ApiCall): Exchange {
    const { token, userAgent = 'control-service-client' } = this.#options;
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': userAgent };
    if (token) headers.authorization = `Bearer ${token}`;
    if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey;
    if (call.ifMatch !== undefined) headers['if-match'] = call.ifMatch;
    if (call.body !== undefined) {
      headers['content-type'] = call.contentType ?? 'application/json';
      headers['content-length'] = String(Buffer.byteLength(call.body));
    }
    const { method, body, idleMs } = call;
    return { method, url: `${this.#address(call.on)}${call.path}`, headers, body, idleMs };
  }

  #address(on: ApiCall['on']): string {
    return on === 'audit' ? this.#options.auditEndpoint : this.#options.endpoint;
  }

  /** A connection's failure in words that name the address. */
  #explain(error: unknown, on: ApiCall['on']): unknown {
    if (error instanceof ClientError) return error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    const [fault, text] = explain(code, message, this.#address(on));
    return new ConnectionError(fault, text, { cause: error });
  }
}

function explain(code: string, message: string, address: string): [ConnectionFault, string] {
  if (code === 'ENOTFOUND') return ['unknown-host', `unknown host in the endpoint ${address}`];
  if (code === 'ECONNREFUSED') return ['refused', `nothing listens at ${address}`];
  if (AWAY.has(code)) return ['unreachable', `cannot reach ${address}: ${message || code}`];
  if (CUT.has(code)) return ['cut', `${address} closed the connection before it answered`];
  if (/CERT|SELF_SIGNED|TLS|SIGNATURE/.test(code)) {
    return ['untrusted', `the certificate of ${address} is not trusted: ${message}`];
  }
  if (code.startsWith('HPE_') || code === 'EPROTO' || code.startsWith('ERR_SSL')) {
    return ['not-http', `${address} does not speak HTTP: ${message}`];
  }
  return ['other', `the call to ${address} failed: ${message || code}`];
}

function waitBeforeRetry(retry: Retry, error: unknown, attempt: number): number | undefined {
  if (retry === 'never' || attempt + 1 >= ATTEMPTS) return undefined;
  if (error instanceof ApiError) {
    if (!BUSY.has(error.body.status)) return undefined;
    const wait = retryDelay(attempt, error.retryAfterMs);
    return wait <= LONGEST_WAIT_MS ? wait : undefined;
  }
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return CUT.has(code) || (retry === 'patient' && AWAY.has(code)) ? retryDelay(attempt, undefined) : undefined;
}

function toApiError(answer: RawAnswer): ApiError {
  const asked = answer.headers['retry-after'];
  return new ApiError(
    readErrorBody(answer),
    asked !== undefined && Number(asked) >= 0 ? Number(asked) * 1000 : undefined,
  );
}

/** The Error body. If something else answered (a gateway, say), the little that its status says. */
function readErrorBody({ status, reason, headers, text }: RawAnswer): ErrorBody {
  const body = parsed(text) as Partial<ErrorBody> | null | undefined;
  if (typeof body?.message === 'string') return { ...body, status, message: body.message };
  const target = status >= 300 && status < 400 ? `, to ${headers.location ?? 'nowhere'}` : '';
  const id = headers['x-request-id'];
  const message = `the service answered ${status} ${reason}${target}`;
  return { status, message, ...(typeof id === 'string' && { id }) };
}

/** The value of a JSON text; undefined for any other text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
