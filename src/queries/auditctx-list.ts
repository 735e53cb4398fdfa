import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { ReadModel } from '../read-model/read-model.js';
import { READ_MODEL } from '../tokens.js';

export interface AuditContextCount {
  readonly name: string;
  /** How many events it has. */
  readonly count: number;
}

/** The organization's contexts, by name. A context is there from its first event on. */
export class ListAuditContexts extends Query<AuditContextCount[]> {
  constructor(readonly org: string) {
    super();
  }
}

@QueryHandler(ListAuditContexts)
export class ListAuditContextsHandler implements IQueryHandler<ListAuditContexts> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org }: ListAuditContexts): Promise<AuditContextCount[]> {
    const counts = await this.model.count('auditevent', org);
    return [...counts].map(([name, count]) => ({ name, count }));
  }
}
