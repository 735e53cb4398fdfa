import { NAME_PATTERN } from '../../model/resource.js';
import { IsText, IsTexts, Optional } from './shape.js';

export const MOST_INVITED = 10;

export class InviteUsersDto {
  @IsTexts({ min: 1, max: MOST_INVITED, maxLength: 254, format: 'email' }) emails!: string[];
  @Optional() @IsText({ min: 2, max: 63, pattern: NAME_PATTERN }) group?: string;
}

export class AcceptInvitationDto {
  @IsText({ min: 1, max: 128 }) code!: string;
  @IsText({ min: 1, max: 250, format: 'line' }) name!: string;
}
