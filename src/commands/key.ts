import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { KeyState } from '../model/control-events.js';
import { decideAddKey, decideRemoveKey, type KeyHolder, refuseShownKey } from '../model/key.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';
import { KeySecrets, keyHash } from './key-secrets.js';

/** A key that was issued, with its secret, to be shown this once. */
export interface IssuedKey extends Changed<KeyState> {
  readonly key: string;
}

/** A key to issue. */
export interface WantedKey {
  readonly description: string;
  /** ISO 8601. */
  readonly expires?: string;
}

export class AddKey extends Command<IssuedKey> {
  constructor(
    readonly request: ChangeRequest,
    readonly holder: KeyHolder,
    readonly wanted: WantedKey,
  ) {
    super();
  }
}

@CommandHandler(AddKey)
export class AddKeyHandler implements ICommandHandler<AddKey> {
  constructor(
    private readonly changes: ControlChanges,
    private readonly secrets: KeySecrets,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async execute({ request, holder, wanted }: AddKey): Promise<IssuedKey> {
    const { keyMaxDays: mostDays } = this.config;
    const commandId = this.changes.commandId(request);
    const key = this.secrets.keyOf(commandId, request.idempotencyKey);
    const askingKey = request.authority?.keyHash;
    const limits = {
      holder,
      ...(askingKey !== undefined && { askingKey }),
      ...(mostDays !== undefined && { mostDays }),
    };
    const change = await this.changes.make(
      request,
      (read, occasion) => decideAddKey(read, { ...occasion, ...wanted, ...limits, keyHash: keyHash(key) }),
      commandId,
      (read, occasion, events) => refuseShownKey(read, { ...occasion, ...limits }, events),
    );
    const state = await this.secrets.issuedKey(change, request.by, key);
    return { state, searchable: change.searchable, key };
  }
}

export class RemoveKey extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    readonly holder: KeyHolder,
    readonly keyId: string,
  ) {
    super();
  }
}

@CommandHandler(RemoveKey)
export class RemoveKeyHandler implements ICommandHandler<RemoveKey> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, holder, keyId }: RemoveKey): Promise<void> {
    await this.changes.make(request, (read, occasion) => decideRemoveKey(read, { ...occasion, holder, keyId }));
  }
}
