import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../errors.js';
import type { ReadModel } from '../read-model/read-model.js';
import { READ_MODEL } from '../tokens.js';

/** Answers the JSON text of the event. */
export class GetAuditEvent extends Query<string> {
  constructor(
    readonly org: string,
    readonly id: string,
  ) {
    super();
  }
}

@QueryHandler(GetAuditEvent)
export class GetAuditEventHandler implements IQueryHandler<GetAuditEvent> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org, id }: GetAuditEvent): Promise<string> {
    const found = await this.model.get('auditevent', org, id);
    if (found) return found.source;
    throw new ControlError('not_found', 'there is no audit event with this id in this organization');
  }
}
