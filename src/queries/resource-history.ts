import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { type Kind, SERVICE_CONTEXT } from '../contract/kinds.js';
import { LIMITS } from '../contract/limits.js';
import { linkTo } from '../contract/links.js';
import type { ViewKind } from '../model/views.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import type { Document } from '../read-model/document.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import type { Cursor, Filter, Order, SearchQuery } from '../read-model/search.js';
import { type AuditPage, type EventTimes, filtersOf, NEWEST, offsetOf } from './audit-list.js';
import { Cursors } from './cursor.js';
import { PAGE_BYTES } from './reading.js';
import { findResource } from './resource-get.js';

interface EventLogPage extends AuditPage {
  /** The identifier of the resource whose log it is. */
  readonly resourceId: string;
}

/**
 * What happened to a resource, newest first: the service's own audit events that carry its identifier, and those of the
 * keys that spoke for it. Only the context `svc` is read, which nobody else publishes into. The log outlives the resource.
 *
 * The reference is a name (of users the e-mail address) or an identifier. Where several resources had the name one after
 * the other, it means the last of them; the identifier means exactly one. Throws `not_found` where there never was one.
 */
export class GetEventLog extends Query<EventLogPage> {
  constructor(
    readonly kind: Kind,
    readonly org: string,
    readonly ref: string,
    readonly options: EventTimes & {
      readonly actionType?: string;
      readonly pageSize: number;
      readonly page?: number;
      readonly cursor?: string;
    },
  ) {
    super();
  }
}

/** Events that the log is made of. */
interface Source {
  readonly filters: readonly Filter[];
  /** The records that count, by offset; both inclusive. */
  readonly from: number;
  readonly to: number;
}

const READ_AT_ONCE = LIMITS.page.most;
const OLDEST: Order = { field: 'eventTime', direction: 'ascending' };

@QueryHandler(GetEventLog)
export class GetEventLogHandler implements IQueryHandler<GetEventLog> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    @Inject(CONFIG) private readonly config: Pick<Config, 'requestBudgetMs'>,
    private readonly cursors: Cursors,
  ) {}

  private get bounds(): Pick<SearchQuery, 'maxBytes' | 'budgetMs'> {
    return { maxBytes: PAGE_BYTES, budgetMs: this.config.requestBudgetMs };
  }

  async execute(query: GetEventLog): Promise<EventLogPage> {
    const { kind, org, options } = query;
    const { pageSize, page = 1, cursor: given, actionType } = options;
    const resourceId = await this.identifierOf(query);
    const limits = filtersOf({ ...(actionType !== undefined && { actionType }) }, options);
    const scope = { org, filters: limits, order: NEWEST, of: { eventlog: kind.name, resourceId } };
    const cursor = given === undefined ? undefined : this.cursors.decode(scope, given);
    let before = cursor ? 0 : offsetOf(page, pageSize);
    const atOnce = Math.min(before + pageSize + 1, READ_AT_ONCE);
    const sources = await this.sourcesOf(kind, org, resourceId);
    const streams = sources.map((source) => this.eventsOf(org, source, limits, atOnce, cursor));
    const items: Document[] = [];
    let bytes = 0;
    for await (const document of newestFirst(streams)) {
      if (before > 0) before -= 1;
      else if (items.length < pageSize && bytes < PAGE_BYTES) {
        items.push(document);
        bytes += Buffer.byteLength(document.source);
      } else
        return { ...pageOf(resourceId, items), next: this.cursors.encode(scope, { after: placeOf(items.at(-1)) }) };
    }
    return pageOf(resourceId, items);
  }

  /** A name or e-mail address that is gone is known from the events themselves. */
  private async identifierOf({ kind, org, ref }: GetEventLog): Promise<string> {
    const resource = await findResource(this.model, kind.name as ViewKind, org, ref);
    const name = kind.ref === 'email' ? ref.toLowerCase() : ref;
    const id =
      resource?.fields['identifier'] ??
      (await this.one(org, NEWEST, [equal('resourceName', name), equal('resourceType', kind.name)]))?.fields[
        'resourceId'
      ] ??
      (await this.one(org, NEWEST, [equal('resourceId', ref), equal('resourceType', kind.name)]))?.fields['resourceId'];
    if (typeof id === 'string') return id;
    throw new ControlError('not_found', `no ${kind.noun} \`${ref}\` exists in \`${org}\`, and none ever did`);
  }

  /**
   * Keys are recorded under the link of their principal, and a link may have been another's before and after: of those
   * events, only what the log took between the making and the deletion of this one is about its keys.
   */
  private async sourcesOf(kind: Kind, org: string, id: string): Promise<readonly Source[]> {
    const own = [equal('resourceId', id), equal('resourceType', kind.name)];
    const source = { filters: own, from: 0, to: Number.POSITIVE_INFINITY };
    if (!kind.operations.includes('keys')) return [source];
    const made = await this.one(org, OLDEST, [...own, equal('actionType', 'create')]);
    if (!made) return [source];
    const deleted = await this.one(org, OLDEST, [...own, equal('actionType', 'delete')]);
    const link = linkTo(org, kind.name, String(made.fields['resourceName']));
    const filters = [equal('resourceName', link), equal('resourceType', 'key')];
    return [source, { filters, from: made.place.offset, to: deleted?.place.offset ?? source.to }];
  }

  private async one(org: string, order: Order, filters: readonly Filter[]): Promise<Document | undefined> {
    const query = { org, filters: [...filters, ...RECORDED], order, limit: 1, ...this.bounds };
    return (await this.model.search('auditevent', query)).items[0];
  }

  private async *eventsOf(
    org: string,
    { filters, from, to }: Source,
    limits: readonly Filter[],
    limit: number,
    start?: Cursor,
  ): AsyncGenerator<Document, void> {
    for (let cursor = start; ; ) {
      const query = { org, filters: [...filters, ...RECORDED, ...limits], order: NEWEST, limit };
      const page = await this.model.search('auditevent', { ...query, ...this.bounds, ...(cursor && { cursor }) });
      for (const document of page.items) {
        if (document.place.offset >= from && document.place.offset <= to) yield document;
      }
      if (!page.more || !page.cursor) return;
      cursor = page.cursor;
    }
  }
}

function equal(field: string, value: string): Filter {
  return { field, op: '=', value };
}

/** The service's own changes. Attempts that it denied are in the same context, and name what was asked for. */
const RECORDED = [equal('contextName', SERVICE_CONTEXT), equal('resultStatus', 'OK')];

function pageOf(resourceId: string, items: readonly Document[]): EventLogPage {
  return { resourceId, items: items.map(({ source }) => source) };
}

/** The position of a document in the order, newest first. */
function placeOf(document: Document | undefined): readonly [number, string] {
  return [Number(document?.fields['eventTime']), document?.id ?? ''];
}

/** Merges lists that are each newest first. */
async function* newestFirst(lists: readonly AsyncGenerator<Document, void>[]): AsyncGenerator<Document, void> {
  const heads = await Promise.all(lists.map((list) => list.next()));
  for (;;) {
    let newest: { readonly at: number; readonly document: Document } | undefined;
    for (const [at, head] of heads.entries()) {
      if (head.done) continue;
      if (!newest || isNewer(head.value, newest.document)) newest = { at, document: head.value };
    }
    const list = newest && lists[newest.at];
    if (!newest || !list) return;
    yield newest.document;
    heads[newest.at] = await list.next();
  }
}

function isNewer(one: Document, other: Document): boolean {
  const [[time, id], [otherTime, otherId]] = [placeOf(one), placeOf(other)];
  return time > otherTime || (time === otherTime && id > otherId);
}
