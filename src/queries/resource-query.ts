import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { Reach } from '../model/access.js';
import { linkTo } from '../model/links.js';
import { type Candidate, compareSortKeys, compareText, matches, type QuerySpec, sortKeyOf } from '../model/query.js';
import type { ViewKind } from '../model/views.js';
import type { Document } from '../read-model/document.js';
import type { ReadModel } from '../read-model/read-model.js';
import { READ_MODEL } from '../tokens.js';
import { Cursors, type SortedPlace } from './cursor.js';
import { type MayView, type Relation, relationsOf } from './relations.js';
import { documentsFrom, pageByName, type ResourcePage } from './resource-list.js';

/** The resources of a kind that match, and that the caller may view: by name, or as `sort` says. */
export class QueryResources extends Query<ResourcePage> {
  constructor(
    readonly kind: Exclude<ViewKind, 'org'>,
    readonly org: string,
    readonly spec: QuerySpec,
    readonly options: {
      readonly limit: number;
      readonly cursor?: string;
      readonly reach: Reach;
      /** What relations may be asked about. */
      readonly mayView: MayView;
    },
  ) {
    super();
  }
}

@QueryHandler(QueryResources)
export class QueryResourcesHandler implements IQueryHandler<QueryResources> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    private readonly cursors: Cursors,
  ) {}

  async execute(query: QueryResources): Promise<ResourcePage> {
    const { kind, org, spec, options } = query;
    const related = await relationsOf(this.model, kind, org, spec, options.mayView);
    const isWanted = (document: Document) =>
      isVisible(query, document) && matches(spec, candidateOf(document, related));
    if (spec.sort) return this.sorted(query, spec.sort, isWanted);
    const { limit, cursor } = options;
    const { items, next } = await pageByName(this.model, this.cursors, kind, org, {
      limit,
      isWanted,
      spec,
      ...(cursor !== undefined && { cursor }),
    });
    return { items: items.map(({ source }) => source), ...(next !== undefined && { next }) };
  }

  /** All that match are sorted at once: an organization has as many resources of a kind as a process can hold. */
  private async sorted(
    { kind, org, spec, options: { limit, cursor } }: QueryResources,
    { by, order = 'asc' }: NonNullable<QuerySpec['sort']>,
    isWanted: (document: Document) => boolean,
  ): Promise<ResourcePage> {
    const found: (SortedPlace & { readonly source: string })[] = [];
    for await (const document of documentsFrom(this.model, kind, org)) {
      if (!isWanted(document)) continue;
      const { id: name, source } = document;
      found.push({ value: sortKeyOf(JSON.parse(source), by), name, source });
    }
    found.sort((a, b) => comparePlaces(a, b, order));
    const scope = { kind, org, spec };
    const after = cursor === undefined ? undefined : this.cursors.decodePlace(scope, cursor);
    const left = after ? found.filter((one) => comparePlaces(one, after, order) > 0) : found;
    const page = left.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page.map(({ source }) => source),
      ...(last && left.length > limit && { next: this.cursors.encodePlace(scope, last) }),
    };
  }
}

/** Equals are ordered by name. Those without the property come last either way. */
function comparePlaces(a: SortedPlace, b: SortedPlace, order: 'asc' | 'desc'): number {
  if (a.value === undefined || b.value === undefined) {
    return Number(a.value === undefined) - Number(b.value === undefined) || compareText(a.name, b.name);
  }
  const compared = compareSortKeys(a.value, b.value);
  return (order === 'asc' ? compared : -compared) || compareText(a.name, b.name);
}

function isVisible({ kind, org, options: { reach } }: QueryResources, { id }: Document): boolean {
  return reach === 'all' || reach.has(linkTo(org, kind, id));
}

function candidateOf({ id, source }: Document, related: Relation): Candidate {
  const resource = JSON.parse(source) as Record<string, unknown>;
  return { resource, related: (_rel, value) => related(id, resource, value) };
}
