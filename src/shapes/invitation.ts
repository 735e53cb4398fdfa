import { LIMITS } from '../contract/limits.js';
import { IsFullName, IsName, IsText, IsTexts, Optional } from './shape.js';

export class InviteUsersDto {
  @IsTexts({ min: 1, max: LIMITS.invitedAtOnce, maxLength: LIMITS.email, format: 'email' }) emails!: string[];
  @Optional() @IsName() group?: string;
}

export class AcceptInvitationDto {
  @IsText({ min: 1, max: LIMITS.identifier }) code!: string;
  @IsFullName() name!: string;
}
