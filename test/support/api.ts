import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from './patience.js';
import type { TestService } from './service.js';

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  /** As it came, to compare byte for byte. */
  readonly text: string;
  readonly body: Body;
}

interface FieldFault {
  readonly pointer: string;
  readonly reason: string;
}

/** The Error body of the specification. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> & { readonly fields?: readonly FieldFault[] };
  readonly id: string;
}

export type Json = Readonly<Record<string, unknown>>;

/** What a test sends: an event, or something that only resembles one. */
export type Sent = Json | string | Uint8Array | readonly unknown[] | null | number | boolean;

export interface Event {
  readonly id: string;
  readonly resource: { readonly id?: string; readonly name?: string; readonly type?: string; readonly data?: Json };
  readonly eventTime: string;
  readonly eventTimeSent?: string;
  readonly postedTime: string;
  readonly receivedTime: string;
  readonly requestId: string;
  readonly context: Json & { readonly org: string; readonly name: string };
  readonly subject: Json;
  readonly action?: Json & { readonly type?: string };
  readonly result?: Json;
}

export interface Link {
  readonly rel: string;
  readonly href: string;
}

export interface EventPage {
  readonly kind: string;
  readonly itemKind: string;
  readonly items: readonly Event[];
  readonly query: Readonly<Record<string, string>>;
  readonly links: readonly Link[];
}

export interface EventEnvelope {
  readonly kind: string;
  readonly itemKind: string;
  readonly item: Event;
  readonly query: Readonly<Record<string, string>>;
  readonly links: readonly Link[];
}

export interface Acknowledgement {
  readonly id: string;
  readonly message: string;
}

export interface BulkResult {
  readonly kind: string;
  readonly items: readonly { index: number; status: number; id?: string; message?: string; error?: Refusal }[];
  readonly succeeded: number;
  readonly failed: number;
}

export interface OrgBody {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly version: number;
  readonly created: string;
  readonly lastModified: string;
  readonly links: readonly Link[];
  readonly serviceAccount: string;
  readonly key: string;
}

export type RequestHeaders = Readonly<Record<string, string>>;

/** How often it is asked again where the answer is that nothing could be decided. */
const ATTEMPTS = 3 * PATIENCE;

/** HTTP as any client speaks it, with one key. */
export class Api {
  constructor(
    readonly url: string,
    readonly key?: string,
  ) {}

  get<Body = EventPage>(path: string, headers: RequestHeaders = {}): Promise<Answer<Body>> {
    return this.send<Body>('GET', path, undefined, headers);
  }

  /** Text and bytes are sent as they are, all else as JSON. */
  post<Body = Acknowledgement>(path: string, body: Sent, headers: RequestHeaders = {}): Promise<Answer<Body>> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    return this.send<Body>('POST', path, raw ? body : JSON.stringify(body), {
      'content-type': 'application/json',
      ...headers,
    });
  }

  async send<Body>(
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers: RequestHeaders = {},
  ): Promise<Answer<Body>> {
    const authorization = this.key === undefined ? {} : { authorization: `Bearer ${this.key}` };
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(this.url + path, {
        method,
        headers: { ...authorization, ...headers },
        ...(body !== undefined && { body }),
      });
      const answered = answer<Body>(response.status, response.headers, await response.text());
      if (!isUnconfirmed(answered) || attempt === ATTEMPTS) return answered;
      await delay(1_000 * Number(answered.headers.get('retry-after')));
    }
  }

  /** `fetch` tidies a path before it sends it; this does not. */
  raw<Body = Refusal>(
    method: string,
    path: string,
    options: { headers?: RequestHeaders; body?: string | Uint8Array } = {},
  ): Promise<Answer<Body>> {
    const { hostname, port } = new URL(this.url);
    const authorization = this.key === undefined ? {} : { authorization: `Bearer ${this.key}` };
    return new Promise((resolve, reject) => {
      const sent = request(
        { hostname, port, method, path, headers: { ...authorization, ...options.headers }, agent: false },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const headers = new Headers();
            for (let at = 0; at < response.rawHeaders.length; at += 2) {
              headers.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '');
            }
            resolve(answer(response.statusCode ?? 0, headers, Buffer.concat(chunks).toString()));
          });
        },
      );
      sent.on('error', reject);
      sent.end(options.body);
    });
  }
}

/** Refused before anything was looked at, because a machine stood still for two seconds: to be asked again. */
function isUnconfirmed({ status, body }: Answer<unknown>): boolean {
  return status === 503 && (body as Partial<Refusal> | undefined)?.code === 'state_unconfirmed';
}

function answer<Body>(status: number, headers: Headers, text: string): Answer<Body> {
  const json = headers.get('content-type')?.startsWith('application/json') && text !== '';
  return { status, headers, text, body: (json ? JSON.parse(text) : undefined) as Body };
}

export interface PublishOptions {
  readonly context?: string;
  readonly async?: boolean;
  readonly idempotencyKey?: string;
  readonly headers?: RequestHeaders;
}

/** An organization and its first key. */
export class Org {
  readonly api: Api;
  readonly audit: string;

  constructor(
    url: string,
    readonly name: string,
    readonly key: string,
  ) {
    this.api = new Api(url, key);
    this.audit = `/audit/org/${name}`;
  }

  publish<Body = Acknowledgement>(event: Sent, options: PublishOptions = {}): Promise<Answer<Body>> {
    return this.api.post<Body>(this.contextPath('', options), event, headersOf(options));
  }

  bulk<Body = BulkResult>(items: Sent, options: PublishOptions = {}): Promise<Answer<Body>> {
    return this.api.post<Body>(this.contextPath('/-bulk', options), items, headersOf(options));
  }

  /** Publishes, and answers the event as it is read by its identifier. */
  async published(event: Sent, options: PublishOptions = {}): Promise<Event> {
    const { status, body, text } = await this.publish(event, options);
    if (status !== 201 && status !== 202) throw new Error(`the publish answered ${status}: ${text}`);
    return (await this.event(body.id)).body.item;
  }

  event<Body = EventEnvelope>(id: string): Promise<Answer<Body>> {
    return this.api.get<Body>(`${this.audit}/id/${encodeURIComponent(id)}`);
  }

  /** The organization's own list; `query` with or without question mark. */
  list<Body = EventPage>(query: Readonly<Record<string, string>> = {}): Promise<Answer<Body>> {
    return this.api.get<Body>(withQuery(this.audit, query));
  }

  named<Body = EventPage>(name: string, query: Readonly<Record<string, string>> = {}): Promise<Answer<Body>> {
    return this.api.get<Body>(withQuery(`${this.audit}/resource/name/${encodeURIComponent(name)}`, query));
  }

  /** Every event of the list, page by page along the `next` links; calls `between` before each further page. */
  async walk(path: string, between: () => Promise<unknown> = async () => undefined): Promise<Event[]> {
    const events: Event[] = [];
    for (let at: string | undefined = path; at !== undefined; ) {
      const { status, body, text }: Answer<EventPage> = await this.api.get(at);
      if (status !== 200) throw new Error(`${at} answered ${status}: ${text}`);
      events.push(...body.items);
      at = linkOf(body, 'next');
      if (at !== undefined) await between();
    }
    return events;
  }

  private contextPath(suffix: string, { context = 'app', async }: PublishOptions): string {
    return `${this.audit}/auditctx/${context}${suffix}${async === undefined ? '' : `?async=${async}`}`;
  }
}

function headersOf({ idempotencyKey, headers = {} }: PublishOptions): RequestHeaders {
  return { ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }), ...headers };
}

export function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

export function linkOf({ links }: { readonly links: readonly Link[] }, rel: string): string | undefined {
  return links.find((link) => link.rel === rel)?.href;
}

/** Audit events that every organization has from the beginning: of itself, its account and key, and what is built in. */
export const EVENTS_OF_A_NEW_ORG = 7;

let made = 0;

/** An organization of its own, so that a test sees nobody else's events. */
export async function newOrg(service: TestService): Promise<Org> {
  made += 1;
  const name = `org-${made}`;
  const { status, body, text } = await new Api(service.url, service.rootKey).post<OrgBody>('/org', { name });
  if (status !== 201) throw new Error(`POST /org answered ${status}: ${text}`);
  return new Org(service.url, name, body.key);
}

/** The same organization at another address, as after a restart. */
export function at(service: TestService, { name, key }: Org): Org {
  return new Org(service.url, name, key);
}

/** The pointers of all faults, sorted. */
export function pointers({ body }: Answer<Refusal>): string[] {
  return (body.details.fields ?? []).map(({ pointer }) => pointer).sort();
}

/** An instant so many milliseconds from now. */
export function fromNow(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

export const MINUTE = 60_000;

/** JSON arrays, so many within each other. */
export function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}
