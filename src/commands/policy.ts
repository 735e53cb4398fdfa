import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import {
  decideCreatePolicy,
  decideDeletePolicy,
  decideEditPolicy,
  type EditPolicy as Edit,
  type PolicyDocument,
  type PolicyState,
} from '../model/policy.js';
import type { Precondition } from '../model/precondition.js';
import { policyStream } from '../model/streams.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';

export class CreatePolicy extends Command<Changed<PolicyState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly document: PolicyDocument,
  ) {
    super();
  }
}

@CommandHandler(CreatePolicy)
export class CreatePolicyHandler implements ICommandHandler<CreatePolicy> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, document }: CreatePolicy): Promise<Changed<PolicyState>> {
    const { org } = request;
    return this.changes.makeOf(policyStream(org, name), request, (read, occasion) =>
      decideCreatePolicy(read, { ...occasion, org, name, document }),
    );
  }
}

export class EditPolicy extends Command<Changed<PolicyState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly edit: Pick<Edit, 'revise' | 'expected' | 'identity'>,
  ) {
    super();
  }
}

@CommandHandler(EditPolicy)
export class EditPolicyHandler implements ICommandHandler<EditPolicy> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, edit }: EditPolicy): Promise<Changed<PolicyState>> {
    const { org } = request;
    return this.changes.makeOf(policyStream(org, name), request, (read, occasion) =>
      decideEditPolicy(read, { ...occasion, org, name, ...edit }),
    );
  }
}

export class DeletePolicy extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly expected?: Precondition,
  ) {
    super();
  }
}

@CommandHandler(DeletePolicy)
export class DeletePolicyHandler implements ICommandHandler<DeletePolicy> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, name, expected }: DeletePolicy): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) =>
      decideDeletePolicy(read, { ...occasion, org, name, ...(expected !== undefined && { expected }) }),
    );
  }
}
