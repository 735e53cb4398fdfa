import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Precondition } from '../model/precondition.js';
import {
  decideCreateServiceAccount,
  decideDeleteServiceAccount,
  decideEditServiceAccount,
  type EditServiceAccount as Edit,
  type ServiceAccountDocument,
  type ServiceAccountState,
} from '../model/service-account.js';
import { serviceAccountStream } from '../model/streams.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';

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
