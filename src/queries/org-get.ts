import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';

/** Answers the JSON text of the organization. */
export class GetOrg extends Query<string> {
  constructor(readonly org: string) {
    super();
  }
}

@QueryHandler(GetOrg)
export class GetOrgHandler implements IQueryHandler<GetOrg> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ org }: GetOrg): Promise<string> {
    const found = await this.model.get('org', org, org);
    if (found) return found.source;
    throw new ControlError('not_found', 'no such organization exists');
  }
}
