import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ChangeRequest } from '../commands/control-changes.js';
import type { ControlState } from '../commands/control-state.js';
import { parseLink } from '../model/links.js';
import { TARGET_KINDS } from '../model/permission.js';
import type { View } from '../model/views.js';
import type { ResourcePage } from '../queries/resource-list.js';
import { callerOf } from './caller.js';
import { compileShape } from './dto/compiled.js';
import { ResourceListDto } from './dto/resource.js';
import { entityTag } from './preconditions.js';
import { checkIdempotencyKey, checkQuery, isDocument } from './request-faults.js';

const listFaults = compileShape(ResourceListDto);

const PAGE_SIZE = 50;

export interface OrgPath {
  readonly org: string;
}

export interface RefPath extends OrgPath {
  readonly ref: string;
}

export const ORG_PATH = { org: 'name of the organization' };

/** Who asks, for which organization; of a POST also how a retry is known. */
export function changeRequest(request: FastifyRequest): ChangeRequest {
  const { org } = request.params as OrgPath;
  const by = callerOf(request);
  const idempotencyKey = request.method === 'POST' ? checkIdempotencyKey(request) : undefined;
  if (idempotencyKey === undefined) return { org, by };
  const body = isDocument(request.body) ? request.body.value : null;
  return { org, by, idempotencyKey, request: { path: `${request.method} ${request.url}`, body } };
}

/** Whether the caller may view what a link of the organization names. */
export function viewableBy(request: FastifyRequest, state: ControlState): (link: string) => boolean {
  const { principal } = request;
  if (!principal) return () => false;
  const rules = state.rules(principal.org);
  return (link) => {
    const { kind } = parseLink(link) ?? {};
    const target = TARGET_KINDS.find((one) => one === kind);
    const reach = target && rules.reach(principal.link, target, 'view');
    return reach === 'all' || (reach?.has(link) ?? false);
  };
}

/** `limit` and `cursor` of a list. */
export function pageOf(request: FastifyRequest): { readonly limit: number; readonly cursor?: string } {
  const { limit, cursor } = checkQuery<ResourceListDto>(listFaults, request);
  return { limit: limit === undefined ? PAGE_SIZE : Number(limit), ...(cursor !== undefined && { cursor }) };
}

/** 201 when reads show the resource; 202 when it is made, but the wait for the views ran out. */
export function sendCreated(reply: FastifyReply, view: View, searchable: boolean, more: object = {}): void {
  reply.code(searchable ? 201 : 202).header('location', hrefOf(view));
  sendView(reply, { ...view, ...more });
}

/** 200 when reads show the change; 202 when it is recorded, but the wait for the views ran out. */
export function sendChanged(reply: FastifyReply, view: View, searchable: boolean): void {
  reply.code(searchable ? 200 : 202);
  sendView(reply, view);
}

function sendView(reply: FastifyReply, view: View): void {
  reply.header('etag', entityTag(Number(view.version)));
  sendJson(reply, JSON.stringify(view));
}

/** A resource as the read model has it. */
export function sendResource(reply: FastifyReply, text: string): void {
  const { version } = JSON.parse(text) as { version: number };
  reply.header('etag', entityTag(version));
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
  sendJson(reply, `${head},"items":[${shown.join(',')}],"links":${JSON.stringify(links)}}`);
}

export function sendJson(reply: FastifyReply, text: string): void {
  reply.header('content-type', 'application/json; charset=utf-8').send(text);
}

function hrefOf({ links }: View): string {
  const [self] = links as readonly { readonly href: string }[];
  return self?.href ?? '';
}
