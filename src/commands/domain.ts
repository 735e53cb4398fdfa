import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import {
  type DomainDocument,
  type DomainState,
  decideCreateDomain,
  decideDeleteDomain,
  decideEditDomain,
  type EditDomain as Edit,
} from '../model/domain.js';
import type { Precondition } from '../model/precondition.js';
import { domainStream } from '../model/streams.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';

export class CreateDomain extends Command<Changed<DomainState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly document: DomainDocument,
  ) {
    super();
  }
}

@CommandHandler(CreateDomain)
export class CreateDomainHandler implements ICommandHandler<CreateDomain> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, document }: CreateDomain): Promise<Changed<DomainState>> {
    const { org } = request;
    return this.changes.makeOf(domainStream(name), request, (read, occasion) =>
      decideCreateDomain(read, { ...occasion, org, name, document }),
    );
  }
}

export class EditDomain extends Command<Changed<DomainState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly edit: Pick<Edit, 'revise' | 'expected' | 'identity'>,
  ) {
    super();
  }
}

@CommandHandler(EditDomain)
export class EditDomainHandler implements ICommandHandler<EditDomain> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, edit }: EditDomain): Promise<Changed<DomainState>> {
    const { org } = request;
    return this.changes.makeOf(domainStream(name), request, (read, occasion) =>
      decideEditDomain(read, { ...occasion, org, name, ...edit }),
    );
  }
}

export class DeleteDomain extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly expected?: Precondition,
  ) {
    super();
  }
}

@CommandHandler(DeleteDomain)
export class DeleteDomainHandler implements ICommandHandler<DeleteDomain> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, name, expected }: DeleteDomain): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) =>
      decideDeleteDomain(read, { ...occasion, org, name, ...(expected !== undefined && { expected }) }),
    );
  }
}
