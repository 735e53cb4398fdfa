import { DescribedDto } from './resource.js';
import { IsName } from './shape.js';

export class CreateServiceAccountDto extends DescribedDto {
  @IsName() name!: string;
}
