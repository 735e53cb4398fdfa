import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlState } from '../control/state.js';
import type { Precondition } from '../model/precondition.js';
import {
  decideDeleteUser,
  decideEditUser,
  type EditUser as Edit,
  existingUser,
  type UserState,
} from '../model/user.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';

export class EditUser extends Command<Changed<UserState>> {
  constructor(
    readonly request: ChangeRequest,
    /** The e-mail address, in any case, or the id. */
    readonly ref: string,
    readonly edit: Pick<Edit, 'revise' | 'expected' | 'identity'>,
  ) {
    super();
  }
}

@CommandHandler(EditUser)
export class EditUserHandler implements ICommandHandler<EditUser> {
  constructor(
    private readonly changes: ControlChanges,
    private readonly state: ControlState,
  ) {}

  async execute({ request, ref, edit }: EditUser): Promise<Changed<UserState>> {
    const { org } = request;
    const { events, searchable } = await this.changes.make(request, (read, occasion) =>
      decideEditUser(read, { ...occasion, org, ref, ...edit }),
    );
    const [edited] = events.flatMap((event) => (event.type === 'user-edited' ? [event.data] : []));
    return { state: edited ?? existingUser(this.state.read, org, ref), searchable };
  }
}

export class DeleteUser extends Command<void> {
  constructor(
    readonly request: ChangeRequest,
    readonly ref: string,
    readonly expected?: Precondition,
  ) {
    super();
  }
}

@CommandHandler(DeleteUser)
export class DeleteUserHandler implements ICommandHandler<DeleteUser> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ request, ref, expected }: DeleteUser): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) =>
      decideDeleteUser(read, { ...occasion, org, ref, ...(expected !== undefined && { expected }) }),
    );
  }
}
