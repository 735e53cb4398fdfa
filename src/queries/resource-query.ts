import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { linkTo } from '../contract/links.js';
import type { Reach } from '../model/access.js';
import { type Candidate, compareSortKeys, compareText, matches, type QuerySpec, sortKeyOf } from '../model/query.js';
import type { ViewKind } from '../model/views.js';
import type { Document } from '../read-model/document.js';
import { Cursors, type SortedPlace } from './cursor.js';
import { PAGE_BYTES, type Reading, Readings } from './reading.js';
import { type MayView, type Relation, relationsOf } from './relations.js';
import { pageByName, type ResourcePage } from './resource-list.js';

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
    private readonly readings: Readings,
    private readonly cursors: Cursors,
  ) {}

  async execute(query: QueryResources): Promise<ResourcePage> {
    const { kind, org, spec, options } = query;
    const reading = this.readings.begin(org);
    const related = await relationsOf(reading, kind, org, spec, options.mayView);
    const isWanted = (document: Document) =>
      isVisible(query, document) && matches(spec, candidateOf(document, related));
    if (spec.sort) return this.sorted(reading, query, spec.sort, isWanted);
    const { limit, cursor } = options;
    const wanted = { limit, isWanted, spec, ...(cursor !== undefined && { cursor }) };
    return pageByName(reading, this.cursors, kind, org, wanted);
  }

  /** All that match are looked at, but no more are kept than one page may show. */
  private async sorted(
    reading: Reading,
    { kind, org, spec, options: { limit, cursor } }: QueryResources,
    { by, order = 'asc' }: NonNullable<QuerySpec['sort']>,
    isWanted: (document: Document) => boolean,
  ): Promise<ResourcePage> {
    const scope = { kind, org, spec };
    const after = cursor === undefined ? undefined : this.cursors.decodePlace(scope, cursor);
    const first = new FirstOf(limit, order);
    await reading.each(kind, (document) => {
      if (!isWanted(document)) return 'on';
      const { id: name, source } = document;
      const found = { value: sortKeyOf(JSON.parse(source), by), name, source };
      if (!after || comparePlaces(found, after, order) > 0) first.add(found);
      return 'on';
    });
    const { page, last, more } = first.end();
    return { items: page, ...(last && more && { next: this.cursors.encodePlace(scope, last) }) };
  }
}

interface Sortable extends SortedPlace {
  readonly source: string;
}

/** The first of all that were added, in their order: a page of them. */
class FirstOf {
  private kept: Sortable[] = [];
  private bytes = 0;
  private more = false;

  constructor(
    private readonly limit: number,
    private readonly order: 'asc' | 'desc',
  ) {}

  add(one: Sortable): void {
    this.kept.push(one);
    this.bytes += one.source.length;
    if (this.kept.length >= 2 * this.limit + 64 || this.bytes > 2 * PAGE_BYTES) this.cut();
  }

  end(): { readonly page: readonly string[]; readonly last: SortedPlace | undefined; readonly more: boolean } {
    this.cut();
    return { page: this.kept.map(({ source }) => source), last: this.kept.at(-1), more: this.more };
  }

  /** What is behind a full page stays behind it, whatever is added. */
  private cut(): void {
    this.kept.sort((a, b) => comparePlaces(a, b, this.order));
    let bytes = 0;
    const end = this.kept.findIndex(({ source }, at) => {
      if (at === this.limit || bytes >= PAGE_BYTES) return true;
      bytes += Buffer.byteLength(source);
      return false;
    });
    if (end >= 0) {
      this.kept = this.kept.slice(0, end);
      this.more = true;
    }
    this.bytes = bytes;
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
