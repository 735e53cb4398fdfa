import { kindOf } from '../contract/kinds.js';
import type { UserState } from '../model/control-events.js';
import type { UserDocument } from '../model/user.js';
import { DescribedDto } from '../shapes/resource.js';
import { IsFullName } from '../shapes/shape.js';
import { type ShapedKind, shaped } from './shaped-kind.js';

/** What of a user can be changed: the body of a replacement, and of a patch once it is merged. */
class UserDto extends DescribedDto {
  @IsFullName() name!: string;
}

/** Invitations make users. An edit may make the user match the query of a group. */
export const USER: ShapedKind<UserState, UserDocument> = {
  kind: kindOf('user'),
  ...shaped(UserDto),
  complete: ({ name, description, tags = {} }: UserDto) => ({ name, description: description ?? name, tags }),
  gives: ['edit'],
};
