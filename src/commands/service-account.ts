import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { KeyState } from '../model/key.js';
import type { Precondition } from '../model/precondition.js';
import {
  decideAddKey,
  decideCreateServiceAccount,
  decideDeleteServiceAccount,
  decideEditServiceAccount,
  decideRemoveKey,
  type EditServiceAccount as Edit,
  type ServiceAccountDocument,
  type ServiceAccountState,
} from '../model/service-account.js';
import { serviceAccountStream } from '../model/streams.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';
import { KeySecrets, keyHash } from './key-secrets.js';

export class CreateServiceAccount extends Command<Changed<ServiceAccountState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly document: ServiceAccountDocument,
  ) {
    super();
  }
}

@CommandHandler(CreateServiceAccount)
export class CreateServiceAccountHandler implements ICommandHandler<CreateServiceAccount> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, document }: CreateServiceAccount): Promise<Changed<ServiceAccountState>> {
    const { org } = request;
    return this.changes.makeOf(serviceAccountStream(org, name), request, (read, occasion) =>
      decideCreateServiceAccount(read, { ...occasion, org, name, document }),
    );
  }
}

export class EditServiceAccount extends Command<Changed<ServiceAccountState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly edit: Pick<Edit, 'revise' | 'expected' | 'identity'>,
  ) {
    super();
  }
}

@CommandHandler(EditServiceAccount)
export class EditServiceAccountHandler implements ICommandHandler<EditServiceAccount> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, edit }: EditServiceAccount): Promise<Changed<ServiceAccountState>> {
    const { org } = request;
    return this.changes.makeOf(serviceAccountStream(org, name), request, (read, occasion) =>
      decideEditServiceAccount(read, { ...occasion, org, name, ...edit }),
    );
  }
}

export class DeleteServiceAccount extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly expected?: Precondition,
  ) {
    super();
  }
}

@CommandHandler(DeleteServiceAccount)
export class DeleteServiceAccountHandler implements ICommandHandler<DeleteServiceAccount> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, name, expected }: DeleteServiceAccount): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) =>
      decideDeleteServiceAccount(read, { ...occasion, org, name, ...(expected !== undefined && { expected }) }),
    );
  }
}

/** A key that was issued, with its secret, to be shown this once. */
export interface IssuedKey extends Changed<KeyState> {
  readonly key: string;
}

export class AddKey extends Command<IssuedKey> {
  constructor(
    readonly request: ChangeRequest,
    /** Of the service account. */
    readonly name: string,
    readonly key: { readonly description: string; readonly expires?: string },
  ) {
    super();
  }
}

@CommandHandler(AddKey)
export class AddKeyHandler implements ICommandHandler<AddKey> {
  constructor(
    private readonly changes: ControlChanges,
    private readonly secrets: KeySecrets,
  ) {}

  async execute({ request, name, key: wanted }: AddKey): Promise<IssuedKey> {
    const { org, idempotencyKey } = request;
    const commandId = this.changes.commandId(request);
    const key = idempotencyKey === undefined ? this.secrets.random() : this.secrets.derived(commandId);
    const { events, searchable } = await this.changes.make(
      request,
      (read, occasion) => decideAddKey(read, { ...occasion, org, name, ...wanted, keyHash: keyHash(key) }),
      commandId,
    );
    return { state: this.secrets.issuedKey(events, key), searchable, key };
  }
}

export class RemoveKey extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    /** Of the service account. */
    readonly name: string,
    readonly keyId: string,
  ) {
    super();
  }
}

@CommandHandler(RemoveKey)
export class RemoveKeyHandler implements ICommandHandler<RemoveKey> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, name, keyId }: RemoveKey): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) => decideRemoveKey(read, { ...occasion, org, name, keyId }));
  }
}
