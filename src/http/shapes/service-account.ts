import { NAME_PATTERN } from '../../model/resource.js';
import { DescribedDto } from './resource.js';
import { IsText } from './shape.js';

export class CreateServiceAccountDto extends DescribedDto {
  @IsText({ min: 2, max: 63, pattern: NAME_PATTERN }) name!: string;
}
