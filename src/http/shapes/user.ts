import { DescribedDto } from './resource.js';
import { IsText } from './shape.js';

/** What of a user can be changed: the body of a replacement, and of a patch once it is merged. */
export class UserDto extends DescribedDto {
  @IsText({ min: 1, max: 250, format: 'line' }) name!: string;
}
