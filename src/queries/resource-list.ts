import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { Reach } from '../model/access.js';
import { linkTo } from '../model/links.js';
import type { QuerySpec } from '../model/query.js';
import type { ViewKind } from '../model/views.js';
import type { Document } from '../read-model/document.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Cursor, Order } from '../read-model/search.js';
import { READ_MODEL } from '../tokens.js';
import { Cursors } from './cursor.js';

const BY_NAME: Order = { field: 'name', direction: 'ascending' };
const READ_AT_ONCE = 1000;

export interface ResourcePage {
  /** JSON texts of the resources. */
  readonly items: readonly string[];
  /** Set while there is more. */
  readonly next?: string;
}

/** The resources of a kind that the caller may view, by name. */
export class ListResources extends Query<ResourcePage> {
  constructor(
    readonly kind: Exclude<ViewKind, 'org'>,
    readonly org: string,
    readonly options: { readonly limit: number; readonly cursor?: string; readonly reach: Reach },
  ) {
    super();
  }
}

@QueryHandler(ListResources)
export class ListResourcesHandler implements IQueryHandler<ListResources> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    private readonly cursors: Cursors,
  ) {}

  async execute({ kind, org, options }: ListResources): Promise<ResourcePage> {
    const { limit, cursor, reach } = options;
    const isVisible = ({ id }: Document) => reach === 'all' || reach.has(linkTo(org, kind, id));
    const { items, next } = await pageByName(this.model, this.cursors, kind, org, {
      limit,
      isWanted: isVisible,
      ...(cursor !== undefined && { cursor }),
    });
    return { items: items.map(({ source }) => source), ...(next !== undefined && { next }) };
  }
}

interface Wanted {
  readonly limit: number;
  readonly cursor?: string;
  readonly isWanted: (document: Document) => boolean;
  /** What the list is of, besides its kind: a cursor of one is void for another. */
  readonly spec?: QuerySpec;
}

/** By name, those that are wanted: a page of them, and where to go on while there are more. */
export async function pageByName(
  model: ReadModel,
  cursors: Cursors,
  kind: ViewKind,
  org: string,
  { limit, cursor: given, isWanted, spec = {} }: Wanted,
): Promise<{ readonly items: readonly Document[]; readonly next?: string }> {
  const scope = { org, filters: [], order: BY_NAME, of: { kind, spec } };
  const items: Document[] = [];
  let cursor: Cursor | undefined = given === undefined ? undefined : cursors.decode(scope, given);
  for await (const document of documentsFrom(model, kind, org, cursor, Math.min(limit + 1, READ_AT_ONCE))) {
    if (!isWanted(document)) continue;
    if (items.length === limit) return { items, ...(cursor && { next: cursors.encode(scope, cursor) }) };
    items.push(document);
    cursor = { after: [document.id, document.id] };
  }
  return { items };
}

/** All resources of the kind, by name: so many at first, as all that the reader may want, and then many at once. */
export async function* documentsFrom(
  model: ReadModel,
  kind: ViewKind,
  org: string,
  start?: Cursor,
  first = READ_AT_ONCE,
): AsyncGenerator<Document> {
  let limit = first;
  for (let cursor = start; ; limit = READ_AT_ONCE) {
    const page = await model.search(kind, { org, filters: [], order: BY_NAME, limit, ...(cursor && { cursor }) });
    yield* page.items;
    if (!page.more || !page.cursor) return;
    cursor = page.cursor;
  }
}
