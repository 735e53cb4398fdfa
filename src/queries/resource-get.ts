import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { kindOf } from '../contract/kinds.js';
import type { ViewKind } from '../model/views.js';
import type { Document } from '../read-model/document.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';

/** Answers the JSON text of the resource. Throws `not_found`. */
export class GetResource extends Query<string> {
  constructor(
    readonly kind: ViewKind,
    readonly org: string,
    /** What names it: of a user the e-mail address, in any case, or the id. */
    readonly ref: string,
  ) {
    super();
  }
}

@QueryHandler(GetResource)
export class GetResourceHandler implements IQueryHandler<GetResource> {
  constructor(@Inject(READ_MODEL) private readonly model: ReadModel) {}

  async execute({ kind, org, ref }: GetResource): Promise<string> {
    const found = await findResource(this.model, kind, org, ref);
    if (found) return found.source;
    throw new ControlError('not_found', `no ${kindOf(kind).noun} \`${ref}\` exists in \`${org}\``);
  }
}

export async function findResource(
  model: ReadModel,
  kind: ViewKind,
  org: string,
  ref: string,
): Promise<Document | undefined> {
  if (kind !== 'user') return model.get(kind, org, ref);
  return (await model.get(kind, org, ref.toLowerCase())) ?? byIdentifier(model, kind, org, ref);
}

async function byIdentifier(model: ReadModel, kind: ViewKind, org: string, id: string): Promise<Document | undefined> {
  const { items } = await model.search(kind, {
    org,
    filters: [{ field: 'identifier', op: '=', value: id }],
    order: { field: 'name', direction: 'ascending' },
    limit: 1,
  });
  return items[0];
}
