import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { kindOf } from '../contract/kinds.js';
import { linkTo } from '../contract/links.js';
import { ControlState } from '../control/state.js';
import type { KeyState } from '../model/control-events.js';
import type { KeyHolder } from '../model/key.js';
import { memberLink } from '../model/principals.js';

/** The keys of a user or service account, the oldest first. Throws `not_found`. */
export class ListKeys extends Query<readonly KeyState[]> {
  constructor(readonly holder: KeyHolder) {
    super();
  }
}

@QueryHandler(ListKeys)
export class ListKeysHandler implements IQueryHandler<ListKeys> {
  constructor(private readonly state: ControlState) {}

  async execute({ holder }: ListKeys): Promise<readonly KeyState[]> {
    // Whatever was changed before the request, on any instance, is in the list.
    await this.state.confirm();
    const { org, kind, ref } = holder;
    const link = memberLink(this.state.read, org, linkTo(org, kind, ref));
    if (link !== undefined) return this.state.read.keysOf(link).map(({ state }) => state);
    throw new ControlError('not_found', `no ${kindOf(kind).noun} \`${ref}\` exists in \`${org}\``);
  }
}
