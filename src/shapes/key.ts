import { LIMITS } from '../contract/limits.js';
import { IsDescription, IsInstant, IsText, Optional } from './shape.js';

export class AddKeyDto {
  @IsDescription() description!: string;
  @Optional() @IsInstant() expires?: string;
}

export class RemoveKeyDto {
  @IsText({ min: 1, max: LIMITS.identifier }) id!: string;
}
