import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, path, retryDelay } from './api-client.js';
import type { EventFilters, NewAuditEvent, RecordedEvent } from './api-types.js';
import { type DeliveryHooks, deliver } from './delivery.js';
import { ClientError, Interrupted, SpoolError } from './errors.js';
import { nextOf, PAGE_SIZE, queryText, readPage } from './pages.js';
import { jsonOf, lineOf } from './recorded-line.js';
import { Spool, type SpoolOptions } from './spool.js';
import { Tail, type TailOptions } from './tail.js';

export interface AuditOptions extends DeliveryHooks {
  /** The address of the service, such as `https://audit.example.com`. */
  readonly endpoint: string;
  /** A key that may write the audit context, and for lists read it. */
  readonly key: string;
  readonly org: string;
  /** The audit context that events are published into. */
  readonly context: string;
  /** Where `record` keeps events until the service has them. */
  readonly spool?: SpoolOptions | undefined;
  /** Accepts any TLS certificate; default false. */
  readonly insecure?: boolean;
}

export interface PublishOptions {
  /** `durable`: until the event is in the log. `searchable`: until lists have it, too. Default `durable`. */
  readonly wait?: 'durable' | 'searchable';
  /** Of several publishes with the same key, one becomes an event. Default: a new key. */
  readonly idempotencyKey?: string;
}

const ATTEMPTS = 6;
const CLOSE_MS = 5_000;
const FOR_EVER = 2 ** 31 - 1;

/** Publishes audit events of one organization into one context, and reads them. */
export class AuditClient {
  readonly #options: AuditOptions;
  readonly #context: string;
  readonly #ended = new AbortController();
  readonly #api: ApiClient;
  readonly #spool: Promise<Spool>;
  readonly #delivered: Promise<void>;

  /** With a spool, what an earlier process left there is delivered from now on. */
  constructor(options: AuditOptions) {
    this.#options = options;
    this.#context = path`/audit/org/${options.org}/auditctx/${options.context}`;
    this.#api = this.#connect(this.#ended.signal);
    this.#spool = this.#openSpool();
    this.#delivered = this.#spool.then(
      (spool) => deliver(this.#api, spool, options, this.#ended.signal),
      // Whoever uses the spool is told.
      () => undefined,
    );
  }

  /** Resolves when the spool is open; throws `SpoolError` if it cannot be. A service calls it when it starts. */
  async ready(): Promise<void> {
    await this.#spool;
  }

  /**
   * Records an event on disk and returns; it is published in the background, once, after any outage and after a restart. Gives it
   * its time, if it has none; if the service refuses that, the event gets the time of its arrival. Throws `SpoolError` if the
   * event is not recorded.
   */
  async record(event: NewAuditEvent, { idempotencyKey = randomUUID() as string } = {}): Promise<void> {
    const line = lineOf(event, idempotencyKey);
    const spool = await this.#spool;
    await spool.append(line);
  }

  /** Resolves when the service has, or has refused, everything that was recorded before. Throws `SpoolError` after `timeoutMs`. */
  async flush({ timeoutMs = FOR_EVER } = {}): Promise<void> {
    const spool = await this.#spool;
    const done = new AbortController();
    // The timer keeps the process, which nothing else does while the service is away.
    const late = sleep(timeoutMs, undefined, { signal: done.signal }).then(() => {
      throw new SpoolError(
        'late',
        `the spool ${spool.folder} was not delivered within ${timeoutMs} ms; its events wait there`,
      );
    });
    await Promise.race([spool.settled(), late]).finally(() => done.abort());
  }

  /**
   * Publishes an event and returns its identifier. Retries what may pass, for about 10 seconds or as the service asks; the event
   * is recorded once however often it was sent. Throws `ApiError` if the service refuses it, `ConnectionError` if there is no
   * way to the service: then whether it is recorded is unknown, and repeating it with its idempotency key is safe.
   */
  async publish(event: NewAuditEvent, options: PublishOptions = {}): Promise<{ readonly id: string }> {
    const { wait = 'durable', idempotencyKey = randomUUID() } = options;
    const at = `${this.#context}?async=${wait === 'durable'}`;
    const body = jsonOf(event);
    for (let attempt = 0; ; attempt++) {
      const call = { method: 'POST', path: at, on: 'audit', body, idempotencyKey, retry: 'patient' } as const;
      const { status, text } = await this.#api.send(call);
      const { id } = JSON.parse(text) as { id: string };
      // 202 in place of 201: the event is recorded, and was not searchable in time. The same key waits for the same event.
      if (wait === 'durable' || status === 201) return { id };
      if (attempt + 1 >= ATTEMPTS) throw new ClientError(`the event ${id} is recorded, but is not searchable yet`);
      await this.#api.pause(retryDelay(attempt, undefined));
    }
  }

  /** One event of the organization. Throws `ApiError` with the code `not_found` if there is none. */
  async get(id: string): Promise<RecordedEvent> {
    const at = path`/audit/org/${this.#options.org}/id/${id}`;
    const envelope = await this.#api.call({ method: 'GET', path: at, on: 'audit', retry: 'safe' });
    return (JSON.parse(envelope) as { item: RecordedEvent }).item;
  }

  /**
   * The events of the context, newest first by their time. With a `contextName` of its own, or `undefined` for all, also those of
   * other contexts of the organization. Reads the next page when the loop gets there.
   */
  async *list(filters: EventFilters = {}): AsyncGenerator<RecordedEvent, void, undefined> {
    let at: string | undefined = this.#listPath({ ...filters, pageSize: `${PAGE_SIZE}` });
    while (at !== undefined) {
      const page = await readPage<RecordedEvent>(this.#api, at);
      yield* page.items;
      at = nextOf(page, at);
    }
  }

  /** The events from now on, or after a position, in the order that the service received them, until it is stopped. */
  tail(options: TailOptions = {}): Tail {
    const { filters, signal } = options;
    const start = this.#listPath({ ...filters, order: 'received', last: '0', pageSize: `${PAGE_SIZE}` });
    const ended = this.#ended.signal;
    return new Tail(this.#connect(signal ? AbortSignal.any([ended, signal]) : ended), start, options);
  }

  /**
   * Records nothing more, gives the spool `flushMs` (default 5 s) to be delivered, and ends all calls and iterations. What is left is
   * delivered by the next process that opens the folder.
   */
  async close({ flushMs = CLOSE_MS } = {}): Promise<void> {
    const spool = await this.#spool.catch(() => undefined);
    spool?.seal();
    if (spool) await this.flush({ timeoutMs: flushMs }).catch(() => undefined);
    this.#ended.abort(new Interrupted());
    spool?.stop();
    await this.#delivered;
    await spool?.close();
    this.#api.close();
  }

  async #openSpool(): Promise<Spool> {
    const { spool } = this.#options;
    if (spool) return Spool.open(spool, this.#context);
    throw new SpoolError('none', 'there is no spool to record in: give the client a folder, { spool: { folder } }');
  }

  #listPath(query: Readonly<Record<string, string | undefined>>): string {
    const { org, context } = this.#options;
    return path`/audit/org/${org}` + queryText({ contextName: context, ...query });
  }

  #connect(signal: AbortSignal): ApiClient {
    const { endpoint, key, insecure = false } = this.#options;
    const address = endpoint.replace(/\/+$/, '');
    return new ApiClient({ endpoint: address, auditEndpoint: address, token: key, insecure, signal });
  }
}
