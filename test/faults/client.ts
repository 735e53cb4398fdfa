/** What the tests of this folder need of the API; whole texts, because "the same answer" means the same bytes. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Link {
  readonly rel: string;
  readonly href: string;
}

export interface Event {
  readonly id: string;
  readonly context: { readonly name: string };
  readonly resource: Resource;
  readonly action?: { readonly type?: string };
}

export interface Resource {
  readonly name?: string;
  readonly id?: string;
  readonly type?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface Page {
  readonly text: string;
  readonly items: readonly Event[];
  readonly links: readonly Link[];
}

export class Client {
  constructor(
    readonly url: string,
    readonly key: string,
  ) {}

  async get(path: string): Promise<Answer> {
    return answerOf(await fetch(this.url + path, { headers: { authorization: `Bearer ${this.key}` } }));
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('POST', path, body, headers);
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const all = { authorization: `Bearer ${this.key}`, ...type, ...headers };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return answerOf(await fetch(this.url + path, { method, headers: all, body: text ?? null }));
  }

  /** Publishes one event; the answer's identifier, or an error that has the whole answer. */
  async publish(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const answer = await this.post(path, body, headers);
    if (answer.status !== 201 && answer.status !== 202) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return bodyOf<{ id: string }>(answer).id;
  }

  /** All pages from `path` on, through their `next` links. */
  async *pages(path: string): AsyncGenerator<Page> {
    for (let next: string | undefined = path; next !== undefined; ) {
      const answer = await this.get(next);
      if (answer.status !== 200) throw new Error(`${next}: ${answer.status} ${answer.text}`);
      const page = bodyOf<Omit<Page, 'text'>>(answer);
      yield { ...page, text: answer.text };
      next = page.links.find(({ rel }) => rel === 'next')?.href;
    }
  }

  async all(path: string): Promise<Event[]> {
    const events: Event[] = [];
    for await (const { items } of this.pages(path)) events.push(...items);
    return events;
  }

  /** Makes an organization; a client with its key. Needs the root key. */
  async org(name: string, headers: Readonly<Record<string, string>> = {}): Promise<Client> {
    const answer = await this.post('/org', { name }, headers);
    if (answer.status !== 201) throw new Error(`POST /org: ${answer.status} ${answer.text}`);
    return new Client(this.url, bodyOf<{ key: string }>(answer).key);
  }
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export function bodyOf<Body>(answer: Answer): Body {
  return JSON.parse(answer.text) as Body;
}

/** The events of a page as the bytes that came, numbers digit for digit, without the page's links. */
export function itemsText(page: { readonly text: string }): string {
  const start = page.text.indexOf('"items":[') + '"items":['.length;
  return page.text.slice(start, page.text.lastIndexOf('],"query":{'));
}
