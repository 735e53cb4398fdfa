import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { refuseRemovedKey } from '../model/key.js';
import { decideRecoverOrg } from '../model/org-recover.js';
import { type ChangeRequest, ControlChanges } from './control-changes.js';
import type { IssuedKey } from './key.js';
import { KeySecrets, keyHash } from './key-secrets.js';

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
    const key = idempotencyKey === undefined ? this.secrets.random() : this.secrets.derived(commandId);
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
