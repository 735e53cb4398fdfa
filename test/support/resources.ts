import {
  type Answer,
  type Json,
  type Link,
  linkOf,
  type Org,
  type Refusal,
  type RequestHeaders,
  type Sent,
} from './api.js';

/** A control resource as it is answered; an Error body where the answer is one. */
export type Resource = Refusal &
  Readonly<Record<string, unknown>> & {
    readonly kind: string;
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly tags: Readonly<Record<string, string>>;
    readonly version: number;
    readonly created: string;
    readonly lastModified: string;
    readonly links: readonly Link[];
  };

export interface ResourceList<Item = Resource> {
  readonly kind: string;
  readonly itemKind: string;
  readonly items: readonly Item[];
  readonly links: readonly Link[];
}

/** The resources of one kind in an organization. */
export class Resources<Body = Resource> {
  readonly path: string;

  constructor(
    readonly org: Org,
    kind: string,
  ) {
    this.path = `/org/${org.name}/${kind}`;
  }

  create(body: Sent, headers: RequestHeaders = {}): Promise<Answer<Body>> {
    return this.org.api.post<Body>(this.path, body, headers);
  }

  get(ref: string): Promise<Answer<Body>> {
    return this.org.api.get<Body>(this.at(ref));
  }

  patch(ref: string, body: Sent, headers: RequestHeaders = {}): Promise<Answer<Body>> {
    return this.change('PATCH', ref, body, headers);
  }

  put(ref: string, body: Sent, headers: RequestHeaders = {}): Promise<Answer<Body>> {
    return this.change('PUT', ref, body, headers);
  }

  delete(ref: string, headers: RequestHeaders = {}): Promise<Answer<Refusal>> {
    return this.org.api.send('DELETE', this.at(ref), undefined, headers);
  }

  list(query = ''): Promise<Answer<ResourceList<Body>>> {
    return this.org.api.get(this.path + query);
  }

  query<Item = Body>(body: Json, query = ''): Promise<Answer<ResourceList<Item> & Refusal>> {
    return this.org.api.post(`${this.path}/-query${query}`, body);
  }

  /** Every item of a query, along its `next` links; calls `between` before each further page. */
  async queryAll(body: Json, query = '', between = async () => {}): Promise<Body[]> {
    const items: Body[] = [];
    for (let at: string | undefined = `${this.path}/-query${query}`; at !== undefined; ) {
      const answer: Answer<ResourceList<Body>> = await this.org.api.post(at, body);
      if (answer.status !== 200) throw new Error(`${at} answered ${answer.status}: ${answer.text}`);
      items.push(...answer.body.items);
      at = linkOf(answer.body, 'next');
      if (at !== undefined) await between();
    }
    return items;
  }

  at(ref: string): string {
    return `${this.path}/${encodeURIComponent(ref)}`;
  }

  private change(method: string, ref: string, body: Sent, headers: RequestHeaders): Promise<Answer<Body>> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.org.api.send(method, this.at(ref), text, { 'content-type': 'application/json', ...headers });
  }
}
