import { NAME_PATTERN } from '../../model/resource.js';
import { DescribedDto } from './resource.js';
import { IsInstant, IsText, Optional } from './shape.js';

export class CreateServiceAccountDto extends DescribedDto {
  @IsText({ min: 2, max: 63, pattern: NAME_PATTERN }) name!: string;
}

export class AddKeyDto {
  @IsText({ max: 250, format: 'trimmed' }) description!: string;
  @Optional() @IsInstant() expires?: string;
}

export class RemoveKeyDto {
  @IsText({ min: 1, max: 128 }) id!: string;
}
