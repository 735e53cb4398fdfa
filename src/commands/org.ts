import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { linkTo } from '../contract/links.js';
import type { Caller } from '../control/fold.js';
import type { ControlEvent, OrgState } from '../model/control-events.js';
import { refuseRemovedKey } from '../model/key.js';
import { ADMIN, decideCreateOrg } from '../model/org.js';
import { decideRecoverOrg } from '../model/org-recover.js';
import { IDS, type Ids, keyedId } from '../platform/ids.js';
import { type ChangeRequest, ControlChanges } from './control-changes.js';
import type { IssuedKey } from './key.js';
import { KeySecrets, keyHash } from './key-secrets.js';

export interface CreatedOrg {
  readonly org: OrgState;
  readonly serviceAccount: string;
  /** The admin's first key, to be shown this once. */
  readonly key: string;
  /** Whether reads show the organization already. */
  readonly searchable: boolean;
}

export class CreateOrg extends Command<CreatedOrg> {
  constructor(
    readonly org: { readonly name: string; readonly description?: string; readonly tags?: Record<string, string> },
    readonly by: Caller,
    readonly idempotencyKey?: string,
  ) {
    super();
  }
}

@CommandHandler(CreateOrg)
export class CreateOrgHandler implements ICommandHandler<CreateOrg> {
  constructor(
    private readonly changes: ControlChanges,
    private readonly secrets: KeySecrets,
    @Inject(IDS) private readonly ids: Ids,
  ) {}

  async execute({ org, by, idempotencyKey }: CreateOrg): Promise<CreatedOrg> {
    const { name, description = name, tags = {} } = org;
    const wanted = {
      org: name,
      by,
      authority: undefined,
      ...(idempotencyKey !== undefined && { idempotencyKey, request: { path: 'POST /org', body: org } }),
    };
    // Not by the organization's name: the same key with another name is another request.
    const id = idempotencyKey === undefined ? this.ids.next() : keyedId('POST /org', by.name, idempotencyKey);
    const key = this.secrets.keyOf(id, idempotencyKey);
    const change = await this.changes.make(
      wanted,
      (read, occasion) => decideCreateOrg(read, { ...occasion, name, description, tags, keyHash: keyHash(key) }),
      id,
      (read, _occasion, events) => refuseRemovedKey(read, events),
    );
    await this.secrets.issuedKey(change, by, key);
    const { events, searchable } = change;
    return { org: createdOrg(events), serviceAccount: linkTo(name, 'serviceaccount', ADMIN), key, searchable };
  }
}

/** The organization as the first run of the command made it. */
function createdOrg(events: readonly ControlEvent[]): OrgState {
  const created = events.find((event) => event.type === 'org-created');
  if (!created) throw new Error('the command made no organization');
  return created.data;
}

export class RecoverOrg extends Command<IssuedKey> {
  constructor(readonly request: ChangeRequest) {
    super();
  }
}

@CommandHandler(RecoverOrg)
export class RecoverOrgHandler implements ICommandHandler<RecoverOrg> {
  constructor(
    private readonly changes: ControlChanges,
    private readonly secrets: KeySecrets,
  ) {}

  async execute({ request }: RecoverOrg): Promise<IssuedKey> {
    const { org, idempotencyKey } = request;
    const commandId = this.changes.commandId(request);
    const key = this.secrets.keyOf(commandId, idempotencyKey);
    const change = await this.changes.make(
      request,
      (read, occasion) => decideRecoverOrg(read, { ...occasion, org, keyHash: keyHash(key) }),
      commandId,
      (read, _occasion, events) => refuseRemovedKey(read, events),
    );
    const state = await this.secrets.issuedKey(change, request.by, key);
    return { state, searchable: change.searchable, key };
  }
}
