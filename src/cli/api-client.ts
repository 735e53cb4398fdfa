import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, CliError, type ErrorBody, Interrupted } from './failures.js';
import { type Connections, type Exchange, openConnections, type RawAnswer, readAnswer } from './http.js';
import type { Settings } from './settings.js';
import type { Terminal } from './terminal.js';

/**
 * What may be sent again: `never`; `safe`, a call that changes nothing, carries an idempotency key, or comes to the same
 * when it is done twice; `patient`, the same from a long run, which also waits for a service that is restarting.
 */
export type Retry = 'never' | 'safe' | 'patient';

export interface ApiCall {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Percent-encoded, from `path`. */
  path: string;
  /** Which of the two addresses the path belongs to. */
  on: 'api' | 'audit';
  body?: string;
  /** How long the service may say nothing. */
  idleMs?: number;
  contentType?: string;
  idempotencyKey?: string;
  /** The version of the resource that the call is meant for. */
  ifMatch?: string;
  retry: Retry;
}

export interface ClientOptions {
  insecure: boolean;
  verbose: boolean;
  debug: boolean;
  terminal: Terminal;
  signal: AbortSignal;
}

const ATTEMPTS = 6;
const LONGEST_WAIT_MS = 60_000;
const BUSY = new Set([429, 502, 503, 504]);
const CUT = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);
const AWAY = new Set(['ECONNREFUSED', 'ETIMEDOUT', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** A path of segments that come from the user. A segment that a URL would resolve away is refused. */
export function path(strings: TemplateStringsArray, ...segments: string[]): string {
  return strings.reduce((text, fixed, index) => {
    const segment = segments[index - 1] ?? '';
    if (segment === '' || segment === '.' || segment === '..')
      throw new CliError(`\`${segment}\` cannot name anything`);
    return `${text}${encodeURIComponent(segment)}${fixed}`;
  });
}

/** How long to wait before the next attempt: what the service asked for, else longer each time, with jitter. */
export function retryDelay(attempt: number, askedMs: number | undefined): number {
  return askedMs ?? Math.min(5_000, 250 * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Whether a call that failed so may succeed later: the service is busy, restarting, or out of reach. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return BUSY.has(error.body.status);
  const { code = '' } = ((error instanceof CliError ? error.cause : error) as NodeJS.ErrnoException | undefined) ?? {};
  return CUT.has(code) || AWAY.has(code) || code === 'ENOTFOUND';
}

/** Calls the service as the settings say: authorization, retries, errors, and what `--debug` shows. */
export class ApiClient {
  readonly #settings: Settings;
  readonly #options: ClientOptions;
  readonly #connections: Connections;

  constructor(settings: Settings, options: ClientOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#connections = openConnections(options.insecure);
  }

  close(): void {
    this.#connections.close();
  }

  /** The body of a 2xx answer, checked to be JSON, as text: parsing would alter large numbers. Empty for a 204. */
  async call(call: ApiCall): Promise<string> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(call);
      } catch (error) {
        if (this.#options.signal.aborted) throw new Interrupted();
        const wait = this.#waitBeforeRetry(call.retry, error, attempt);
        if (wait === undefined) throw this.#explain(error, call.on);
        if (this.#options.verbose)
          this.#options.terminal.note(`${(error as Error).message}; again in ${Math.ceil(wait)} ms`);
        await this.pause(wait);
      }
    }
  }

  /** Passes a 2xx answer on as it comes in; what `take` throws for an answer that breaks off is explained, too. */
  async download<Result>(call: ApiCall, take: (answer: IncomingMessage) => Promise<Result>): Promise<Result> {
    const { terminal, signal, debug } = this.#options;
    const exchange = this.#exchange(call);
    if (debug) showRequest(terminal, exchange);
    try {
      const answer = await this.#connections.open(exchange, signal);
      const { statusCode: status = 0, statusMessage: reason = '', headers } = answer;
      if (status < 200 || status > 299) throw toApiError(await readAnswer(answer));
      if (debug) showAnswer(terminal, { status, reason, headers, text: '' });
      return await take(answer);
    } catch (error) {
      throw signal.aborted ? new Interrupted() : this.#explain(error, call.on);
    }
  }

  /** Waits, unless the user interrupts. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#options.signal }).catch(() => {
      throw new Interrupted();
    });
  }

  async #once(call: ApiCall): Promise<string> {
    const exchange = this.#exchange(call);
    const { terminal, signal, debug, verbose } = this.#options;
    if (debug) showRequest(terminal, exchange);
    const begun = performance.now();
    const answer = await this.#connections.send(exchange, signal);
    if (debug) showAnswer(terminal, answer);
    if (verbose) {
      const took = `${Math.round(performance.now() - begun)} ms`;
      terminal.note(
        `${call.method} ${exchange.url}: ${answer.status}, ${took}, request ${answer.headers['x-request-id'] ?? '?'}`,
      );
    }
    if (answer.status < 200 || answer.status > 299) throw toApiError(answer);
    if (answer.status !== 204 && !isJson(answer.text)) {
      throw new CliError(`the answer of ${this.#address(call.on)} is not JSON (status ${answer.status})`, undefined, [
        'is this the address of the service? see --endpoint; --debug shows the answer',
      ]);
    }
    return answer.text;
  }

  #exchange(call: ApiCall): Exchange {
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'svc' };
    if (this.#settings.token) headers.authorization = `Bearer ${this.#settings.token}`;
    if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey;
    if (call.ifMatch !== undefined) headers['if-match'] = call.ifMatch;
    if (call.body !== undefined) {
      headers['content-type'] = call.contentType ?? 'application/json';
      headers['content-length'] = String(Buffer.byteLength(call.body));
    }
    return {
      method: call.method,
      url: `${this.#address(call.on)}${call.path}`,
      headers,
      body: call.body,
      idleMs: call.idleMs,
    };
  }

  #address(on: ApiCall['on']): string {
    return on === 'audit' ? this.#settings.auditEndpoint : this.#settings.endpoint;
  }

  #waitBeforeRetry(retry: Retry, error: unknown, attempt: number): number | undefined {
    if (retry === 'never' || attempt + 1 >= ATTEMPTS) return undefined;
    if (error instanceof ApiError) {
      if (!BUSY.has(error.body.status)) return undefined;
      const wait = retryDelay(attempt, error.retryAfterMs);
      return wait <= LONGEST_WAIT_MS ? wait : undefined;
    }
    const code = (error as NodeJS.ErrnoException).code ?? '';
    return CUT.has(code) || (retry === 'patient' && AWAY.has(code)) ? retryDelay(attempt, undefined) : undefined;
  }

  /** A connection's failure in words that name the address and what to do. */
  #explain(error: unknown, on: ApiCall['on']): unknown {
    if (error instanceof CliError) return error;
    const address = this.#address(on);
    const { code = '', message } = error as NodeJS.ErrnoException;
    const fail = (text: string, hint: string) => new CliError(text, undefined, [hint], { cause: error });
    const check = 'check --endpoint, SVC_ENDPOINT and the profile';
    if (code === 'ENOTFOUND') return fail(`there is no host of the endpoint ${address}`, check);
    if (code === 'ECONNREFUSED') return fail(`nothing listens at ${address}`, `start the service, or ${check}`);
    if (AWAY.has(code)) return fail(`cannot reach ${address}: ${message || code}`, check);
    if (CUT.has(code)) return fail(`${address} closed the connection before it had answered`, 'try again');
    if (/CERT|SELF_SIGNED|TLS|SIGNATURE/.test(code)) {
      return fail(
        `the certificate of ${address} is not trusted: ${message}`,
        'NODE_EXTRA_CA_CERTS names your own authority; --insecure skips the check',
      );
    }
    if (code.startsWith('HPE_') || code === 'EPROTO' || code.startsWith('ERR_SSL')) {
      return fail(`${address} does not answer as HTTP should: ${message}`, 'http or https? see --endpoint');
    }
    return fail(`the call to ${address} failed: ${message || code}`, check);
  }
}

function toApiError(answer: RawAnswer): ApiError {
  const asked = Number(answer.headers['retry-after']);
  const retryAfterMs = answer.headers['retry-after'] !== undefined && asked >= 0 ? asked * 1000 : undefined;
  return new ApiError(readErrorBody(answer), retryAfterMs);
}

/** The Error body; where something else answered (a gateway, say), the little that its status tells. */
function readErrorBody({ status, reason, headers, text }: RawAnswer): ErrorBody {
  const body = (isJson(text) ? JSON.parse(text) : undefined) as Partial<ErrorBody> | null | undefined;
  if (typeof body?.message === 'string') return { ...body, status, message: body.message };
  const target = status >= 300 && status < 400 ? `, to ${headers.location ?? 'nowhere'}` : '';
  const id = headers['x-request-id'];
  return {
    status,
    message: `the service answered ${status} ${reason}${target}`,
    ...(typeof id === 'string' && { id }),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function showRequest(terminal: Terminal, { method, url, headers, body }: Exchange): void {
  terminal.note(
    [`> ${method} ${url}`, ...headerLines('>', headers), ...(body === undefined ? [] : [body.trimEnd()])].join('\n'),
  );
}

function showAnswer(terminal: Terminal, { status, reason, headers, text }: RawAnswer): void {
  terminal.note([`< ${status} ${reason}`, ...headerLines('<', headers), text.trimEnd()].join('\n'));
}

const headerLines = (mark: string, headers: Record<string, unknown>): string[] =>
  Object.entries(headers).map(
    ([name, value]) => `${mark} ${name}: ${name === 'authorization' ? '***' : String(value)}`,
  );
