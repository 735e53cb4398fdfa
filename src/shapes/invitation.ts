import { LIMITS } from '../contract/limits.js';
import { Example, IsFullName, IsName, IsText, IsTexts, Means, Optional } from './shape.js';

@Example({ emails: ['ann@example.com'], group: 'devs' })
export class InviteUsersDto {
  @Means('E-mail addresses of the people to invite.', ['ann@example.com'])
  @IsTexts({ min: 1, max: LIMITS.invitedAtOnce, maxLength: LIMITS.email, format: 'email' })
  emails!: string[];
  @Optional() @Means('The group that they become members of.', 'devs') @IsName() group?: string;
}

@Example({ code: 'kS3vJx0n2QyR', name: 'Ann Example' })
export class AcceptInvitationDto {
  @Means('The secret code in the letter.', 'kS3vJx0n2QyR') @IsText({ min: 1, max: LIMITS.identifier }) code!: string;
  @IsFullName() name!: string;
}
