import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import { type AuditContext, contextOf } from './auditctx-list.js';

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
