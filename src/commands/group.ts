import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import {
  decideCreateGroup,
  decideDeleteGroup,
  decideEditGroup,
  type EditGroup as Edit,
  type GroupDocument,
  type GroupState,
} from '../model/group.js';
import type { Precondition } from '../model/precondition.js';
import { groupStream } from '../model/streams.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';

export class CreateGroup extends Command<Changed<GroupState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly document: GroupDocument,
  ) {
    super();
  }
}

@CommandHandler(CreateGroup)
export class CreateGroupHandler implements ICommandHandler<CreateGroup> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, document }: CreateGroup): Promise<Changed<GroupState>> {
    const { org } = request;
    return this.changes.makeOf(groupStream(org, name), request, (read, occasion) =>
      decideCreateGroup(read, { ...occasion, org, name, document }),
    );
  }
}

export class EditGroup extends Command<Changed<GroupState>> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly edit: Pick<Edit, 'revise' | 'expected' | 'identity'>,
  ) {
    super();
  }
}

@CommandHandler(EditGroup)
export class EditGroupHandler implements ICommandHandler<EditGroup> {
  constructor(private readonly changes: ControlChanges) {}

  execute({ request, name, edit }: EditGroup): Promise<Changed<GroupState>> {
    const { org } = request;
    return this.changes.makeOf(groupStream(org, name), request, (read, occasion) =>
      decideEditGroup(read, { ...occasion, org, name, ...edit }),
    );
  }
}

export class DeleteGroup extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    readonly name: string,
    readonly expected?: Precondition,
  ) {
    super();
  }
}

@CommandHandler(DeleteGroup)
export class DeleteGroupHandler implements ICommandHandler<DeleteGroup> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, name, expected }: DeleteGroup): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) =>
      decideDeleteGroup(read, { ...occasion, org, name, ...(expected !== undefined && { expected }) }),
    );
  }
}
