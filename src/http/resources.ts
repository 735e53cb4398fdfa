import type { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ChangeRequest } from '../commands/control-changes.js';
import { LIMITS } from '../contract/limits.js';
import { parseLink } from '../contract/links.js';
import type { ControlState } from '../control/state.js';
import { TARGET_KINDS } from '../model/permission.js';
import type { ViewKind } from '../model/views.js';
import { GetResource } from '../queries/resource-get.js';
import { ListResources } from '../queries/resource-list.js';
import { QueryResources } from '../queries/resource-query.js';
import { compileShape } from '../shapes/compiled.js';
import { ResourceListDto } from '../shapes/resource.js';
import { sendList, sendResource } from './answers/resource.js';
import { authorityOf, callerOf } from './caller.js';
import { checkIdempotencyKey, checkQuery, isDocument, noParameters } from './errors/request-faults.js';
import { checkQueryBody } from './requests/query.js';

const listFaults = compileShape(ResourceListDto);

export interface OrgPath {
  readonly org: string;
}

export interface RefPath extends OrgPath {
  readonly ref: string;
}

/** Of every change of a control resource. */
export const CHANGE_ERRORS = ['conflict', 'log_unavailable', 'outcome_unknown'] as const;

type ListedKind = Exclude<ViewKind, 'org'>;

/** The resources of the kind that the caller may view, by name. */
export async function listResources(
  queries: QueryBus,
  kind: ListedKind,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { org } = request.params as OrgPath;
  const options = { ...pageAsked(request), reach: request.reach };
  sendList(request, reply, kind, await queries.execute(new ListResources(kind, org, options)));
}

/** The resources of the kind that match the body, and that the caller may view. */
export async function queryResources(
  queries: QueryBus,
  state: ControlState,
  kind: ListedKind,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { org } = request.params as OrgPath;
  const { spec, fetch } = checkQueryBody(request, kind);
  const options = { ...pageAsked(request), reach: request.reach, mayView: viewableBy(request, state) };
  sendList(request, reply, kind, await queries.execute(new QueryResources(kind, org, spec, options)), fetch);
}

/** The resource that the path names. */
export async function getResource(
  queries: QueryBus,
  kind: ViewKind,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { org, ref } = request.params as RefPath;
  checkQuery(noParameters, request);
  sendResource(reply, await queries.execute(new GetResource(kind, org, ref)));
}

/** Who asks, for which organization; of a POST also how a retry is known. */
export function changeRequest(request: FastifyRequest): ChangeRequest {
  const { org } = request.params as OrgPath;
  const by = callerOf(request);
  const authority = authorityOf(request);
  const idempotencyKey = request.method === 'POST' ? checkIdempotencyKey(request) : undefined;
  if (idempotencyKey === undefined) return { org, by, authority };
  const body = isDocument(request.body) ? request.body.value : null;
  return { org, by, authority, idempotencyKey, request: { path: `${request.method} ${request.url}`, body } };
}

/** `limit` and `cursor` of a list. */
export function pageAsked(request: FastifyRequest): { readonly limit: number; readonly cursor?: string } {
  const { limit, cursor } = checkQuery<ResourceListDto>(listFaults, request);
  return { limit: limit === undefined ? LIMITS.page.usual : Number(limit), ...(cursor !== undefined && { cursor }) };
}

/** Whether the caller may view what a link of the organization names. */
function viewableBy(request: FastifyRequest, state: ControlState): (link: string) => boolean {
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
