import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { linkTo } from '../contract/links.js';
import type { Reach } from '../model/access.js';
import type { QuerySpec } from '../model/query.js';
import type { ViewKind } from '../model/views.js';
import type { Document } from '../read-model/document.js';
import type { Cursor, Order } from '../read-model/search.js';
import { Cursors } from './cursor.js';
import { PAGE_BYTES, type Reading, Readings } from './reading.js';

export const BY_NAME: Order = { field: 'name', direction: 'ascending' };

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
    private readonly readings: Readings,
    private readonly cursors: Cursors,
  ) {}

  async execute({ kind, org, options }: ListResources): Promise<ResourcePage> {
    const { limit, cursor, reach } = options;
    const isVisible = ({ id }: Document) => reach === 'all' || reach.has(linkTo(org, kind, id));
    const wanted = { limit, isWanted: isVisible, ...(cursor !== undefined && { cursor }) };
    return pageByName(this.readings.begin(org), this.cursors, kind, org, wanted);
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
  reading: Reading,
  cursors: Cursors,
  kind: ViewKind,
  org: string,
  { limit, cursor: given, isWanted, spec = {} }: Wanted,
): Promise<ResourcePage> {
  const scope = { org, filters: [], order: BY_NAME, of: { kind, spec } };
  const start = given === undefined ? undefined : cursors.decode(scope, given);
  const items: string[] = [];
  let bytes = 0;
  let last = start;
  let next: Cursor | undefined;
  const look = (document: Document) => {
    if (!isWanted(document)) return 'on';
    if (items.length === limit || bytes >= PAGE_BYTES) {
      next = last;
      return 'enough';
    }
    items.push(document.source);
    bytes += Buffer.byteLength(document.source);
    last = { after: [document.id, document.id] };
    return 'on';
  };
  await reading.each(kind, look, { start, first: limit + 1 });
  return { items, ...(next && { next: cursors.encode(scope, next) }) };
}
