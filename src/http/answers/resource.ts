import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Changed } from '../../commands/control-changes.js';
import type { IssuedKey } from '../../commands/key.js';
import { parseLink } from '../../contract/links.js';
import type { Read } from '../../model/control-events.js';
import { keyViewOf, type View, type ViewKind, viewOf } from '../../model/views.js';
import type { ResourcePage } from '../../queries/resource-list.js';
import { entityTag, isKnownTag } from '../requests/preconditions.js';
import { sendJsonTexts, sendNotModified } from '../server/streamed.js';
import { withCommas } from './envelope.js';

/** 201 when reads show the resource; 202 when it is made, but the wait for the views ran out. */
export function sendCreated(
  reply: FastifyReply,
  kind: ViewKind,
  { state, searchable }: Changed<object>,
  read: Read,
  more: object = {},
): void {
  const view = viewOf(kind, state, read);
  reply.code(searchable ? 201 : 202).header('location', hrefOf(view));
  sendView(reply, { ...view, ...more });
}

/** 200 when reads show the change; 202 when it is recorded, but the wait for the views ran out. */
export function sendChanged(
  reply: FastifyReply,
  kind: ViewKind,
  { state, searchable }: Changed<object>,
  read: Read,
): void {
  reply.code(searchable ? 200 : 202);
  sendView(reply, viewOf(kind, state, read));
}

function sendView(reply: FastifyReply, view: View): void {
  reply.header('etag', entityTag(Number(view.version)));
  sendJson(reply, JSON.stringify(view));
}

/**
 * A resource as the read model has it; 304 to whoever has this version. A resource that shows keys changes with each use of a
 * key, without another version: it is sent again.
 */
export function sendResource(reply: FastifyReply, text: string): void {
  const view = JSON.parse(text) as { readonly version: number; readonly keys?: unknown };
  const tag = entityTag(view.version);
  reply.header('etag', tag);
  if (view.keys === undefined && isKnownTag(reply.request, tag)) return sendNotModified(reply);
  sendJson(reply, text);
}

/** The list envelope. `next` goes on with the same request; of a POST with the same body. */
export function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  itemKind: string,
  { items, next }: ResourcePage,
  fetch: 'items' | 'links' = 'items',
): void {
  const [path = '', query = ''] = request.url.split('?');
  const links = [{ rel: 'self', href: request.url }];
  if (next !== undefined) {
    const parameters = new URLSearchParams(query);
    parameters.set('cursor', next);
    links.push({ rel: 'next', href: `${path}?${parameters}` });
  }
  const head = JSON.stringify({ kind: 'list', itemKind }).slice(0, -1);
  const shown = fetch === 'items' ? items : items.map((item) => JSON.stringify(hrefOf(JSON.parse(item))));
  reply.code(200);
  sendJsonTexts(reply, [`${head},"items":[`, ...withCommas(shown), `],"links":${JSON.stringify(links)}}`]);
}

export function sendJson(reply: FastifyReply, text: string): void {
  reply.header('content-type', 'application/json; charset=utf-8').send(text);
}

function hrefOf({ links }: View): string {
  const [self] = links as readonly { readonly href: string }[];
  return self?.href ?? '';
}

/** 201 when reads show the key; 202 when it is issued, and works, but the wait for the views ran out. */
export function sendIssuedKey(reply: FastifyReply, { state, searchable, key }: IssuedKey): void {
  const links = [{ rel: parseLink(state.principal)?.kind, href: state.principal }];
  reply
    .code(searchable ? 201 : 202)
    .header('location', state.principal)
    .header('cache-control', 'no-store');
  sendJson(reply, JSON.stringify({ kind: 'key', ...keyViewOf(state), links, key }));
}
