import { type ApiCall, type ApiClient, path } from '../../../client/api-client.js';

/** The calls on the resources of a kind in an organization. Requests and responses are JSON texts. */
export interface ResourceCalls {
  get(ref: string): Promise<string>;
  create(body: string): Promise<string>;
  /** Merges the body into the resource (RFC 7396). */
  patch(ref: string, body: string, version?: number): Promise<string>;
  delete(ref: string): Promise<void>;
  /** What a resource has besides itself, or without `ref` its kind. */
  list(what: string, ref?: string): Promise<string>;
  /** An action on one resource, or without `ref` on the kind, done once however often it is sent. */
  act(action: string, body: object, ref?: string): Promise<string>;
}

/** All are retried if the service is busy: a merge done twice is the same, and a creation carries an idempotency key. */
export function resourceCalls(client: ApiClient, org: string, segment: string): ResourceCalls {
  const all = path`/org/${org}/${segment}`;
  const one = (ref: string) => all + path`/${ref}`;
  const call = (method: ApiCall['method'], at: string, more: Partial<ApiCall> = {}) =>
    client.call({ method, path: at, on: 'api', retry: 'safe', ...more });
  return {
    get: (ref) => call('GET', one(ref)),
    create: (body) => call('POST', all, { body, idempotencyKey: crypto.randomUUID() }),
    patch: (ref, body, version) =>
      call('PATCH', one(ref), { body, ...(version !== undefined && { ifMatch: `"${version}"` }) }),
    delete: async (ref) => {
      await call('DELETE', one(ref));
    },
    list: (what, ref) => call('GET', `${ref === undefined ? all : one(ref)}/${what}`),
    act: (action, body, ref) =>
      call('POST', `${ref === undefined ? all : one(ref)}/${action}`, {
        body: JSON.stringify(body),
        idempotencyKey: crypto.randomUUID(),
      }),
  };
}
