import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { namesWithin, type Reach } from '../model/access.js';
import type { Document } from '../read-model/document.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';

/** Answers the JSON text of the event. Throws `not_found`, for one in a context that the caller may not read as well. */
export class GetAuditEvent extends Query<string> {
  constructor(
    readonly org: string,
    readonly id: string,
    /** The contexts that the caller may read. */
    readonly reach: Reach,
  ) {
    super();
  }
}

@QueryHandler(GetAuditEvent)
export class GetAuditEventHandler implements IQueryHandler<GetAuditEvent> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org, id, reach }: GetAuditEvent): Promise<string> {
    return (await readableEvent(this.model, org, id, reach)).source;
  }
}

/** Throws `not_found`, for an event in a context that the caller may not read as well. */
export async function readableEvent(model: ReadModel, org: string, id: string, reach: Reach): Promise<Document> {
  const found = await model.get('auditevent', org, id);
  const names = namesWithin(reach);
  if (found && (names === undefined || names.includes(String(found.fields['contextName'])))) return found;
  throw new ControlError('not_found', 'no audit event with this id exists in this organization, or you cannot read it');
}
