import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { LIMITS } from '../contract/limits.js';
import { namesWithin, type Reach } from '../model/access.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';

/** Throws `not_found` for a context that has neither events nor settings. */
export class GetAuditContext extends Query<AuditContext> {
  constructor(
    readonly org: string,
    readonly name: string,
  ) {
    super();
  }
}

@QueryHandler(GetAuditContext)
export class GetAuditContextHandler implements IQueryHandler<GetAuditContext> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org, name }: GetAuditContext): Promise<AuditContext> {
    const settings = await this.model.get('auditctx', org, name);
    const count = (await this.model.count('auditevent', org)).get(name);
    if (settings || count !== undefined) return contextOf(name, count, settings?.source);
    throw new ControlError('not_found', `no audit context \`${name}\` exists in \`${org}\``);
  }
}

export interface AuditContext {
  readonly name: string;
  /** How many events it serves. */
  readonly count: number;
  /** JSON text of its settings, where it has any. */
  readonly settings?: string;
}

/** The organization's contexts that the caller may read, by name: those that have events, and those that have settings. */
export class ListAuditContexts extends Query<AuditContext[]> {
  constructor(
    readonly org: string,
    readonly reach: Reach,
  ) {
    super();
  }
}

const PAGE_SIZE = LIMITS.page.most;

@QueryHandler(ListAuditContexts)
export class ListAuditContextsHandler implements IQueryHandler<ListAuditContexts> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org, reach }: ListAuditContexts): Promise<AuditContext[]> {
    const counts = await this.model.count('auditevent', org);
    const settings = await this.settings(org);
    const readable = namesWithin(reach);
    const all = new Set([...counts.keys(), ...settings.keys()]);
    const names = readable === undefined ? [...all].sort() : readable.filter((name) => all.has(name));
    return names.map((name) => contextOf(name, counts.get(name), settings.get(name)));
  }

  private async settings(org: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const query = { org, filters: [], order: { field: 'name', direction: 'ascending' }, limit: PAGE_SIZE } as const;
    let page = await this.model.search('auditctx', query);
    for (;;) {
      for (const { id, source } of page.items) found.set(id, source);
      if (!page.more || !page.cursor) return found;
      page = await this.model.search('auditctx', { ...query, cursor: page.cursor });
    }
  }
}

function contextOf(name: string, count = 0, settings?: string): AuditContext {
  return { name, count, ...(settings !== undefined && { settings }) };
}
