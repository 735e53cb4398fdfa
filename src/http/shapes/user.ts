import { DescribedDto } from './resource.js';
import { IsFullName } from './shape.js';

/** What of a user can be changed: the body of a replacement, and of a patch once it is merged. */
export class UserDto extends DescribedDto {
  @IsFullName() name!: string;
}
